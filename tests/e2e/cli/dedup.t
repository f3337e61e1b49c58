#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin dedup: exact copies become links, shared blocks or nothing; what is not
# an exact copy any more stays; a journal takes all of it back.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
disk=$T/disk
export XDG_STATE_HOME=$T/state

group() { # PATH...: a group of exact copies, as kin groups --json prints it
	local path files=
	for path; do
		files+="${files:+,}{\"path\":\"$path\"}"
	done
	printf '{"members":[{"score":100,"files":[%s]}]}\n' "$files"
}

copies() { # DIRECTORY NAME...: files of the same content
	local name
	for name in "${@:2}"; do
		mkdir -p "$(dirname "$1/$name")"
		gen_text 4000 7 >"$1/$name"
		touch -d '2001-02-03 04:05:06' "$1/$name"
	done
}

dedup() { # ARGUMENT...: with a journal of its own
	mktemp -u "$T/journal-XXXXXX" >"$T/last"
	"$KIN" dedup --journal "$(cat "$T/last")" "$@"
}

undo() { # of the last one
	"$KIN" dedup --undo "$(cat "$T/last")" "$@"
}

inode() {
	stat -c %i "$1"
}

mkdir -p "$src" "$disk"
copies "$src" a one/b two/c
echo "another file" >"$src/other"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
group "$mnt/a" "$mnt/one/b" "$mnt/two/c" >"$T/groups"

# ---- plans ----

before=$(find "$src" -ls)
like "$(dedup "$T/groups")" "2 files would be replaced.*Nothing was changed" \
	"a plan is printed"
is "$(find "$src" -ls)" "$before" "and nothing is changed"
is "$(dedup --json "$T/groups" | grep -c '"done": *false')" 2 \
	"a plan for programs has a line a step"
like "$(dedup --keep "$mnt/two" - <"$T/groups")" "keep +$mnt/two/c" \
	"files below --keep DIR stay"
like "$(cd "$T" && dedup mnt | sed -n 2p)" '[0-9]K  mnt/' \
	"a mount that is named from here has paths from here"
is "$(dedup --min-size 1G "$T/groups" | head -1)" \
	"0 files would be replaced, which frees 0.  Nothing was changed; --apply does it." \
	"small files are left out"

# ---- hard links, through the mount ----

dedup --apply "$T/groups" >"$T/deed" 2>"$T/said"
is $? 0 "copies become hard links"
is "$(cut -d' ' -f2 <"$T/said")" "$(cat "$T/last"):" \
	"and the journal is named before the first step"
is "$(inode "$src/a") $(inode "$src/a")" \
	"$(inode "$src/one/b") $(inode "$src/two/c")" "all of one inode"
wait_idle "$mnt"
is "$(ls "$mnt/.similar/a")" "" "the mount knows that they are one file"
is "$(getfattr -d "$src/a" 2>&1)" "" "no digest became a real attribute"
ok "the catalog is in order" "$KIN" check "$mnt"
ok "it can be undone" undo
is "$(find "$src" -type f -links 1 | wc -l)" 4 "three files again"
is "$(stat -c '%y %a' "$src/one/b")" "$(stat -c '%y %a' "$src/a")" \
	"with their times and modes"
ok "of the same content" cmp "$src/a" "$src/two/c"
is "$(undo --json | grep -o '"restored": *[0-9]*')" \
	'"restored": 0' "a second undo finds nothing to do"
is "$(find "$src" -name '.kin-*')" "" "no temporary file is left"

rescan "$mnt" # the files that came back are to be hashed
like "$(dedup "$mnt")" "2 files would be replaced.*Nothing was changed" \
	"the groups of a mount need not be written to a file"
refused "what is not there" "$T/none: " dedup "$T/none"

# ---- removal ----

ok "copies are removed" dedup --how remove --keep shortest --apply "$T/groups"
is "$(cd "$src" && find . -type f | sort | tr '\n' ' ')" "./a ./other " \
	"one is left"
ok "and come back" undo
ok "with their content" cmp "$src/a" "$src/one/b"

# ---- what is no copy, or may not be replaced ----

echo x >>"$mnt/one/b"
refused "a file of another size is left alone" "one/b: left alone: .*size" \
	dedup --apply "$T/groups"
