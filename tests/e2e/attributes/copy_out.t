#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tools that copy attributes out of a mount succeed in silence, whatever the
# filesystem they copy to: what is listed fits beside what the files have.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
to=$T/to

value() { # BYTES
	printf "%$1s" '' | tr ' ' v
}

# What kinfs would list of its own beside these is more than a block of ext4.
make_tree() {
	local own
	mkdir -p "$src/dir"
	for own in 0 300 1200 3000; do
		gen_text 4000 "$own" >"$src/dir/own-$own"
		[ "$own" = 0 ] && continue
		setfattr -n user.own -v "$(value "$own")" "$src/dir/own-$own"
		setfacl -m u:1:r,u:2:rw,u:3:r,g:1:r,g:2:r "$src/dir/own-$own"
	done
	gen_text 10 7 | head -c 90 >"$src/dir/short"
	setfattr -n user.own -v directory "$src/dir"
}

size_listed() { # FILE: names and values of digests that it lists
	local name sum=0
	for name in $(names "$1" | grep -v '^user\.own$\|^system\.'); do
		sum=$((sum + ${#name} + $(getx "$1" "$name" | wc -c)))
	done
	echo "$sum"
}

digests_listed() { # FILE
	names "$1" | grep -v '^user\.own$\|^system\.'
}

silent() { # NAME COMMAND...
	"${@:2}" >"$T/said" 2>&1
	is "$? $(cat "$T/said")" "0 " "$1"
}

leave() { # a directory of the mount moves out
	cp -a "$mnt/dir" "$mnt/leaving" && wait_idle "$mnt" &&
		mv "$mnt/leaving" "$to/mv"
}

through_tar() { # tar|bsdtar
	local some=(--xattrs)
	mkdir "$to/$1"
	[ "$1" = tar ] && some+=(--acls '--xattrs-include=*')
	"$1" -C "$mnt" "${some[@]}" -cf "$to/$1.tar" dir &&
		"$1" -C "$to/$1" "${some[@]}" -xpf "$to/$1.tar"
}

kept() { # DIRECTORY
	diff -r "$src/dir" "$1" &&
		[ "$(getx "$1/own-3000" user.own)" = "$(value 3000)" ] &&
		[ "$(getx "$1" user.own)" = directory ] &&
		getfacl -n "$1/own-1200" 2>/dev/null | grep -q '^user:2:rw'
}

test_copies() { # NAME, for a filesystem that is mounted at $to
	local copy
	silent "$1: cp -a" cp -a "$mnt/dir" "$to/cp"
	silent "$1: cp --preserve=all" \
		cp -r --preserve=all "$mnt/dir" "$to/all"
	silent "$1: mv" leave
	silent "$1: rsync -aXA" rsync -aXA "$mnt/dir/" "$to/rsync"
	silent "$1: tar --xattrs" through_tar tar
	silent "$1: bsdtar" through_tar bsdtar
	for copy in cp all mv rsync tar/dir bsdtar/dir; do
		ok "$1: $copy is the same, with its attributes and ACL" \
			kept "$to/$copy"
	done
	umount "$to"
}

on_image() { # NAME SIZE MKFS...: mounts a new filesystem
	rm -f "$T/image"
	truncate -s "$2" "$T/image"
	"${@:3}" "$T/image" >"$T/mkfs" 2>&1 &&
		mount -o loop "$T/image" "$to" 2>>"$T/mkfs"
}

try_image() { # NAME SIZE MKFS...
	if on_image "$@"; then
		test_copies "$1"
	else
		skip "$1" "cannot be mounted: $(tail -n 1 "$T/mkfs")"
	fi
}

try_tmpfs() {
	mount -t tmpfs none "$to"
	touch "$to/probe"
	if setfattr -n user.own -v x "$to/probe" 2>"$T/mkfs"; then
		test_copies tmpfs
	else
		skip tmpfs "has no user attributes here"
		umount "$to"
	fi
}

test_list() {
	local file
	for file in "$mnt/dir"/own-*; do
		between "$(size_listed "$file")" 0 1900 \
			"${file##*/}: what is listed fits into 1,900 bytes"
	done
	is "$(digests_listed "$mnt/dir/own-300" | grep -v 'si[sf]')" \
		"$(printf 'user.%s\n' rdc.traits simhash ssdeep xxh128)" \
		"the short ones are listed"
	is "$(digests_listed "$mnt/dir/own-3000")" "" \
		"none beside large attributes of the file's own"
	ok "but all can be read" digests_match "$mnt/dir/own-3000"
	is "$(digests_listed "$mnt/dir/short")" \
		"$ATTRIBUTES" \
		"a small file lists all of them"
}

test_all() {
	mount_kinfs "$src" "$mnt" -o xattrs=all
	is "$(digests_listed "$mnt/dir/own-3000")" \
		"$ATTRIBUTES" \
		"xattrs=all lists all"
	ok "unmount" unmount "$mnt"
}

mkdir "$to"
default_attributes
make_tree
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
test_list
try_image 'ext4, inodes of 128 bytes' 64M mkfs.ext4 -q -b 4096 -I 128
try_image 'ext4, inodes of 256 bytes' 64M mkfs.ext4 -q -b 4096 -I 256
try_image xfs 320M mkfs.xfs -q
try_image btrfs 160M mkfs.btrfs -q
try_tmpfs
ok "unmount" unmount "$mnt"
test_all
finish
