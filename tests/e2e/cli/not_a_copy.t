#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What may be removed is a copy.  Of a file with other bytes of the same XXH128,
# and of another path to the file that stays, nothing is named by kin groups -0
# and nothing taken away by kin dedup --how remove.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

# XXH3 adds up products of halves of words, each changed by a secret that is
# known.  Where a half is made 0, the other one only counts in a sum, so two that
# change places make no difference.
same_hash() { # WORD WORD: of 4 characters
	printf '\xb8\xfe\x6c\x39%s' "$1"
	seq 100 | head -c 56
	printf '\x7c\x01\x81\x2c%s' "$2"
	seq 1000 | head -c 2000
}

remove() { # KEPT OTHER
	rm -f "$T/journal"
	printf '{"members":[{"files":[{"path":"%s"},{"path":"%s"}]}]}\n' \
		"$1" "$2" >"$T/list"
	"$KIN" dedup --how remove --keep "${1%/*}" --apply \
		--journal "$T/journal" "$T/list"
}

stays() { # NAME KEPT OTHER
	local sum
	sum=$(md5sum <"$3")
	refused "$1: it is left alone" "left alone" remove "$2" "$3"
	is "$(md5sum <"$3")" "$sum" "$1: it has its content"
	"$KIN" dedup --undo "$T/journal" >/dev/null 2>&1
	is "$(find "${3%/*}" -maxdepth 1 -name '.kin*') $(md5sum <"$3")" " $sum" \
		"$1: also after undo"
}

listed() { # OPTION...
	"$KIN" groups --exact -0 "$@" "$mnt" 2>"$T/said" | tr '\0' '\n' |
		sed "s,$mnt/,,"
}

test_hash() {
	mkdir -p "$src/a"
	same_hash aaaa bbbb >"$src/a/only"
	same_hash bbbb aaaa >"$src/older"
	cp "$src/a/only" "$src/a/twin"
	touch -d @1000000000 "$src/older"
	is "$("$KIN" digest -a xxh128 "$src/older" "$src/a/only" |
		cut -d ' ' -f 1 | uniq | wc -l)" 1 "two contents have one XXH128"
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	unlike "$(listed)" "only" "no content is named for the other one"
	rm "$src/older"
	"$KIN" rescan "$mnt" >/dev/null
	wait_idle "$mnt"
	is "$(listed)" "a/twin" "a copy is"
	ok "it unmounts" unmount "$mnt"
}

# One file by two paths, below a mount that shows both as its own.
test_below() {
	bindfs --ctime-from-mtime "$src/a" "$src/b" 2>/dev/null ||
		mount --bind "$src/a" "$src/b"
	mount_kinfs "$src" "$mnt" -o cross
	wait_idle "$mnt"
	is "$(listed --keep shortest | tr '\n' ' ')" "a/twin " \
		"another path of the file that stays is not named"
	like "$(cat "$T/said")" "not named" "which is said"
	ok "it unmounts" unmount "$mnt"
	umount "$src/b"
}

test_stacked() {
	mkdir "$T"/{low,high,upper,work}
	gen 200000 1 >"$T/low/f"
	touch -d @1577836800 "$T/low/f"
	if bindfs --ctime-from-mtime "$T/low" "$T/high" 2>/dev/null; then
		stays bindfs "$T/high/f" "$T/low/f"
		stays "below bindfs" "$T/low/f" "$T/high/f"
		umount "$T/high"
	else
		skip bindfs "there is none"
	fi
	if mount -t overlay overlay "$T/high" -o \
		"lowerdir=$T/low,upperdir=$T/upper,workdir=$T/work" 2>/dev/null
	then
		stays overlay "$T/high/f" "$T/low/f"
		umount "$T/high"
	else
		skip overlay "it cannot be mounted here"
	fi
	mount --bind "$T/low" "$T/high"
	ok "a bind mount: it is one file" remove "$T/high/f" "$T/low/f"
	ok "which is there" test -f "$T/low/f"
	umount "$T/high"
	mount_kinfs "$T/low" "$T/high"
	stays kinfs "$T/high/f" "$T/low/f"
	ok "it unmounts" unmount "$T/high"
}

# A filesystem that makes up its inode numbers shows one file as two.
test_one_device() {
	mkdir "$T/low"/{real,again}
	gen 150000 2 >"$T/low/real/f"
	mount --bind "$T/low/real" "$T/low/again"
	# shellcheck disable=SC2046 # two lists of flags
	"$CC" -std=c11 -D_GNU_SOURCE -O1 -o "$T/faulty" \
		$(pkg-config --cflags fuse3) -DFUSE_USE_VERSION=314 \
		"$HELPERS/faulty.c" $(pkg-config --libs fuse3) 2>/dev/null ||
		bail "a filesystem that makes up numbers" ""
	echo numbers, >"$T/flaws"
	"$T/faulty" "$T/low" "$T/flaws" -f "$T/high" >"$T/faulty.log" 2>&1 &
	pids+=("$!")
	ok "one is mounted" poll 20 mounted "$T/high"
	isnt "$(stat -c %i "$T/high/real/f")" "$(stat -c %i "$T/high/again/f")" \
		"one file has two numbers"
	stays "one file with two numbers" "$T/high/again/f" "$T/high/real/f"
	umount -l "$T/high"
	umount "$T/low/again"
}

test_image() {
	mkdir "$T"/{once,twice}
	truncate -s 8M "$T/image"
	if mkfs.ext4 -q "$T/image" 2>/dev/null &&
		mount -o loop "$T/image" "$T/once" 2>/dev/null; then
		gen 50000 3 >"$T/once/f"
		sync -f "$T/once"
		loop=$(losetup -r -f --show "$T/image")
		mount -o ro,noload "$loop" "$T/twice"
		stat "$T/twice/f" >/dev/null
		chmod 600 "$T/once/f"
		stays "an image that is mounted twice" "$T/twice/f" "$T/once/f"
		umount "$T/twice" "$T/once"
		losetup -d "$loop"
	else
		skip "an image that is mounted twice" "no loop device"
	fi
}

# Two disks have two files: nothing is left alone without need.
test_two_disks() {
	mount -t tmpfs tmpfs "$T/high"
	cp -p "$T/low/f" "$T/high/f"
	touch "$T/high/f"
	ok "a copy on another disk goes" remove "$T/high/f" "$T/low/f"
	not_ok "it is gone" test -e "$T/low/f"
	ok "it is taken back" "$KIN" dedup --undo "$T/journal"
	is "$(md5sum <"$T/low/f")" "$(md5sum <"$T/high/f")" "with its content"
	umount "$T/high"
}

test_hash
mkdir "$src/b"
test_below
test_stacked
test_one_device
test_image
test_two_disks
finish