copies "$mnt" one/b two/c
printf X | dd of="$mnt/one/b" conv=notrunc status=none
touch -d '2001-02-03 04:05:06' "$mnt/one/b"
refused "so is one of other content" "contents differ" \
	dedup --how remove --apply "$T/groups"
is "$(head -c1 "$mnt/one/b")" X "which keeps it"
copies "$mnt" one/b two/c
chmod 600 "$mnt/one/b"
refused "or of another mode" "modes differ" dedup --apply "$T/groups"
ok "unless that is forced" dedup --force-metadata --apply "$T/groups"
copies "$mnt" d/e
if chattr +i "$mnt/d/e" 2>/dev/null; then
	group "$mnt/a" "$mnt/d/e" >"$T/immutable"
	refused "an immutable file is left alone" "not permitted" \
		dedup --how remove --apply "$T/immutable"
	chattr -i "$mnt/d/e"
else
	skip "an immutable file is left alone" "no immutable files here"
fi

# ---- bad input ----

refused "another file than groups" "line 1 is not a group" dedup "$src/other"
for bad in 'x' '[]' '{}' '{"members":[{"files":[{}]}]}' \
	'{"members":[{"score":101,"files":[]}]}' \
	'{"members":[{"size":-1,"files":[]}]}' \
	'{"members":[{"files":[{"path_hex":"6100"}]}]}' \
	'{"root":"relative","members":[]}'; do
	printf '{"members":[]}\n%s\n' "$bad" >"$T/bad"
	refused "no group: $bad" "bad: line 2 is not a group" dedup "$T/bad"
done
refused "no file" "No such file" dedup "$T/nowhere"
refused "a journal that exists" "File exists; nothing was changed" \
	"$KIN" dedup --journal "$src/other" --apply "$T/groups"
refused "undo of another file" "not a journal" "$KIN" dedup --undo "$src/other"
refused "undo of what cannot be read" "Input/output error" \
	"$KIN" dedup --undo /proc/self/mem
refused "a method that is none" "hardlink, reflink or remove" \
	dedup --how symlink "$T/groups"
refused "a directory that is none" "No such file" \
	dedup --keep "$T/nowhere" "$T/groups"
refused "a size that is none" "not a number" dedup --min-size 1x "$T/groups"
ok "unmount" unmount "$mnt"

# ---- shared blocks ----

blocks_used() {
	sync -f "$disk"
	df --output=used -B1 "$disk" | tail -1
}

reflink_on() { # TYPE MKFS...
	local used
	truncate -s 400M "$T/image"
	if ! "${@:2}" "$T/image" >/dev/null 2>&1 ||
		! mount -o loop "$T/image" "$disk" 2>/dev/null; then
		skip "$1: blocks are shared" "no such filesystem here"
		return
	fi
	mkdir "$disk/src"
	head -c 20M /dev/urandom >"$disk/src/a"
	cp --reflink=never "$disk/src/a" "$disk/src/b"
	used=$(blocks_used)
	mount_kinfs "$disk/src" "$mnt"
	wait_idle "$mnt"
	group "$mnt/a" "$mnt/b" >"$T/groups"
	ok "$1: blocks are shared" dedup --how reflink --apply "$T/groups"
	between "$((used - $(blocks_used)))" 15000000 25000000 \
		"$1: twenty megabytes are free"
	ok "$1: the content is the same" cmp "$disk/src/a" "$disk/src/b"
	isnt "$(inode "$disk/src/a")" "$(inode "$disk/src/b")" \
		"$1: and they are two files"
	is "$(getx "$mnt/b" user.kinfs.state)" fresh \
		"$1: which the mount need not read again"
	ok "$1: unmount" unmount "$mnt"
	umount "$disk"
	rm "$T/image"
}

reflink_on XFS mkfs.xfs -q
reflink_on btrfs mkfs.btrfs -q
copies "$disk" a b
group "$disk/a" "$disk/b" >"$T/groups"
if [ "$(stat -f -c %T "$disk")" = ext2/ext3 ] ||
	[ "$(stat -f -c %T "$disk")" = tmpfs ]; then
	refused "a filesystem that cannot share blocks says so" \
		"left alone: .*not supported|Inappropriate|Invalid" \
		dedup --how reflink --apply "$T/groups"
else
	skip "a filesystem that cannot share blocks says so" "this one can"
fi
finish
