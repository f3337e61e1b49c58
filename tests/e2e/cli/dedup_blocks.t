#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin dedup --blocks: near-duplicates on XFS and btrfs share their equal blocks,
# at the same offset and at others.  Contents and times stay, the space is free
# afterwards, and what cannot be done is said.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

mnt=$T/mnt
disk=$T/disk
export XDG_STATE_HOME=$T/state
mkdir -p "$mnt" "$disk"

# Where there are no nodes for loop devices, there may be the devices.
loop_nodes() {
	local n
	for n in 0 1 2 3 4 5 6 7; do
		[ -e "/dev/loop$n" ] || mknod "/dev/loop$n" b 7 "$n" || return
	done 2>/dev/null
}

make_disk() { # MKFS...: a filesystem of 400 MB on $disk
	loop_nodes
	truncate -s 400M "$T/image"
	"$@" "$T/image" >/dev/null 2>&1 &&
		mount -o loop "$T/image" "$disk" 2>/dev/null
}

end_disk() {
	umount "$disk"
	rm -f "$T/image"
}

blocks() { # ARGUMENT...: no content changes, so no journal is needed
	"$KIN" dedup --blocks --journal /dev/null/none "$@"
}

pair() { # FILE FILE ARGUMENT...: of a group of these two
	printf '{"members":[{"score":100,"files":[{"path":"%s"}]},%s}]}\n' \
		"$1" "{\"score\":80,\"files\":[{\"path\":\"$2\"}]" >"$T/pair"
	blocks "${@:3}" "$T/pair"
}

used() {
	sync -f "$disk"
	df --output=used -B1 "$disk" | tail -1
}

field() { # NAME: of the first line of JSON on stdin
	head -1 | grep -o "\"$1\": *[0-9]*" | grep -o '[0-9]*$'
}

# 40 MB of which a block in a hundred differs.
make_images() { # DIRECTORY
	gen 40960000 1 >"$1/disk.img"
	cp --reflink=never "$1/disk.img" "$1/disk-old.img"
	perl -e 'open my $f, "+<", shift or die;
		for (my $n = 50; $n < 10000; $n += 100) {
			seek $f, 4096 * $n, 0;
			printf $f "changed %04d", $n;
		}' "$1/disk-old.img"
}

# What one has at the end of it, and what one has in the middle.
make_others() { # DIRECTORY
	gen 10000123 2 >"$1/log.1"
	{ gen 10000123 2 && gen 500000 3; } >"$1/log"
	{ gen 4096000 4 && gen 4096000 5; } >"$1/v1.tar"
	{ gen 4096000 4 && gen 81920 6 && gen 4096000 5; } >"$1/v2.tar"
	head -c 5M /dev/zero >"$1/zeros"
	truncate -s 5M "$1/hole"
}

state_of_all() { # DIRECTORY
	(cd "$1" && md5sum -- * && stat -c '%n %s %y %a %i' -- *)
}

expect_sharing() { # TYPE NAME LEAST KEEP REPLACE: LEAST bytes become free
	local before gain freed
	before=$(used)
	gain=$(pair "$4" "$5" --json | field bytes)
	between "$gain" "$3" $(($3 + 700000)) "$1: $2: the plan says what is won"
	is "$(used)" "$before" "$1: $2: and changes nothing"
	freed=$(pair "$4" "$5" --json --apply | field bytes)
	between "$freed" $(($3 - 100000)) $(($3 + 700000)) \
		"$1: $2: so much is freed"
	between "$((before - $(used)))" $(($3 - 300000)) $(($3 + 1000000)) \
		"$1: $2: and the filesystem says so"
	pair "$4" "$5" --json >"$T/again"
	is "$(field bytes <"$T/again")" 0 "$1: $2: a second run wins nothing"
	between "$(field shared_before <"$T/again")" "$3" \
		$(($3 + 700000)) "$1: $2: as it is shared"
}

near_groups() { # a group as kin groups --json prints it
	local name=$1
	cat <<-EOF
		{"root":"$mnt","group":1,"threshold":60,"saved_exact":0,"saved_near":1,"members":[
		{"score":100,"head":true,"files":[{"path":"disk.img"}]},
		{"score":99,"files":[{"path_hex":"$(printf %s "$name" | od -An -tx1 | tr -d ' \n')"},{"path":"copy.img"}]}]}
	EOF
}

through_a_mount() { # TYPE
	local before freed
	rm -rf "${disk:?}"/*
	mkdir "$disk/src"
	make_images "$disk/src"
	cp --reflink=never "$disk/src/disk-old.img" "$disk/src/copy.img"
	mv "$disk/src/disk-old.img" "$disk/src/old"$'\xff'
	mount_kinfs "$disk/src" "$mnt"
	wait_idle "$mnt"
	near_groups "old"$'\xff' | tr -d '\n' >"$T/groups"
	before=$(used)
	ok "$1: groups of a mount share blocks" \
		blocks --apply "$T/groups"
	freed=$((before - $(used)))
	between "$freed" 79000000 82500000 \
		"$1: near-duplicates with the head, copies with each other"
	is "$(getx "$mnt/copy.img" user.kinfs.state)" fresh \
		"$1: the mount need not read them again"
	ok "$1: unmount" unmount "$mnt"
}

sharing_on() { # TYPE MKFS...
	local before
	if ! make_disk "${@:2}"; then
		skip "$1: blocks are shared" "no such filesystem here"
		return
	fi
	make_images "$disk"
	make_others "$disk"
	touch -d '2001-02-03 04:05:06.789' "$disk"/*
	before=$(state_of_all "$disk")
	expect_sharing "$1" "changed blocks" 40500000 \
		"$disk/disk.img" "$disk/disk-old.img"
	expect_sharing "$1" "a log that grew" 9990000 \
		"$disk/log.1" "$disk/log"
	expect_sharing "$1" "other offsets" 8192000 \
		"$disk/v1.tar" "$disk/v2.tar"
	is "$(state_of_all "$disk")" "$before" \
		"$1: contents, times, modes and inodes are as before"
	ok "$1: what is shared can be shared again" \
		pair "$disk/v1.tar" "$disk/v2.tar" --apply
	is "$(pair "$disk/zeros" "$disk/hole" --json | field bytes)" 0 \
		"$1: a hole has nothing to win"
	gen 100000 1 >"$T/elsewhere"
	refused "$1: not with another filesystem" "another filesystem" \
		pair "$disk/disk.img" "$T/elsewhere" --apply
	through_a_mount "$1"
	end_disk
}

sharing_on XFS mkfs.xfs -q
sharing_on btrfs mkfs.btrfs -q

if make_disk mkfs.ext4 -q; then
	make_others "$disk"
	refused "ext4: a plan says that it cannot" "cannot share blocks" \
		pair "$disk/log.1" "$disk/log"
	refused "ext4: so does --apply" "cannot share blocks" \
		pair "$disk/log.1" "$disk/log" --apply
	end_disk
else
	skip "ext4: a plan says that it cannot" "no ext4 here"
fi
if make_disk mkfs.xfs -q -m reflink=0; then
	make_others "$disk"
	refused "XFS without reflink says so" "cannot share blocks" \
		pair "$disk/log.1" "$disk/log"
	end_disk
else
	skip "XFS without reflink says so" "no such filesystem here"
fi

refused "--blocks and hard links" "goes with --how reflink alone" \
	blocks --how hardlink "$T/groups"
refused "a file that is not there" "none of the files can be used" \
	pair "$T/nowhere" "$T/nowhere2"
finish
