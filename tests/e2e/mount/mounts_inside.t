#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What is mounted on a directory of the mount stays there, and what is stacked on
# the mount goes on working, whatever is changed behind the mount and wherever
# else something is mounted.  ROUNDS says how often that is tried.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
twin=$T/twin # the second kinfs shows it
rounds=${ROUNDS:-2}

# A new name in each directory is seen, so the kernel has been told of what was
# changed there before.
told() { # NAME DIRECTORY...: relative
	local dir
	for dir in "${@:2}"; do
		stat "$mnt/$dir/$1" >/dev/null 2>&1
		touch "$src/$dir/$1"
	done
	for dir in "${@:2}"; do
		poll 10 test -e "$mnt/$dir/$1" || {
			echo "$dir/$1 is not seen"
			return 1
		}
	done
}

# Of everything: names and attributes, next to the mount points, of these
# directories and below what is mounted, in SOURCE and outside of the mount.
disturb() { # ROUND
	local dir
	for dir in . points points/deep points/deep/er lower; do
		echo "$1" >"$src/$dir/file"
		echo "$1" >"$src/$dir/new-file"
		mv "$src/$dir/new-file" "$src/$dir/replaced"
		mkdir "$src/$dir/directory"
		rmdir "$src/$dir/directory"
		touch "$src/$dir"
	done
	for dir in tmpfs bind image kinfs; do
		touch "$src/points/deep/$dir/covered"
		rm "$src/points/deep/$dir/covered"
		chmod "7$((1 + $1 % 2))5" "$src/points/deep/$dir"
	done
	mount -t tmpfs none "$src/lower-point"
	mount -t tmpfs none "$T/elsewhere"
	poll 10 on_device "$src/lower-point" "$mnt/lower-point" || {
		echo "what is mounted in SOURCE is not seen"
		return 1
	}
	umount -l "$src/lower-point" # the daemon knows files of it
	umount "$T/elsewhere"
	told "round-$1" . points points/deep lower
}

on_device() { # DIRECTORY DIRECTORY: both are empty, and a file makes both full
	touch "$1/here" && test -e "$2/here"
}

there() { # TREE NAME: the file says its name
	[ "$(cat "$1/$2" 2>&1)" = "$2" ] || {
		echo "$1/$2: $(cat "$1/$2" 2>&1)"
		return 1
	}
}

all_there() { # ROUND
	local point
	for point in tmpfs bind image kinfs; do
		there "$mnt/points/deep/$point" "$point" || return
		echo "$1" >"$mnt/points/deep/$point/written"
		[ ! -e "$src/points/deep/$point/written" ] || {
			echo "what was written below $point is in SOURCE"
			return 1
		}
	done
}

is_stacked() { # POINT ROUND: reads what was below, and writes
	there "$T/$1" below && there "$T/$1" deep/er/below &&
		echo "$2" >"$T/$1/deep/er/above" &&
		[ "$(cat "$T/$1/deep/er/above")" = "$2" ] &&
		echo "$2" >>"$T/$1/changed" && mv "$T/$1/changed" "$T/$1/moved" &&
		mv "$T/$1/moved" "$T/$1/changed" &&
		[ "$(find "$T/$1" -name below | wc -l)" -eq 2 ]
}

mount_points() {
	local dir=$mnt/points/deep point
	mount -t tmpfs none "$dir/tmpfs" || return
	mkdir "$T/bound"
	mount --bind "$T/bound" "$dir/bind" || return
	truncate -s 8M "$T/image"
	mkfs.ext4 -q "$T/image" && mount -o loop "$T/image" "$dir/image" ||
		return
	mount_kinfs "$twin" "$dir/kinfs" -o db="$T/db-twin"
	for point in tmpfs bind image kinfs; do
		echo "$point" >"$dir/$point/$point"
	done
}

mount_stacked() { # POINT LOWER UPPER: fails where the kernel cannot
	mkdir -p "$T/$1" "$3/upper" "$3/work"
	mount -t overlay none -o \
		"lowerdir=$2,upperdir=$3/upper,workdir=$3/work" "$T/$1"
}

