#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What moves a file's ctime and leaves its content alone (chmod, link, rename,
# setxattr) keeps its digests, unless the content may have changed as well.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

fs=$T/fs
src=$T/src
mnt=$T/mnt
ways=(chmod link rename attribute)

by_chmod() { # FILE
	chmod 600 "$1"
}

by_link() {
	ln "$1" "$1.link"
}

by_rename() {
	mv "$1" "$1.moved" && mv "$1.moved" "$1"
}

by_attribute() {
	setfattr -n user.other -v "$RANDOM" "$1"
}

# ---- nothing is read again ----

hashed() {
	status_field "$mnt" hashed.files
}

has_fine_times() { # a change that follows a stat() has a ctime of its own
	local old new i
	touch "$src/times"
	for ((i = 0; i < 20; i++)); do
		old=$(stat -c %z "$src/times")
		chmod 600 "$src/times"
		new=$(stat -c %z "$src/times")
		[ "$old" != "$new" ] || return 1
	done
	rm "$src/times"
}

# The kernel tells the mount of a close() after that has returned.
has_hashed() { # COUNT
	wait_idle "$mnt" && [ "$(hashed)" -ge "$1" ]
}

test_kept() {
	local way before after
	before=$(($(hashed) + ${#ways[@]}))
	for way in "${ways[@]}"; do
		gen_text 40 1 >"$mnt/$way"
	done
	poll 30 has_hashed "$before"
	for way in "${ways[@]}"; do
		"by_$way" "$mnt/$way"
	done
	wait_idle "$mnt"
	for way in "${ways[@]}"; do
		ok "$way keeps the digests" digests_match "$mnt/$way"
	done
	after=$(hashed) # has_fine_times makes a file, which is hashed, too
	if has_fine_times; then
		is "$((after - before))" 0 "and no file was read again"
	else
		skip "and no file was read again" "timestamps are coarse"
	fi
}

# ---- a writer behind the mount ----

intruded() { # TEXT VARIABLE...: a daemon in which chmod meets a writer
	local library=$T/intrude.so
	[ -e "$library" ] || "$CC" -std=c11 -D_GNU_SOURCE -shared -fPIC \
		-o "$library" "$HELPERS/intrude.c" || return
	printf 'the content A' >"$src/victim"
	(
		# shellcheck disable=SC2030
		export LD_PRELOAD=$library INTRUDE_FILE=$src/victim \
			INTRUDE_TEXT=$1 "${@:2}"
		exec "$KINFS" -f "$src" "$mnt" -o "db=$T/db-victim,sandbox=no"
	) </dev/null >"$T/intruded.log" 2>&1 &
	pids+=("$!")
	pid_of[$mnt]=$!
	log_of[$mnt]=$T/intruded.log
	poll 20 mounted "$mnt"
}

test_intruder() {
	local how
	for how in INTRUDE_NOW INTRUDE_HELD; do
		intruded 'the content B' "$how=1" ||
			bail "a mount with a writer behind it" \
				"$(cat "$T/intruded.log")"
		getx "$mnt/victim" user.xxh128 >/dev/null
		wait_idle "$mnt" # what was hashed is in the catalog
		chmod 640 "$mnt/victim"
		wait_idle "$mnt"
		ok "$how: written to while chmod was under way" \
			digests_match "$mnt/victim"
		ok "unmount" unmount "$mnt"
		rm -r "$T/db-victim"
	done
	is "$(cat "$src/victim")" "the content B" "it was written to indeed"
}

# ---- timestamps of a second ----

make_filesystem() { # with inodes that have no room for nanoseconds
	mkdir "$fs"
	truncate -s 32M "$fs.image"
	mkfs.ext4 -q -I 128 -m 0 "$fs.image" >"$T/mkfs.err" 2>&1 &&
		mount -o loop "$fs.image" "$fs"
}

# By the clock of the filesystem.
second_begins() {
	local now before
	touch "$fs/clock"
	before=$(stat -c %Z "$fs/clock")
	now=$before
	while [ "$now" = "$before" ]; do
		touch "$fs/clock"
		now=$(stat -c %Z "$fs/clock")
	done
}

# Touched, and then written to with the mtime put back, in one second.
touch_and_write() { # WAY: fails when it took longer
	local file=$mnt/$1 touched
	"by_$1" "$file"
	touched=$(stat -c %Z "$fs/$1")
	printf 'the content B' 1<>"$file"
	touch -r "$fs/reference" "$file"
	[ "$(stat -c %Z "$fs/$1")" = "$touched" ]
}

prepare() { # WAY
	rm -f "$mnt/$1" "$mnt/$1.link"
	printf 'the content A' >"$mnt/$1"
	touch -r "$fs/reference" "$mnt/$1"
	getx "$mnt/$1" user.xxh128 >/dev/null
}

# A machine may be busy: until it was fast enough.
in_one_second() { # WAY
	local tries
	for ((tries = 0; tries < 50; tries++)); do
		prepare "$1"
		second_begins
		touch_and_write "$1" && return
	done
	return 1
}

test_coarse() {
	local way
	touch -d 2001-02-03 "$fs/reference"
	for way in "${ways[@]}"; do
		in_one_second "$way" ||
			bail "$way and a change in one second" "it took longer"
		ok "$way and a change in one second" \
			digests_match "$mnt/$way"
	done
	rescan "$mnt"
	for way in "${ways[@]}"; do
		ok "$way: the digests are right later, too" \
			digests_match "$mnt/$way"
	done
}

mkdir "$src"
default_attributes
mount_kinfs "$src" "$mnt"
test_kept
ok "unmount" unmount "$mnt"
test_intruder
make_filesystem ||
	bail "a filesystem with timestamps of a second" "$(cat "$T/mkfs.err")"
mount_kinfs "$fs" "$mnt" -o "db=$T/db-coarse"
test_coarse
ok "the daemon is alive" alive "$mnt"
ok "unmount" unmount "$mnt"
finish
