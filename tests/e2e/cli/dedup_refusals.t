#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What kin dedup leaves alone and what it refuses, on ext4, XFS and btrfs, with
# every method: there is a line that says why, and nothing is lost.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
share_programs

mnt=$T/mnt
disk=$T/disk
other=$T/other
export XDG_STATE_HOME=$T/state
mkdir -p "$mnt" "$disk" "$other"
type=
how=

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

group() { # PATH...: a group of exact copies
	local path files=
	for path; do
		files+="${files:+,}{\"path\":\"$path\"}"
	done
	printf '{"members":[{"score":100,"files":[%s]}]}\n' "$files"
}

known_group() { # SIZE XXH128 PATH...: which says what they were
	local line
	line=$(group "${@:3}")
	printf '%s\n' "${line/\"score\":100/\"size\":$1,\"xxh128\":\"$2\"}"
}

copies() { # PATH...: files of the same content
	local path
	for path; do
		mkdir -p "${path%/*}"
		gen 200000 7 >"$path"
		touch -d '2001-02-03 04:05:06' "$path"
	done
}

apply() { # ARGUMENT...: by $how, the groups on stdin
	mktemp -u "$T/journal-XXXXXX" >"$T/last"
	"$KIN" dedup --journal "$(cat "$T/last")" --how "$how" --apply "$@" -
}

undo() {
	"$KIN" dedup --undo "$(cat "$T/last")" "$@"
}

state_of() { # DIRECTORY
	(cd "$1" && find . -type f ! -name '.kin*' -printf '%p %i %m %T@\n' \
		-exec md5sum '{}' + | sort)
}

# The command leaves things alone, says why, and changes nothing.
stays() { # NAME REGEX DIRECTORY COMMAND...
	local before
	before=$(state_of "$3")
	refused "$type, $how: $1" "$2" "${@:4}"
	is "$(state_of "$3")" "$before" "$type, $how: $1: nothing changed"
}

from() { # FILE COMMAND...: with that on stdin
	"${@:2}" <"$1"
}

with_writer() { # FILE COMMAND...: while another program could write to it
	exec 9>>"$1"
	"${@:2}" 9>&-
	local status=$?
	exec 9>&-
	return "$status"
}

# ---- with every method, on every filesystem ----

old_groups() { # DIRECTORY
	local hash
	hash=$(digest "$1/a" xxh128)
	known_group 199999 "$hash" "$1/a" "$1/b" >"$T/groups"
	stays "groups of another size" "another size than the groups say" \
		"$1" from "$T/groups" apply
	known_group 200000 "${hash/[0-9]/a}" "$1/a" "$1/b" |
		sed "s/$hash/${hash//[0-9]/0}/" >"$T/groups"
	stays "groups of another content" "not that of the groups any more" \
		"$1" from "$T/groups" apply
	known_group 200000 nonsense "$1/a" "$1/b" >"$T/groups"
	stays "a hash that is none" "is not a group" "$1" \
		from "$T/groups" apply
}

odd_files() { # DIRECTORY
	mkfifo "$1/fifo"
	ln -s a "$1/link"
	ln -s sub "$1/subs"
	copies "$1/sub/c"
	group "$1/a" "$1/fifo" "$1/link" "$1/sub" >"$T/groups"
	stays "what is no regular file" "not a regular file" "$1" \
		from "$T/groups" apply
	group "$1/a" "$1/subs/c" >"$T/groups"
	stays "a directory that is a link" "symbolic link" "$1" \
		from "$T/groups" apply
	group "$1/a" "$1/../${1##*/}/b" >"$T/groups"
	stays "a path with .." "not a plain path; nothing was changed" "$1" \
		from "$T/groups" apply
	group a ../b | sed "s|^{|{\"root\":\"$1\",|" >"$T/groups"
	stays "a path outside" "leads outside of" "$1" from "$T/groups" apply
	group a /etc/passwd | sed "s|^{|{\"root\":\"$1\",|" >"$T/groups"
	stays "an absolute path outside" "leads outside of" "$1" \
		from "$T/groups" apply
	rm -r "$1/fifo" "$1/link" "$1/subs" "$1/sub"
}

writers() { # DIRECTORY
	group "$1/a" "$1/b" >"$T/groups"
	[ "$how" = reflink ] || {
		stays "open for writing" "open for writing" "$1" \
			with_writer "$1/b" from "$T/groups" apply
		stays "kept, and open for writing" "open for writing" "$1" \
			with_writer "$1/a" from "$T/groups" apply
	}
	mount -o remount,ro "$disk"
	stays "read-only" "Read-only|not permitted|Bad file" "$1" \
		from "$T/groups" apply
	mount -o remount,rw "$disk"
	chattr +i "$1/b"
	stays "immutable" "not permitted" "$1" from "$T/groups" apply
	chattr -i "$1/b"
}

other_users() { # DIRECTORY
	group "$1/a" "$1/b" >"$T/groups"
	mktemp -u "/tmp/kinfs-journal-XXXXXX" >"$T/last"
	stays "files of another user" "denied|not permitted" "$1" \
		from "$T/groups" as_nobody "$KIN" dedup --apply \
		--journal "$(cat "$T/last")" --how "$how" -
	stays "a journal of another user" "another user may have written" \
		"$1" undo
	rm -f "$(cat "$T/last")"
}

other_disks() { # DIRECTORY
	copies "$other/x" "$other/y"
	group "$1/a" "$other/x" >"$T/groups"
	if [ "$how" = remove ]; then
		ok "$type, $how: a copy on another disk" \
			from "$T/groups" apply --keep "$1"
		not_ok "$type, $how: is gone" test -e "$other/x"
		ok "$type, $how: and comes back" undo
	else
		stays "a copy on another disk" "no copy is on its filesystem" \
			"$1" from "$T/groups" apply
	fi
}