make_tree() {
	local dir
	mkdir -p "$src"/points/deep/{er,tmpfs,bind,image,kinfs} "$twin" \
		"$src"/{lower-point,upper} "$src/lower/deep/er" "$T/elsewhere" \
		"$T/plain/deep/er" "$T/above"
	for dir in "$src/lower" "$T/plain"; do
		echo below >"$dir/below"
		echo deep/er/below >"$dir/deep/er/below"
		echo below >"$dir/changed"
	done
}

test_rounds() { # NAME COMMAND...: all is well after each round
	local name=$1 round
	shift
	for ((round = 0; round < rounds; round++)); do
		disturb "$round" && "$@" "$round" || return
	done
	diag "$name, $rounds rounds"
}

# ---- what removes a mount, as it would below ----

test_removed() {
	mkdir "$src/points/gone" "$src/points/stays"
	mount -t tmpfs none "$mnt/points/gone"
	mount -t tmpfs none "$mnt/points/stays"
	echo stays >"$mnt/points/stays/stays"
	rmdir "$src/points/gone"
	told removed points
	ok "a directory that is removed behind the mount is gone" \
		poll 10 gone_from_mount points/gone
	ok "what is mounted next to it stays" there "$mnt/points/stays" stays
	mv "$src/points/stays" "$src/points/there"
	mv "$src/points/there" "$src/points/stays"
	told renamed points
	ok "so does what was renamed and got its name again" \
		there "$mnt/points/stays" stays
	umount "$mnt/points/stays"
}

# The kernel asks for a name when the daemon cannot open its directory.
test_no_descriptors() {
	local pid limit
	pid=$(daemon_pid "$mnt")
	limit=$(prlimit --pid "$pid" --nofile --output HARD --noheadings)
	mv "$src/points/deep/tmpfs" "$src/points/deep/there"
	mv "$src/points/deep/there" "$src/points/deep/tmpfs"
	told descriptors points/deep
	prlimit --pid "$pid" --nofile="3:$limit"
	is "$(errno_of find "$mnt/points/deep/tmpfs/tmpfs")" ENOMEM \
		"a name cannot be looked up without descriptors"
	prlimit --pid "$pid" --nofile="$limit:$limit"
	ok "what is mounted there stays" there "$mnt/points/deep/tmpfs" tmpfs
}

gone_from_mount() { # FILE
	! test -e "$mnt/$1"
}

# The names of directories that the kernel has moved expire by the new name.
test_moved() {
	mkdir "$mnt/points/a" "$mnt/points/b"
	echo a >"$mnt/points/a/name"
	stat "$mnt/points/a/name" "$mnt/points/b/other" >/dev/null 2>&1
	mv "$mnt/points/a/name" "$mnt/points/b/other"
	rm "$src/points/b/other"
	ok "a file renamed through the mount and then removed behind it is gone" \
		poll 10 gone_from_mount points/b/other
}

private_namespace
make_tree
mount_kinfs "$src" "$mnt" -o allow_other
ok "things are mounted on directories of the mount" mount_points
ok "they stay, and are what is written to" \
	test_rounds "mount points" all_there
if mount_stacked over-lower "$mnt/lower" "$T/above"; then
	ok "an overlay with a lower layer of the mount" \
		test_rounds "lower layer" is_stacked over-lower
else
	skip "an overlay with a lower layer of the mount" "cannot be mounted"
fi
if mount_stacked over-upper "$T/plain" "$mnt/upper"; then
	ok "an overlay with an upper layer of the mount" \
		test_rounds "upper layer" is_stacked over-upper
else
	skip "an overlay with an upper layer of the mount" "cannot be mounted"
fi
ok "all that was mounted is there in the end" all_there end
test_removed
test_moved
test_no_descriptors
umount "$T/over-lower" "$T/over-upper" 2>/dev/null
ok "the second kinfs is unmounted" unmount "$mnt/points/deep/kinfs"
umount "$mnt"/points/deep/{tmpfs,bind,image}
ok "the daemon is alive" alive "$mnt"
ok "unmount" unmount "$mnt"
finish
