#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever is done to a file through the mount, its digests are those of the
# content a reader gets, at once, and never the old ones.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt

# Does COMMAND, which changes the content of FILE, and judges at once.
changes() { # NAME FILE COMMAND...
	local name=$1 file=$2
	shift 2
	getx "$file" user.xxh128 >/dev/null
	"$@" || { report 1 "$name"; diag "failed: $*"; return; }
	ok "$name" digests_match "$file"
}

keeps() { # NAME FILE COMMAND...: COMMAND leaves the content alone
	local name=$1 file=$2 old
	shift 2
	old=$(getx "$file" user.xxh128)
	"$@" || { report 1 "$name"; diag "failed: $*"; return; }
	is "$(getx "$file" user.xxh128)" "${old:-no digest before}" "$name"
}

append() {
	gen_text 5 7 >>"$1"
}

overwrite() { # FILE SEED
	gen_text 40 "$2" >"$1"
}

patch() { # FILE: same size, in the middle
	printf 'patched' | dd of="$1" bs=1 seek=5000 conv=notrunc status=none
}

same_times() { # FILE: same size, same mtime
	local when
	when=$(stat -c %y "$1")
	printf 'PATCHED' | dd of="$1" bs=1 seek=5000 conv=notrunc status=none
	touch -d "$when" "$1"
}

mapwrite() { # FILE TEXT
	"$(helper mapstore)" "$1" <<<"$2" >/dev/null
}

replace() { # FILE SEED: as an editor saves
	gen_text 40 "$2" >"$1.new" && mv "$1.new" "$1"
}

recreate() { # FILE SEED
	rm "$1" && gen_text 40 "$2" >"$1"
}

two_descriptors() { # FILE: written by both, closed one after the other
	exec 5>>"$1" 6>>"$1"
	gen_text 1 21 >&5
	exec 5>&-
	gen_text 1 22 >&6
	exec 6>&-
}

duplicated() { # FILE: the last of two duplicates closes later
	exec 5>>"$1" 6>&5
	gen_text 1 23 >&5
	exec 5>&-
	gen_text 1 24 >&6
	exec 6>&-
}

copy_range() { # FROM TO
	[ "$(errno_of copy-range "$1" "$2")" = ok ]
}

close_and_ask() { # COUNT: the first answer after each of many closes
	local i want have file=$mnt/loop
	for ((i = 0; i < $1; i++)); do
		echo "round $i" >"$file"
		have=$(getx "$file" user.xxh128)
		want=$(echo "round $i" | xxhsum -H2 | cut -d' ' -f1)
		[ "$have" = "$want" ] && continue
		echo "round $i: want $want, have '$have', state $(state "$file")"
		return 1
	done
}

test_changes() {
	changes "a new file" "$mnt/f" overwrite "$mnt/f" 1
	changes "written anew" "$mnt/f" overwrite "$mnt/f" 2
	changes "appended to" "$mnt/f" append "$mnt/f"
	changes "overwritten in the middle" "$mnt/f" patch "$mnt/f"
	changes "the same with mtime set back" "$mnt/f" same_times "$mnt/f"
	changes "cut" "$mnt/f" truncate -s 1500 "$mnt/f"
	changes "extended" "$mnt/f" truncate -s 150000 "$mnt/f"
	changes "a hole punched" "$mnt/f" \
		fallocate -p -o 0 -l 1000 "$mnt/f"
	changes "extended by fallocate" "$mnt/f" fallocate -l 200000 "$mnt/f"
	changes "written through a mapping" "$mnt/f" mapwrite "$mnt/f" mapped
	changes "and again" "$mnt/f" mapwrite "$mnt/f" MAPPED
	changes "renamed over" "$mnt/f" replace "$mnt/f" 3
	changes "removed and made anew" "$mnt/f" recreate "$mnt/f" 4
	changes "copied over" "$mnt/f" cp /etc/passwd "$mnt/f"
	changes "copied over with attributes" "$mnt/f" cp -a /etc/group "$mnt/f"
	changes "written by two descriptors" "$mnt/f" two_descriptors "$mnt/f"
	changes "written by duplicates" "$mnt/f" duplicated "$mnt/f"
	changes "emptied" "$mnt/f" truncate -s 0 "$mnt/f"
	overwrite "$mnt/g" 5
	changes "filled by copy_file_range" "$mnt/f" \
		copy_range "$mnt/g" "$mnt/f"
	ok "the answer right after close, 100 times" close_and_ask 100
}

test_keeps() {
	overwrite "$mnt/kept" 6
	keeps "chmod keeps the digest" "$mnt/kept" chmod 600 "$mnt/kept"
	keeps "chown keeps it" "$mnt/kept" chown 1:1 "$mnt/kept"
	keeps "touch -d keeps it" "$mnt/kept" touch -d 2001-02-03 "$mnt/kept"
	keeps "setfattr keeps it" "$mnt/kept" \
		setfattr -n user.other -v 1 "$mnt/kept"
	keeps "opening for writing keeps it" "$mnt/kept" \
		dd if=/dev/null of="$mnt/kept" conv=notrunc status=none
	mv "$mnt/kept" "$mnt/moved"
	is "$(getx "$mnt/moved" user.xxh128)" \
		"$(xxhsum -H2 <"$src/moved" | cut -d' ' -f1)" "mv keeps it"
}