links_and_holes() { # DIRECTORY
	ln "$1/a" "$1/a2"
	group "$1/a" "$1/a2" >"$T/groups"
	like "$(from "$T/groups" apply)" "1 path is a hard link of a kept" \
		"$type, $how: hard links already"
	rm "$1/a2"
	truncate -s 3M "$1/hole"
	head -c 3M /dev/zero >"$1/zeros"
	touch -d '2001-02-03' "$1/hole" "$1/zeros"
	group "$1/hole" "$1/zeros" >"$T/groups"
	ok "$type, $how: a sparse file and one that is not" \
		from "$T/groups" apply --keep shortest
	ok "$type, $how: which can be undone" undo
	is "$(md5sum <"$1/zeros")" "$(head -c 3M /dev/zero | md5sum)" \
		"$type, $how: with its zeros"
	rm "$1/hole" "$1/zeros"
}

full_disk() { # DIRECTORY
	fallocate -l "$(df --output=avail -B1 "$disk" | tail -n 1)" \
		"$disk/filler" 2>/dev/null ||
		dd if=/dev/zero of="$disk/filler" bs=1M status=none 2>/dev/null
	dd if=/dev/zero of="$disk/filler2" bs=1k status=none 2>/dev/null
	sync -f "$disk"
	group "$1/a" "$1/b" >"$T/groups"
	from "$T/groups" apply >"$T/said" 2>&1
	ok "$type, $how: a disk that is full loses nothing" \
		test "$(md5sum <"$1/a")" = "$(gen 200000 7 | md5sum)"
	rm -f "$disk/filler" "$disk/filler2"
	ok "$type, $how: and undo works then" undo
	is "$(md5sum <"$1/b")" "$(gen 200000 7 | md5sum)" \
		"$type, $how: and gives the content back"
}

# What the groups say and name is looked at before any filesystem is: once for
# each method.
declare -A looked_at=()

all_refusals() { # DIRECTORY
	if [ -z "${looked_at[$how]:-}" ]; then
		looked_at[$how]=1
		old_groups "$1"
		odd_files "$1"
		other_users "$1"
	fi
	writers "$1"
	other_disks "$1"
	links_and_holes "$1"
	full_disk "$1"
	is "$(find "$disk" -name '.kin-*')" "" \
		"$type, $how: no temporary file is left"
}

refusals_on() { # TYPE MKFS...
	type=$1
	if ! make_disk "${@:2}"; then
		skip "$type: refusals" "no such filesystem here"
		return
	fi
	for how in hardlink reflink remove; do
		[ "$type $how" != "ext4 reflink" ] || continue
		copies "$disk/$how/a" "$disk/$how/b"
		all_refusals "$disk/$how"
	done
	end_disk
}

refusals_on ext4 mkfs.ext4 -q
refusals_on XFS mkfs.xfs -q
refusals_on btrfs mkfs.btrfs -q

# ---- a mount, and the tree below it ----

type=mount
how=remove
src=$T/src
copies "$src/a" "$src/b"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
group "$mnt/a" "$src/a" >"$T/groups"
stays "one file by two paths" "the kept file itself, by another path" "$src" \
	from "$T/groups" apply
group "$src/a" "$mnt/a" >"$T/groups"
stays "or the other way round" "the kept file itself, by another path" "$src" \
	from "$T/groups" apply
how=hardlink
group "$mnt/a" "$mnt/b" >"$T/groups"
stays "open for writing below the mount" "open for writing" "$src" \
	with_writer "$src/b" from "$T/groups" apply
copies "$mnt/sub/a" "$mnt/sub/b"
mkdir "$T/bound"
if mount --bind "$mnt/sub" "$T/bound" 2>/dev/null; then
	group "$T/bound/a" "$T/bound/b" >"$T/bound-groups"
	stays "open for writing below a directory of it, mounted elsewhere" \
		"open for writing" "$src" \
		with_writer "$src/sub/b" from "$T/bound-groups" apply
	umount "$T/bound"
else
	skip "open for writing below a directory of it, mounted elsewhere" \
		"cannot bind mount"
fi
rm -r "$mnt/sub"
stays "a --keep that protects nothing" "no file of the groups is below" \
	"$src" from "$T/groups" apply --keep "$src"
ok "what kin groups prints is what kin dedup reads" \
	bash -c '"$1" groups --json "$2" | "$1" dedup \
		--journal "$3" --apply -' - "$KIN" "$mnt" "$T/piped"
is "$(stat -c %i "$src/a")" "$(stat -c %i "$src/b")" "and acts upon"
cp "$T/piped" "$T/cut"
sed -i '2s/.$//' "$T/cut"
refused "a journal that is damaged" "not a journal.*nothing was changed" \
	"$KIN" dedup --undo "$T/cut"
chmod g+w "$T/piped"
refused "a journal that others may write to" "another user may have" \
	"$KIN" dedup --undo "$T/piped"
chmod g-w "$T/piped"
ok "one that is whole is used" "$KIN" dedup --undo "$T/piped"
isnt "$(stat -c %i "$src/a")" "$(stat -c %i "$src/b")" "for two files again"
mkdir -m 777 "$T/open"
refused "a directory that everybody may write to" "may write to the directory" \
	from "$T/groups" "$KIN" dedup --journal "$T/open/j" --apply -
chmod 4755 "$src/a"
refused "set-user-ID files, whatever is forced" "set-ID bits" \
	from "$T/groups" apply --force-metadata
ok "unmount" unmount "$mnt"
finish
