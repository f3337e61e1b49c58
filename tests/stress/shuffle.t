#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Names that move all the time, while the tree is scanned and on a disk that
# fills up: no file is left out of the catalog.
# shellcheck source=tests/stress/lib.sh disable=SC1091
. tests/stress/lib.sh

disk=$T/disk
shuffle=$(helper shuffle)
rounds=1

make_disk() {
	mkdir "$disk"
	truncate -s 96M "$T/image"
	mkfs.ext4 -q -m 0 -N 20000 "$T/image" &&
		mount -o loop "$T/image" "$disk" && mkdir "$disk/src" "$disk/db"
}

# Until it is stopped: full for a moment, empty for a moment.
fill() {
	while [ ! -e "$T/stop" ]; do
		dd if=/dev/zero of="$disk/filler" bs=1M 2>/dev/null
		sleep 0.$((RANDOM % 9 + 1))
		rm -f "$disk/filler"
		sleep 0.$((RANDOM % 5 + 1))
	done
}

scan() {
	while [ ! -e "$T/stop" ]; do
		"$KIN" rescan "$mnt"
		sleep 0.0$((RANDOM % 9 + 1))
	done
}

# A catalog that could not be written is tried again after a while.
in_order() {
	local there known
	poll 60 hashed || hashed || return
	timeout 600 "$KIN" check "$mnt" || return
	there=$(find "$disk/src" -type f -printf '%i\n' | sort -u | wc -l)
	known=$(status_field "$mnt" files)
	[ "$there" -eq "$known" ] || {
		echo "$there files, $known of them in the catalog"
		return 1
	}
}

# While BESIDE runs.
shuffled() { # SEED BESIDE...
	local beside=() one
	rm -f "$T/stop"
	for one in "${@:2}"; do
		"$one" &
		beside+=("$!")
	done
	"$shuffle" "$mnt" "$1" 4 "$((seconds / rounds))"
	: >"$T/stop"
	for one in "${beside[@]}"; do
		wait "$one"
	done
}

test_shuffle() { # NAME BESIDE...
	local round
	for ((round = 0; round < rounds; round++)); do
		shuffled "$((seed * 100 + round))" "${@:2}"
		passes "$1, round $round: all files are in the catalog" in_order ||
			break
	done
}

make_disk || bail "a filesystem of its own" "it cannot be mounted"
mount_kinfs "$disk/src" "$mnt" -o db="$disk/db"
test_shuffle "names move"
test_shuffle "the tree is scanned" scan
test_shuffle "the disk is full" fill
test_shuffle "the disk is full and the tree is scanned" fill scan
ok "unmount" unmount "$mnt"
umount "$disk"
finish
