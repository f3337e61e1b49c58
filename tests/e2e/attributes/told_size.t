#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Files whose size is not that of their content, as in proc (0) and sysfs (a
# page): they are read as they are, have no digests, and are told of.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

test_mount() { # OPTION
	mount_kinfs "$src" "$mnt" -o "cross,wait=5,$1"
	is "$(cat "$mnt/proc/poolsize")" "$(cat "$src/proc/poolsize")" \
		"a file of size 0 is read, $1"
	is "$(cat "$mnt/sys/mtu")" "$(cat "$src/sys/mtu")" "and one of sysfs"
	"$KIN" wait "$mnt" >"$T/waited" 2>"$T/said"
	is $? 3 "kin wait does not succeed"
	like "$(cat "$T/said")" "files could not be hashed" "and says why"
	is "$(state "$mnt/proc/poolsize") $(state "$mnt/sys/mtu")" \
		"error:EFBIG error:ENODATA" "the states"
	is "$(errno_of getx "$mnt/proc/poolsize" user.xxh128)" ENODATA \
		"there is no digest of nothing"
	is "$(errno_of getx "$mnt/sys/mtu" user.sha256)" ENODATA \
		"nor one that is computed when asked for"
	is "$(state "$mnt/empty")" fresh "an empty file has digests"
	is "$(status_field "$mnt" pending)" 0 "nothing stays pending"
	ok "unmount" unmount "$mnt"
}

test_endless() {
	refused "kin digest of a file without an end" "pagemap" \
		timeout 600 "$KIN" digest -a xxh128 /proc/self/pagemap
	is "$("$KIN" digest -a xxh128 "$src/proc/poolsize" | cut -d' ' -f1)" \
		"$("$KIN" digest -a xxh128 - <"$src/proc/poolsize" | cut -d' ' -f1)" \
		"one with an end is digested"
}

mkdir -p "$src/proc" "$src/sys" "$mnt"
: >"$src/empty"
if mount --bind /proc/sys/kernel/random "$src/proc" 2>"$T/why" &&
	mount --bind /sys/class/net/lo "$src/sys" 2>"$T/why"; then
	for option in passthrough=auto passthrough=no timeout=0; do
		test_mount "$option"
	done
	test_endless
	umount "$src/sys" "$src/proc"
else
	skip "proc and sysfs below SOURCE" "no bind mounts: $(cat "$T/why")"
fi
finish
