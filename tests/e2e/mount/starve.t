#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Some users' huge files keep nobody waiting, and who is interrupted is gone.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
readers=()

users=(70001 70002 70003 70004 70005 70006)

make_huge_files() { # for nothing: all of it is a hole
	local user
	mkdir -p "$src"
	for user in "${users[@]}"; do
		truncate -s 8T "$src/$user-a" "$src/$user-b" || return
		chown "$user" "$src/$user-"[ab] || return
	done
}

# Each reader is a process of its own: $! is the one that waits.
read_huge_files() {
	local user name
	for user in "${users[@]}"; do
		for name in a b; do
			setpriv --reuid="$user" --regid="$user" --clear-groups \
				getfattr --absolute-names -n user.xxh128 \
				"$mnt/$user-$name" >/dev/null 2>&1 &
			readers+=("$!")
			pids+=("$!")
		done
	done
}

waited_for() { # NUMBER
	[ "$(status_field "$mnt" waiting)" -eq "$1" ]
}

are_being_read() {
	[ "$(status_field "$mnt" hashing)" -ge "${#users[@]}" ]
}

interrupt_readers() {
	kill "${readers[@]}"
	wait "${readers[@]}" 2>/dev/null
	return 0
}

ok "huge files" make_huge_files
mount_kinfs "$src" "$mnt" -o allow_other,wait=600,workers=2
"$KIN" pause "$mnt" # the background is not asked here
read_huge_files
ok "all of them are waited for" poll 60 waited_for "${#readers[@]}"
ok "and one of each user is read" poll 60 are_being_read
echo "a few by" >"$mnt/small"
is "$(getx "$mnt/small" user.xxh128)" "$(digest "$src/small" user.xxh128)" \
	"a file of 8 bytes has its digest meanwhile"
is "$(status_field "$mnt" waiting)" "${#readers[@]}" \
	"before any of the huge ones"
echo "a few more" >"$src/another"
chown "${users[0]}" "$src/another"
is "$(as "${users[0]}" none getfattr --absolute-names --only-values -n user.xxh128 \
	"$mnt/another" 2>&1)" "$(digest "$src/another" user.xxh128)" \
	"also for a user who waits for huge ones"
interrupt_readers
ok "nothing is waited for when the readers are gone" poll 60 waited_for 0
nothing_is_read() {
	[ "$(status_field "$mnt" hashing)" -eq 0 ]
}
ok "and nothing is read for them" poll 60 nothing_is_read
ok "unmount" unmount "$mnt"
finish
