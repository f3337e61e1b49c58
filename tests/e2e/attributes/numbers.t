#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A SOURCE that gives files other inode numbers when it is mounted again, or the
# same numbers and times to other contents: no file has the digests of another
# one.  What is known to be unchanged is not read again.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
real=$T/real
flaws=$T/flaws
image=$T/image

# Files of one size, in two directories.  With their names or without.
make_files() { # SEED [SECONDS: their times, each other than the one before]
	local i
	mkdir -p "$real/a" "$real/b"
	for i in {100..159}; do
		gen_text 5 "$1$i" | head -c 200 >"$real/a/f$i"
		gen_text 5 "$1${i}0" | head -c 200 >"$real/b/f$i"
		touch -d "@$((1600000000 + ${2:-0} * i))" "$real/a/f$i"
		touch -d "@$((1600000005 + ${2:-0} * i))" "$real/b/f$i"
	done
	touch -d @1600000000 "$real"/[ab] "$real"
}

of_files() {
	(cd "$real" && "$KIN" digest -r -a xxh128 . | sed 's,\./,,') | sort
}

of_mount() {
	(cd "$mnt" && getfattr -R -n user.xxh128 a b) |
		sed -n 's/^# file: //; s/^user.xxh128="\(.*\)"/\1/; T; p' |
		paste -d ' ' - - | sed 's/\(.*\) \(.*\)/\2  \1/' | sort
}

# Mounts and unmounts kinfs; the digests are those of the files.
digests_are_right() { # NAME
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	of_files >"$T/want"
	of_mount >"$T/have"
	hashed=$(status_field "$mnt" hashed.files)
	same "$1: the digests are those of the files" "$T/have" "$T/want"
	unmount "$mnt"
}

start_over() {
	rm -rf "$real" "$(catalog_of "$mnt")"
}

# ---- FUSE ----

build_faulty() {
	# shellcheck disable=SC2046
	$CC $(pkg-config --cflags fuse3) -DFUSE_USE_VERSION=35 \
		-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -o "$T/faulty" \
		"$HELPERS/faulty.c" $(pkg-config --libs fuse3)
}

# libfuse numbers the files in the order in which they are looked up.
mount_shuffled() { # SEED
	"$T/faulty" "$real" "$flaws" -f "$src" &
	pids+=("$!")
	poll 20 mounted "$src"
	(cd "$src" && find . -type f | sort |
		shuf --random-source=<(yes "$1") | xargs stat -c %i) >/dev/null
}

remount_shuffled() { # NAME
	local i
	for i in 1 2 3; do
		mount_shuffled "$i"
		digests_are_right "$1, mount $i"
		umount "$src"
	done
}

mkdir "$src"
echo "mtime,numbers," >"$flaws"
ok "a filesystem that makes numbers up" build_faulty
make_files 1 10
remount_shuffled "FUSE"
is "$hashed" 0 "and what has its name, size and times is not read"
mv "$real/a" "$real/c" && mv "$real/b" "$real/a" && mv "$real/c" "$real/b"
remount_shuffled "directories that were exchanged"
start_over
make_files 1
remount_shuffled "files of one time"
mv "$real/a/f100" "$real/f" && mv "$real/a/f101" "$real/a/f100" &&
	mv "$real/f" "$real/a/f101" && touch -d @1600000000 "$real"/{a,}
remount_shuffled "whose names were exchanged"

# ---- images ----

can_mount() { # NAME COMMAND...: makes and mounts the image
	"${@:2}" >"$T/said" 2>&1 && mount -o loop "$image" "$src" 2>>"$T/said" &&
		return
	skip "$1" "cannot be mounted: $(tail -n 1 "$T/said")"
	return 1
}

# The same image again; an image of other contents in its place.
try_image() { # NAME COMMAND...
	start_over
	make_files 2
	rm -f "$image"
	can_mount "$@" || return
	digests_are_right "$1"
	umount "$src"
	mount -o loop "$image" "$src"
	digests_are_right "$1, mounted again"
	is "$hashed" "${reads:-0}" "$1, mounted again: the files that are read"
	umount "$src"
	rm -rf "$real" "$image"
	make_files 3
	can_mount "$@" || return
	digests_are_right "$1, another image"
	umount "$src"
}

make_squashfs() {
	mksquashfs "$real" "$image" -all-time 0 -mkfs-time 0 -noappend
}

# With the times of the files.
make_ext4() {
	mke2fs -q -t ext4 -d "$real" -U 01234567-89ab-cdef-0123-456789abcdef \
		"$image" 8M
}

make_vfat() {
	truncate -s 8M "$image" && mkfs.vfat "$image" &&
		mount -o loop "$image" "$src" && cp -a "$real"/. "$src" &&
		touch -d @1600000000 "$src"/[ab] && umount "$src"
}

try_image squashfs make_squashfs
try_image ext4 make_ext4
reads=120 try_image FAT make_vfat
finish
