#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What goes wrong below the mount is passed on as it is, and the daemon stays:
# a full filesystem, SOURCE removed or unmounted, an end under load.
# shellcheck source=tests/stress/lib.sh disable=SC1091
. tests/stress/lib.sh

# ---- no space ----

make_small() {
	mkdir "$T/small"
	truncate -s 16M "$T/small.image"
	mkfs.ext4 -q -m 0 "$T/small.image" &&
		mount -o loop,user_xattr "$T/small.image" "$T/small"
}

# Writes until there is no space; whoever gets another error complains.
fill() { # NAME
	local said i
	for ((i = 0; i < 100; i++)); do
		said=$(dd if=/dev/urandom of="$T/full/$1-$i" \
			bs=100000 count=5 status=none 2>&1) && continue
		[[ $said =~ 'No space left' ]] && return
		break
	done
	echo "$said"
	return 1
}

fill_by_many() {
	local name pid pids=() result=0
	for name in a b c d; do
		fill "$name" &
		pids+=("$!")
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || result=1
	done
	return "$result"
}

every_digest() { # MOUNTPOINT
	local file
	for file in "$1"/*; do
		[ "$(getx "$file" user.xxh128)" = \
			"$(xxhsum -H2 <"$file" | cut -d' ' -f1)" ] && continue
		echo "$file: $(state "$file")"
		return 1
	done
}

test_no_space() {
	make_small || bail "a small filesystem" "it cannot be mounted"
	mount_kinfs "$T/small" "$T/full"
	ok "four writers until the filesystem is full: ENOSPC" fill_by_many
	ok "the daemon is alive" alive "$T/full"
	rmdir "$T/full/lost+found"
	ok "and every digest that of what was written" every_digest "$T/full"
	rm "$T/full"/a-*
	gen 300000 1 >"$T/full/again"
	ok "there is space again" cmp "$T/full/again" <(gen 300000 1)
	ok "with every digest" every_digest "$T/full"
	ok "unmount" unmount "$T/full"
}

# ---- SOURCE goes ----

some_load() { # DIRECTORY: until it is told to end
	local i=0
	trap 'exit 0' TERM
	while :; do
		i=$((i + 1))
		mkdir -p "$1/d$((i % 7))"
		gen 5000 "$i" >"$1/d$((i % 7))/f$((i % 50))"
		cat "$1"/d*/* >"$T/sink"
		getx "$1/d$((i % 7))/f$((i % 50))" user.sise >"$T/sink"
		mv "$1/d$((i % 7))" "$1/e$((i % 5))"
		ls -l "$1/.similar" "$1"
	done >"$T/load.out" 2>&1
}

is_empty() { # DIRECTORY: or not there
	! [ -e "$1" ] || [ -z "$(ls -A "$1")" ]
}

begin_load() { # DIRECTORY
	local i
	load=()
	for i in 1 2 3; do
		some_load "$1" &
		load+=("$!")
		pids+=("$!")
	done
	poll 20 eval "! is_empty '$1'"
}

end_load() {
	local pid
	for pid in "${load[@]}"; do
		end_process "$pid"
	done
	true
}

test_source_removed() {
	mkdir "$T/doomed"
	mount_kinfs "$T/doomed" "$T/over"
	begin_load "$T/over"
	poll 20 rm -rf "$T/doomed"
	ok "SOURCE is removed under load" test ! -e "$T/doomed"
	ok "the daemon is alive" alive "$T/over"
	end_load
	ok "the mount is empty" poll 10 is_empty "$T/over"
	refused "and takes nothing" 'No such file' mkdir "$T/over/new"
	ok "unmount" unmount "$T/over"
}

# What is mounted there goes on, out of sight.
test_source_unmounted() {
	mount_kinfs "$T/small" "$T/full"
	gen 300000 2 >"$T/full/before"
	refused "a SOURCE in use is not unmounted" busy umount "$T/small"
	ok "SOURCE is unmounted lazily" umount -l "$T/small"
	is "$(find "$T/small" -mindepth 1)" "" "it is empty"
	ok "what was written is read" cmp "$T/full/before" <(gen 300000 2)
	gen 300000 3 >"$T/full/after"
	ok "files are made and read" cmp "$T/full/after" <(gen 300000 3)
	ok "with every digest" every_digest "$T/full"
	ok "unmount" unmount "$T/full"
	ok "the device is free then" fsck.ext4 -fn "$T/small.image"
}

# ---- the end under load ----

test_unmounted_under_load() {
	local round
	for round in 1 2 3; do
		mount_kinfs "$src" "$mnt"
		begin_load "$mnt"
		ok "unmounted under load, round $round" umount -l "$mnt"
		end_load
		ok "the daemon ends, round $round" \
			poll 20 gone "$(daemon_pid "$mnt")"
		wait "$(daemon_pid "$mnt")"
		is "$?" 0 "with success, round $round"
		rm -rf "${mnt:?}"/*
	done
	mount_kinfs "$src" "$mnt"
	ok "catalog and files agree after that" catalog_agrees
	begin_load "$mnt"
	kill "$(daemon_pid "$mnt")"
	end_load
	ok "a signal ends it under load" \
		poll 20 gone "$(daemon_pid "$mnt")"
}

test_no_space
test_source_unmounted
test_source_removed
test_unmounted_under_load
finish
