#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever the times of a file say, its digests are those of its content; and
# a daemon that was stopped for a while goes on.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
size=50000
times=(1970-01-01 1938-04-24 2099-12-31 2400-02-29 '1 hour' '-1 year')

set_time() { # FILE TIME
	touch -d "$2 UTC" "$1" 2>/dev/null || touch -d "$2" "$1"
}

same_length() { # SEED: other content
	gen "$size" "$1"
}

test_times() {
	local when seed=0
	for when in "${times[@]}"; do
		seed=$((seed + 10))
		same_length "$seed" >"$mnt/file"
		set_time "$mnt/file" "$when"
		ok "$when: the digests" digests_match "$mnt/file"
		same_length $((seed + 1)) >"$mnt/file"
		set_time "$mnt/file" "$when"
		ok "$when: the digests of a change of the same time" \
			digests_match "$mnt/file"
		same_length $((seed + 2)) >"$src/file"
		set_time "$src/file" "$when"
		ok "$when: and of one behind the mount's back" \
			digests_match "$mnt/file"
	done
}

test_remount() {
	local i
	for i in "${!times[@]}"; do
		same_length "$i" >"$src/file-$i"
		set_time "$src/file-$i" "${times[i]}"
	done
	ok "scanned" rescan "$mnt"
	ok "unmount" unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o timeout=0
	wait_idle "$mnt"
	is "$(status_field "$mnt" hashed.files)" 0 \
		"no time makes a file be read again"
	ok "the digest of one" digests_match "$mnt/file-3"
}

test_stopped() {
	local pid waiting=() result=0 i
	pid=$(daemon_pid "$mnt")
	kill -STOP "$pid"
	same_length 90 >"$src/late"
	for i in 1 2 3; do
		cat "$mnt/file-$i" >"$T/read-$i" &
		waiting+=("$!")
	done
	getx "$mnt/late" user.xxh128 >"$T/late" &
	waiting+=("$!")
	same_length 91 >"$mnt/written" &
	waiting+=("$!")
	pids+=("${waiting[@]}")
	kill -CONT "$pid"
	for i in "${waiting[@]}"; do
		wait "$i" || result=1
	done
	is "$result" 0 "what was asked of a stopped daemon is answered"
	for i in 1 2 3; do
		ok "read $i" cmp "$T/read-$i" "$src/file-$i"
	done
	is "$(cat "$T/late")" "$(xxhsum -H2 <"$src/late" | cut -d' ' -f1)" \
		"a digest"
	ok "and written" cmp "$src/written" <(same_length 91)
	ok "with its digests" digests_match "$mnt/written"
}

mount_kinfs "$src" "$mnt" -o timeout=0
test_times
test_remount
test_stopped
is "$(daemon_log "$mnt")" "" "the daemon had nothing to say"
ok "unmount" unmount "$mnt"
finish
