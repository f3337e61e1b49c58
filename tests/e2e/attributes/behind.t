#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Changes made directly in SOURCE, which the mount is not told of, are seen.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt

# A reader of the mount sees what is in SOURCE (what the kernel remembers may
# be as old as the mount's timeout); from then on the digest must be right.
seen() { # FILE: relative
	poll 10 cmp "$mnt/$1" "$src/$1" || {
		echo "the mount still reads the old content of $1"
		return 1
	}
	digests_match "$mnt/$1"
}

not_seen() { # FILE: relative
	poll 10 gone_from_mount "$1"
}

gone_from_mount() {
	! stat "$mnt/$1"
}

rewrite() { # FILE LINES SEED
	gen_text "$2" "$3" >"$src/$1"
}

# Same size, and mtime as it was: only the ctime tells.
rewrite_in_secret() { # FILE
	local when
	when=$(stat -c %y "$src/$1")
	tr a-m n-z <"$src/$1" >"$T/other"
	cat "$T/other" >"$src/$1"
	touch -d "$when" "$src/$1"
}

replace() { # FILE SEED
	gen_text 40 "$2" >"$T/other"
	mv "$T/other" "$src/$1"
}

similar() { # FILE: the names in its listing, best first
	ls -U "$mnt/.similar/$1"
}

leads() { # LINK TARGET: once the kernel's old answer has aged
	[ "$(readlink "$mnt/.similar/$1")" = "$2" ]
}

make_tree() {
	local name
	mkdir -p "$src/sub"
	for name in write append secret replace moved removed; do
		rewrite "$name" 60 "$((++seed))"
	done
	rewrite original 200 50
	cp "$src/original" "$src/sub/copy"
	cp "$src/original" "$src/sub/to-change"
	cp "$src/original" "$src/sub/to-remove"
}

ask_all() {
	find "$mnt" -type f -exec getfattr -n user.xxh128 -- {} + >/dev/null 2>&1
}

test_attributes() {
	ask_all
	rewrite write 60 70
	ok "a file written" seen write
	gen_text 3 71 >>"$src/append"
	ok "appended to" seen append
	rewrite_in_secret secret
	ok "written with the same size and mtime" seen secret
	replace replace 72
	ok "replaced" seen replace
	mv "$src/moved" "$src/sub/moved-there"
	ok "moved: the new name" seen sub/moved-there
	ok "moved: the old name is gone" not_seen moved
	rm "$src/removed"
	ok "removed" not_seen removed
	rewrite fresh 60 73
	ok "a new file" seen fresh
	mkdir -p "$src/new/dir"
	rewrite new/dir/file 60 74
	ok "a new file in a new directory" seen new/dir/file
	mv "$src/new" "$src/renamed"
	ok "a directory renamed" seen renamed/dir/file
}

test_repeated() {
	local i
	for ((i = 0; i < 20; i++)); do
		rewrite_in_secret secret
		getx "$mnt/secret" user.xxh128 >/dev/null
	done
	ok "written again and again while it is asked" seen secret
}

test_listing() {
	rescan "$mnt"
	is "$(similar original | sort | tr '\n' ' ')" \
		"100_copy 100_to-change 100_to-remove " "the copies are listed"
	rm "$src/sub/to-remove"
	rewrite sub/to-change 200 51
	cp "$src/original" "$src/sub/new-copy"
	mv "$src/sub/copy" "$src/renamed/copy"
	rescan "$mnt"
	is "$(for l in "$mnt"/.similar/original/*; do readlink "$l"; done |
		sort | tr '\n' ' ')" \
		"../../renamed/copy ../../sub/new-copy " \
		"after kin rescan the listing is that of the tree as it is now"
	is "$(similar sub/to-change)" "" "also for the file that changed"
	mv "$src/renamed" "$src/sub/below"
	rescan "$mnt"
	ok "a directory that moved is found again" \
		leads original/100_copy ../../sub/below/copy
	rm -r "$src/sub"
	rescan "$mnt"
	is "$(similar original)" "" "a directory that went takes its files along"
}

test_no_timeout() {
	ok "unmount" unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o timeout=0
	cat "$mnt/write" >/dev/null
	rewrite write 60 80
	ok "with timeout=0 a reader sees a change at once" \
		cmp "$mnt/write" "$src/write"
	ok "and its digest" digests_match "$mnt/write"
	replace replace 81
	ok "and a replaced file" digests_match "$mnt/replace"
	is "$(getx "$mnt/replace" user.xxh128)" \
		"$(xxhsum -H2 <"$src/replace" | cut -d' ' -f1)" \
		"which is the new one"
}

# While the kernel knows a name of long ago.
test_lost_names() {
	local how
	ok "unmount" unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o timeout=100000,watch=no
	for how in removed replaced; do
		echo old >"$src/$how"
		stat "$mnt/$how" >/dev/null
		echo other >"$T/other"
		rm "$src/$how"
		[ "$how" = removed ] || mv "$T/other" "$src/$how"
		echo new >"$mnt/$how"
		is "$(cat "$src/$how")" new "what is written to a name that was $how is there"
	done
	exec {fd}>"$mnt/open"
	rm "$mnt/open"
	echo text >"/proc/self/fd/$fd"
	is "$(cat "/proc/self/fd/$fd")" text \
		"a file that is open and has no name can be opened again"
	exec {fd}>&-
}

# Only root may; what it stands for is an empty set.
capability=0x0100000200000000000000000000000000000000

has_capability() { # PATH
	getfattr --absolute-names -n security.capability "$1"
}

# It may be set behind the mount.
test_capability() {
	local how
	for how in 'chmod 755' 'truncate -s 4' 'touch'; do
		rm -f "$mnt/program"
		echo text >"$mnt/program"
		not_ok "no capability" has_capability "$mnt/program"
		setfattr -n security.capability -v "$capability" "$src/program"
		$how "$mnt/program"
		has_capability "$src/program" >"$T/out" 2>&1 || {
			not_ok "$how takes it away from both" \
				has_capability "$mnt/program"
			continue
		}
		ok "it is set after $how" has_capability "$mnt/program"
	done
}

seed=100
make_tree
mount_kinfs "$src" "$mnt"
default_attributes
test_attributes
test_repeated
test_listing
[ "$(id -u)" != 0 ] || test_capability
test_no_timeout
test_lost_names
ok "the daemon is alive" alive "$mnt"
finish