test_links() {
	overwrite "$mnt/one" 8
	ln "$mnt/one" "$mnt/two"
	ok "a hard link has the digests of the file" digests_match "$mnt/two"
	append "$mnt/two"
	ok "written by one name, asked by the other" digests_match "$mnt/one"
	rm "$mnt/one"
	ok "the other name goes" digests_match "$mnt/two"
	ln -s two "$mnt/link"
	is "$(getx "$mnt/link" user.xxh128)" "$(getx "$mnt/two" user.xxh128)" \
		"getfattr follows a symbolic link"
}

test_unlinked() {
	overwrite "$mnt/open" 9
	exec 5<"$mnt/open"
	rm "$mnt/open"
	overwrite "$mnt/open" 10
	ok "a new file of the name of an open unlinked one" \
		digests_match "$mnt/open"
	is "$(cat <&5 | xxhsum -H2)" "$(gen_text 40 9 | xxhsum -H2)" \
		"which still reads as it did"
	exec 5<&-
}

# A file that was made without a name.
test_tmpfile() {
	local said pid
	said=$(errno_of tmpfile "$mnt" "$mnt/tmp-open")
	if [ "$said" = EOPNOTSUPP ]; then
		skip "digests of a file made by O_TMPFILE" "this FUSE has none"
		return
	fi
	ok "made by O_TMPFILE, linked while open" digests_match "$mnt/tmp-open"
	mkfifo "$T/link-it"
	"$(helper sys)" tmpfile-closed "$mnt" "$mnt/tmp-closed" \
		<"$T/link-it" >"$T/said" &
	pid=$!
	exec 5>"$T/link-it"
	poll 10 grep -q closed "$T/said"
	wait_idle "$mnt"
	exec 5>&-
	wait "$pid"
	like "$(cat "$T/said")" ok "linked after it was closed"
	wait_idle "$mnt"
	is "$(ls "$mnt/.similar/tmp-open")" 100_tmp-closed \
		"is hashed, and found by its name"
	ok "and has its digests" digests_match "$mnt/tmp-closed"
}

# The contract of a file that is being written.
test_busy() {
	overwrite "$mnt/busy" 11
	wait_idle "$mnt"
	is "$(state "$mnt/busy")" fresh "a hashed file is fresh"
	exec 5>>"$mnt/busy"
	ok "opened for writing, not modified: still has its digest" \
		digests_match "$mnt/busy"
	echo more >&5
	is "$(state "$mnt/busy")" busy "modified and open for writing: busy"
	is "$(errno_of getx "$mnt/busy" user.xxh128)" ENODATA \
		"and has no digest"
	is "$(names "$mnt/busy")" "" "and lists none"
	mkfifo "$T/hold-list"
	"$(helper sys)" listx "$mnt/busy" <"$T/hold-list" >"$T/listed" 5>&- &
	exec 6>"$T/hold-list"
	ok "somebody asks how long the list is" poll 20 test -s "$T/listed"
	exec 5>&-
	ok "closed: the digest of the new content" digests_match "$mnt/busy"
	is "$(state "$mnt/busy")" fresh "and fresh again"
	exec 6>&-
	wait "$!"
	is "$(tail -n 1 "$T/listed")" ok "there is room for the names that came"
}

test_busy_mapping() {
	mkfifo "$T/hold"
	overwrite "$mnt/map" 12
	wait_idle "$mnt"
	"$(helper mapstore)" "$mnt/map" <"$T/hold" >"$T/said" &
	exec 5>"$T/hold"
	echo held >&5
	poll 10 grep -q stored "$T/said"
	isnt "$(getx "$mnt/map" user.xxh128)" \
		"$(gen_text 40 12 | xxhsum -H2 | cut -d' ' -f1)" \
		"modified by a mapping that is still there: not the old digest"
	exec 5>&-
	wait "$!"
	ok "unmapped: the digest of the new content" digests_match "$mnt/map"
}

test_state() {
	is "$(names "$mnt" | grep -c kinfs)" 0 \
		"user.kinfs.status is not listed"
	is "$(names "$mnt/g" | grep -c kinfs)" 0 "nor is user.kinfs.state"
	like "$(status_json "$mnt")" '^\{.*\}$' \
		"user.kinfs.status of the root is an object"
	is "$(errno_of getx "$mnt/g" user.kinfs.status)" ENODATA \
		"and only of the root"
	ok "user.kinfs.wait can be read" getx "$mnt" user.kinfs.wait
	is "$(getx "$mnt" user.kinfs.wait)" "" "and is empty"
	is "$(errno_of getx "$mnt/g" user.kinfs.wait)" ENODATA \
		"and only of the root"
}

mount_kinfs "$src" "$mnt"
default_attributes
test_changes
test_keeps
test_links
test_unlinked
test_tmpfile
test_busy
test_busy_mapping
test_state
ok "the daemon is alive" alive "$mnt"
finish
