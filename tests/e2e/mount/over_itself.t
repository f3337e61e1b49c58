#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A directory is mounted over itself: the daemon works below the mount and
# never asks itself.
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2012
. tests/e2e/lib.sh

dir=$T/tree
other=$T/below # the same directory, where no mount covers it

threads() { # of the daemon
	ls "/proc/$(daemon_pid "$dir")/task" | sort
}

# Requests come from threads.  One that was there from the beginning to the end
# has its number for itself.
own_requests() {
	sed -n 's/.*opcode: \([A-Z]*\).* pid: \([1-9][0-9]*\)$/\2 \1/p' \
		<(daemon_log "$dir") | sort -u |
		join - <(threads | join - "$T/threads")
}

fill() {
	mkdir -p "$dir/sub/deep" "$other"
	gen_text 400 1 >"$dir/one.txt"
	edit_text 5 2 <"$dir/one.txt" >"$dir/sub/two.txt"
	cp "$dir/one.txt" "$dir/sub/deep/three.txt"
	mount --bind "$dir" "$other" # mounts over one are not in the other
	mount --make-private "$other"
}

test_digests() {
	local f
	wait_idle "$dir"
	is "$(status_field "$dir" fresh)" 3 "the scan finds the files below"
	for f in one.txt sub/two.txt sub/deep/three.txt; do
		ok "the digests of $f" digests_match "$dir/$f"
	done
	gen_text 100 3 >"$dir/sub/new.txt"
	ok "those of a new file" digests_match "$dir/sub/new.txt"
	ok "which is below" cmp "$dir/sub/new.txt" "$other/sub/new.txt"
}

test_tree() {
	mkdir "$dir/a"
	mv "$dir/sub/new.txt" "$dir/a/moved.txt"
	ln "$dir/a/moved.txt" "$dir/linked.txt"
	ok "a moved file has its digests" digests_match "$dir/a/moved.txt"
	rm -r "$dir/a"
	is "$(cd "$dir" && find . | sort)" "$(cd "$other" && find . | sort)" \
		"the tree is that below"
	is "$(readlink -f "$dir/sub/..")" "$dir" "the way up leads to the mount"
	is "$(ls -a "$dir/sub/.." | sort)" "$(ls -a "$other" | sort)" \
		"and lists it"
}

test_similar() {
	wait_idle "$dir"
	is "$(ls "$dir/.similar/one.txt" | sed 's/_.*//' | sort -n | tail -n 1)" \
		100 "the listing of a file"
	ok "its links lead to the files" \
		cmp "$dir/.similar/one.txt/100_three.txt" "$dir/one.txt"
	like "$("$KIN" similar "$dir/one.txt")" "$dir/sub/two.txt" \
		"kin similar"
	like "$("$KIN" similar --of "$other/sub/two.txt" "$dir")" \
		"$dir/sub/two.txt" "kin similar --of"
	ok "kin similar of a directory" "$KIN" similar "$dir/sub"
}

test_kin() {
	like "$("$KIN" status "$dir")" "source +$dir" "kin status"
	gen_text 50 7 >"$other/behind.txt"
	ok "kin rescan" rescan "$dir"
	ok "finds what came behind the mount" digests_match "$dir/behind.txt"
	ok "kin wait, from a path in it" \
		"$KIN" wait --timeout 600 "$dir/sub/two.txt"
	like "$("$KIN" check --read "$dir")" "In order" "kin check"
}

unmount_bind() {
	umount "$other"
}

# -d prints who asks.
mount_noisy() { # OPTIONS...
	mount_kinfs "$dir" "$dir" -d "$@"
	threads >"$T/threads"
}

test_all() { # OPTIONS...
	diag "$*"
	mount_noisy "$@"
	test_digests
	test_tree
	test_similar
	test_kin
	is "$(own_requests)" "" "the daemon asks itself for nothing"
	ok "unmount" unmount "$dir"
	is "$(cat "$other/behind.txt")" "$(gen_text 50 7)" "what is left"
	rm "$other/behind.txt" "$other/linked.txt"
}

test_restart() {
	mount_kinfs "$dir" "$dir"
	wait_idle "$dir"
	gen_text 20 8 >"$dir/last.txt"
	ok "a digest before the daemon is killed" digests_match "$dir/last.txt"
	crash "$dir"
	refused "a dead mount is in the way" "fusermount3 -u" \
		timeout 600 "$KINFS" "$dir" "$dir" -o "db=$T/db-dead"
	fusermount3 -u "$dir"
	mount_kinfs "$dir" "$dir"
	wait_idle "$dir"
	ok "after a restart" digests_match "$dir/last.txt"
	refused "a second one" "in use" \
		timeout 600 "$KINFS" "$dir" "$dir" -o "db=$(catalog_of "$dir")"
	ok "and unmount" unmount "$dir"
}

# In the background, by other names and relative ones.
test_names() {
	local db=db=$T/db-names
	ln -s "$dir" "$T/link"
	ok "through a link" timeout 600 "$KINFS" "$T/link" "$dir" -o "$db"
	ok "its digests" digests_match "$dir/one.txt"
	fusermount3 -u "$dir"
	ok "from within" timeout 600 env -C "$dir/sub" "$KINFS" .. ../../tree \
		-o "$db"
	ok "its digests" digests_match "$dir/one.txt"
	fusermount3 -u "$dir"
	refused "a catalog in it" "inside source" \
		timeout 600 "$KINFS" "$dir" "$dir" -o "db=$dir/db"
	mkdir "$T/bound"
	mount --bind "$dir/sub" "$T/bound"
	refused "a catalog in it by a bind mount" "inside source" \
		timeout 600 "$KINFS" "$dir" "$dir" -o "db=$T/bound/db"
	umount "$T/bound"
	printf '#!/bin/sh\nexec "%s" "$@" -o "%s"\n' "$KINFS" "$db" \
		>"$T/kinfs"
	chmod +x "$T/kinfs"
	ok "make mount" env SRC="$dir" MNT="$dir/" KINFS="$T/kinfs" \
		KIN="$KIN" scripts/mount
	ok "which works" digests_match "$dir/one.txt"
	fusermount3 -u "$dir"
	refused "make mount over another directory that is not empty" \
		"not empty" env SRC="$dir" MNT="$T" KINFS="$KINFS" scripts/mount
}

# Another mount is in the tree, and one that covers a directory of it.
test_mounts() {
	mkdir -p "$dir/m"
	mount -t tmpfs tmpfs "$dir/m"
	echo in another filesystem >"$dir/m/f"
	mount_kinfs "$dir" "$dir" -o cross
	wait_idle "$dir"
	ok "a filesystem below" digests_match "$dir/m/f"
	ok "unmount" unmount "$dir"
	umount "$dir/m"
}

fill
test_all
test_all -s
test_all -o passthrough=no,allow_other
test_restart
test_names
test_mounts
unmount_bind
finish
