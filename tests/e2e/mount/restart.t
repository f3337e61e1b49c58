#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What was hashed stays known over remounts, crashes and damage.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
db=$(catalog_of "$mnt")

make_tree() { # COUNT: random files of 64 KiB, and something similar
	mkdir -p "$src/many"
	gen "$(($1 * 65536))" 1 | split -b 65536 -a 4 - "$src/many/"
	gen_text 200 2 >"$src/text"
	edit_text 5 3 <"$src/text" >"$src/draft"
	cp "$src/text" "$src/copy"
}

everything() { # what the mount says of every file
	(cd "$mnt" && find . -type f -print0 | sort -z |
		xargs -0 getfattr -d -m - -- && ls -U .similar .similar/text)
}

truth() { # lines "identity  path" of the tree
	(cd "$src" && find . -type f -print0 | sort -z | xargs -0 xxhsum -H2 2>/dev/null)
}

told() { # the same by the mount
	(cd "$mnt" && find . -type f -print0 | sort -z |
		xargs -0 getfattr -n user.xxh128 --) |
		sed -n 's/^# file: \(.*\)/\1/p; s/^user.xxh128="\(.*\)"/\1/p' |
		paste -d ' ' - - | sed 's#\(.*\) \(.*\)#\2  ./\1#'
}

right() { # NAME
	wait_idle "$mnt"
	told >"$T/told"
	truth >"$T/truth"
	same "$1" "$T/told" "$T/truth"
}

read_by_daemon() { # bytes, by read calls of any kind
	sed -n 's/^rchar: //p' "/proc/$(daemon_pid "$mnt")/io"
}

some_hashed() {
	[ "$(fresh_count)" -gt 0 ]
}

fresh_count() {
	find "$src/many" -type f -printf "$mnt/many/%P\n" | head -n 50 |
		xargs getfattr --absolute-names -n user.kinfs.state -- |
		grep -c fresh
}

test_remount() {
	local total before
	total=$(du -sb "$src" | cut -f1)
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	everything >"$T/before"
	before=$(read_by_daemon)
	ok "the daemon had to read the files" test "$before" -ge "$total"
	ok "unmount" unmount "$mnt"
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	everything >"$T/after"
	same "digests and listings survive a remount" "$T/after" "$T/before"
	between "$(read_by_daemon)" 0 "$((total / 4))" \
		"and the files are not read again"
	is "$(status_field "$mnt" hashed.files)" 0 "the status says: hashed 0"
}

test_changed_while_off() {
	ok "unmount" unmount "$mnt"
	echo changed >>"$src/many/aaaa"
	rm "$src/many/aaab"
	mv "$src/many/aaac" "$src/moved"
	gen 1000 7 >"$src/new"
	mount_kinfs "$src" "$mnt"
	right "what changed while it was not mounted is found"
	rm "$src/copy"
	ok "unmount" unmount "$mnt"
}

test_killed() {
	local round
	rm -rf "$db"
	for round in 1 2 3; do
		mount_kinfs "$src" "$mnt" -o wait=0,workers=1
		poll 20 some_hashed
		kill_daemon "$mnt"
		gen 65536 "$((100 + round))" >"$src/many/killed-$round"
	done
	mount_kinfs "$src" "$mnt"
	right "killed while hashing, three times: all is right in the end"
	unlike "$(daemon_log "$mnt")" 'damage|set aside' \
		"and the catalog was not damaged"
	kill_daemon "$mnt"
	mount_kinfs "$src" "$mnt"
	right "killed while idle: the same"
	ok "unmount" unmount "$mnt"
}

huge_is_pending() {
	[ "$(state "$mnt/huge")" = pending ]
}

test_unmount_busy() {
	local begin
	truncate -s 500G "$src/huge"
	mount_kinfs "$src" "$mnt" -o wait=0
	poll 10 huge_is_pending
	begin=$SECONDS
	ok "unmounted while hashing something huge" unmount "$mnt"
	between "$((SECONDS - begin))" 0 5 "it ends promptly"
	mount_kinfs "$src" "$mnt" -o wait=0
	begin=$SECONDS
	kill "$(daemon_pid "$mnt")"
	ok "so it does when told by a signal" \
		poll 10 gone "$(daemon_pid "$mnt")"
	not_ok "which unmounts" mounted "$mnt"
	rm "$src/huge"
}

test_second_daemon() {
	local status=0
	mount_kinfs "$src" "$mnt"
	mkdir -p "$T/second"
	timeout 600 "$KINFS" -f "$src" "$T/second" -o "db=$db" \
		>"$T/said" 2>&1 || status=$?
	is "$status" 1 "a second daemon on the same catalog exits with 1"
	like "$(cat "$T/said")" '^kinfs: .*(in use|another|already|busy)' \
		"and says why"
	like "$(cat "$T/said")" "$db" "naming the catalog"
	like "$(cat "$T/said")" "process $(daemon_pid "$mnt").*$mnt" \
		"and who has it, where it is mounted"
	not_ok "it is not mounted" mounted "$T/second"
	ok "the first one is not disturbed" alive "$mnt"
	ok "unmount" unmount "$mnt"
}

data_file() { # the largest file of the catalog
	find "$db" -type f -not -name '*damaged*' -printf '%s %p\n' |
		sort -n | tail -n 1 | cut -d' ' -f2-
}

set_aside() {
	find "$db" "$db"/.. -maxdepth 1 -name '*damaged*' | wc -l
}

test_damaged() { # NAME COMMAND...: which damages the data file
	local name=$1 file before
	shift
	file=$(data_file)
	before=$(set_aside)
	"$@" "$file"
	mount_kinfs "$src" "$mnt"
	right "$name: digests are right"
	like "$(daemon_log "$mnt")" 'damaged' "$name: it is reported"
	is "$(set_aside)" "$((before + 1))" "$name: and set aside"
	ok "$name: the listing works" \
		test -n "$(ls "$mnt/.similar/text")"
	ok "$name: unmount" unmount "$mnt"
}

garbage() {
	gen "$(stat -c %s "$1")" 9 >"$T/garbage"
	cat "$T/garbage" >"$1"
}

cut_short() {
	truncate -s 1000 "$1"
}

emptied_pages() { # all but the first pages
	truncate -s 8192 "$1"
}

scribbled() { # all but the first pages
	gen "$(($(stat -c %s "$1") - 8192))" 9 |
		dd of="$1" bs=8192 seek=1 conv=notrunc status=none
}

foreign() {
	echo "this is a text file" >"$1"
}

test_digest_set() {
	mount_kinfs "$src" "$mnt" -o digests=simhash
	wait_idle "$mnt"
	is "$(names "$mnt/text" | grep -v xxh128)" user.simhash \
		"digests=simhash shows this one (and the identity)"
	ok "with its value" test "$(getx "$mnt/text" user.simhash)" = \
		"$(digest "$mnt/text" user.simhash)"
	is "$(errno_of getx "$mnt/text" user.sise)" ENODATA "and no other"
	ok "unmount" unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o xattrs=all
	wait_idle "$mnt"
	is "$(names "$mnt/text")" \
		"$ATTRIBUTES" \
		"and back again: all of them"
	ok "with their values" digests_match "$mnt/text"
	ok "unmount" unmount "$mnt"
}

default_attributes
make_tree 1000
test_remount
test_changed_while_off
test_killed
test_unmount_busy
test_second_daemon
test_damaged "garbage" garbage
test_damaged "cut" cut_short
test_damaged "pages gone" emptied_pages
test_damaged "scribbled" scribbled
test_damaged "foreign" foreign
test_digest_set
finish
