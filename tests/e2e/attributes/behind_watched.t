#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Where changes behind the mount are told, the kernel keeps what it knows for
# minutes, and what others change is seen and hashed all the same.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
out=$T/out # on the same filesystem, not below SOURCE

# The kernel asks for the attributes each time, and is told to keep them for
# long from the second time on.
know() { # FILE...: relative
	local i
	for i in 1 2 3; do
		stat --cached=never "${@/#/$mnt/}" >/dev/null 2>&1
	done
	ls -l "$mnt" >/dev/null
}

shown() { # TREE FILE
	stat -c '%f %s %h %y %z' "$1/$2" 2>&1 | sed "s|$1||"
}

same_shown() { # FILE...
	local file
	for file; do
		[ "$(shown "$mnt" "$file")" = "$(shown "$src" "$file")" ] ||
			return 1
	done
}

# A change that is not told is seen after minutes only.
seen() { # NAME FILE...
	ok "$1 is seen" poll 10 same_shown "${@:2}"
}

has() { # FIELD VALUE: of the status
	[ "$(status_field "$mnt" "$1")" = "$2" ]
}

at_least() { # FIELD VALUE
	[ "$(status_field "$mnt" "$1")" -ge "$2" ]
}

test_files() {
	local file
	mkdir -p "$src/d"
	for file in gone moved mode short text; do
		gen_text 20 1 >"$src/d/$file"
	done
	know d d/new d/gone d/moved d/there d/mode d/short d/text
	gen_text 20 2 >"$src/d/new"
	seen "a new file" d/new d
	rm "$src/d/gone"
	seen "a file removed" d/gone d
	mv "$src/d/moved" "$src/d/there"
	seen "a file renamed" d/moved d/there
	# The names are known anew, too.
	know d/mode d/short d/text
	chmod 600 "$src/d/mode"
	seen "a mode" d/mode
	truncate -s 10 "$src/d/short"
	seen "a new size" d/short
	echo more >>"$src/d/text"
	seen "a write" d/text
	ok "and its content" cmp "$mnt/d/text" "$src/d/text"
	gen_text 20 3 >"$out/other"
	know d/text
	mv "$out/other" "$src/d/text"
	seen "a file replaced" d/text
	ok "and its content" cmp "$mnt/d/text" "$src/d/text"
}

test_links() {
	echo text >"$src/first"
	know first second
	ln "$src/first" "$src/second"
	seen "a link" first second
	ln "$src/first" "$out/third"
	know first
	echo more >>"$out/third"
	seen "a write by another link, outside of SOURCE," first
	know first
	rm "$out/third"
	seen "a link removed outside of SOURCE" first
}

test_mapping() {
	local answer pid
	gen_text 100 5 >"$src/mapped"
	touch -d 2020-01-01 "$src/mapped"
	know mapped
	coproc STORE { exec "$(helper mapstore)" "$src/mapped"; }
	pid=$STORE_PID
	echo first >&"${STORE[1]}"
	read -r -t 600 answer <&"${STORE[0]}"
	is "$answer" stored "a store to a mapping behind the mount"
	unlike "$(shown "$src" mapped)" ' 2020-' "has moved the times"
	seen "that, while it is mapped," mapped
	know mapped
	eval "exec ${STORE[1]}>&-"
	wait "$pid"
	seen "and when it is closed" mapped
}

test_directories() {
	mkdir -p "$src/tree/sub" "$out/arrives/sub"
	echo text >"$src/tree/sub/file"
	echo text >"$out/arrives/sub/file"
	know tree tree/sub tree/sub/file renamed renamed/sub/file \
		arrives arrives/sub/file
	mv "$src/tree" "$src/renamed"
	seen "a directory renamed" tree tree/sub/file renamed renamed/sub/file
	know renamed/sub renamed/sub/file
	mv "$src/renamed" "$out/left"
	seen "a directory moved out of SOURCE" renamed renamed/sub/file
	mv "$out/arrives" "$src/arrives"
	seen "a directory moved into SOURCE" arrives arrives/sub/file
	know arrives/sub arrives/sub/file
	echo more >"$src/arrives/sub/file"
	seen "what is changed in it then" arrives/sub/file
	know arrives arrives/sub
	rm -r "$src/arrives/sub"
	mkdir "$src/arrives/sub"
	echo other >"$src/arrives/sub/file"
	seen "a directory made anew" arrives arrives/sub arrives/sub/file
}

same_names() { # DIRECTORY
	[ "$(ls "$mnt/$1")" = "$(ls "$src/$1")" ]
}

test_mounts() {
	mkdir "$src/point"
	know point point/inside
	mount -t tmpfs none "$src/point" || {
		skip "a filesystem mounted below SOURCE" "cannot mount"
		return
	}
	touch "$src/point/inside"
	ok "a filesystem mounted below SOURCE is seen" poll 10 same_names point
	umount -l "$src/point" # the daemon knows files of it
	ok "and that it is gone" poll 10 same_names point
}

test_random() {
	mkdir "$src/random"
	ok "500 random changes are each seen" \
		"$(helper behind)" "$src/random" "$mnt/random" 500 7
	diag "$(cat "$T/output")"
}

# Nobody looks at the files: the daemon says how many it has hashed.
test_hashing() {
	local before
	wait_idle "$mnt"
	before=$(status_field "$mnt" hashed.files)
	gen_text 50 20 >"$src/d/alone"
	ok "a new file is hashed without anybody looking" \
		poll 10 at_least hashed.files "$((before + 1))"
	mkdir -p "$src/deep/er/and"
	gen_text 50 21 >"$src/deep/er/and/deeper"
	ok "and one in new directories" \
		poll 10 at_least hashed.files "$((before + 2))"
	gen_text 50 22 >"$src/d/alone"
	ok "and one that is written to" \
		poll 10 at_least hashed.files "$((before + 3))"
	mv "$out/left" "$src/left"
	ok "and one that comes with its directory" \
		poll 10 at_least hashed.files "$((before + 4))"
}

test_elsewhere() {
	local scans i
	wait_idle "$mnt"
	scans=$(status_field "$mnt" scan.scans)
	for i in {1..2000}; do
		echo "$i" >"$out/busy-$i"
	done
	rm "$out"/busy-*
	ok "what happens elsewhere comes to an end" poll 20 has watch.lost 0
	wait_idle "$mnt"
	is "$(status_field "$mnt" scan.scans)" "$scans" \
		"and makes nothing to be scanned"
}

test_status() {
	like "$("$KIN" status "$mnt")" 'behind +watched' \
		"kin status says that changes are watched"
	is "$(as_nobody getfattr --absolute-names --only-values \
		-n user.kinfs.status "$mnt" | grep -o '"watch": {[^}]*}')" \
		'"watch": {"on": true}' "other users are told no more than that"
}

same_size_open() { # FILE: which is open as 5
	[ "$(stat -L -c %s /dev/fd/5)" = "$(stat -c %s "$src/$1")" ]
}

# A queue of a few events, of which the group that is made then has one.
queue=/proc/sys/fs/fanotify/max_queued_events

test_overflow() {
	local before hashed i
	before=$(cat "$queue")
	if [ -z "$before" ] || ! echo 32 >"$queue" 2>/dev/null; then
		skip "lost events" "the length of the queue cannot be set"
		return
	fi
	mount_kinfs "$src" "$mnt"
	echo "$before" >"$queue"
	for i in {1..100}; do
		echo "$i" >"$src/lost-$i"
	done
	wait_idle "$mnt"
	know lost-{1..200}
	exec 5<"$mnt/lost-100"
	stat -L --cached=never /dev/fd/5 /dev/fd/5 >/dev/null
	hashed=$(status_field "$mnt" hashed.files)
	kill -STOP "$(daemon_pid "$mnt")"
	for i in {1..100}; do
		echo more >>"$src/lost-$i"
		echo new >"$src/lost-$((i + 100))"
	done
	kill -CONT "$(daemon_pid "$mnt")"
	ok "a program that has a file open sees what events were lost of" \
		poll 10 same_size_open lost-100
	exec 5<&-
	seen "what events were lost of" lost-{1..200}
	ok "and counted" at_least watch.lost 1
	ok "and scanned for" poll 10 at_least hashed.files "$((hashed + 200))"
	ok "unmount" unmount "$mnt"
}

test_off() {
	mount_kinfs "$src" "$mnt" -o watch=no
	ok "watch=no watches nothing" has watch.on 0
	like "$("$KIN" status "$mnt")" 'behind +not watched' "kin status says so"
	know d/text
	echo more >>"$src/d/text"
	seen "a write is seen, later," d/text
	ok "unmount" unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o timeout=1
	ok "with timeout= changes are watched" has watch.on 1
	ok "and the kernel keeps nothing longer" has watch.kept 0
	ok "unmount" unmount "$mnt"
}

test_user() {
	share_programs
	open_fuse_to_all
	mkdir "$T/user" "$T/user-mnt" "$T/user-state"
	echo text >"$T/user/file"
	chown -R 65534:65534 "$T/user" "$T/user-mnt" "$T/user-state"
	as_nobody env HOME="$T/user-mnt" "$KINFS" "$T/user" "$T/user-mnt" \
		-o "db=$T/user-state/db" 2>"$T/output" ||
		bail "a mount of an ordinary user" "$(cat "$T/output")"
	like "$(as_nobody getfattr --absolute-names --only-values \
		-n user.kinfs.status "$T/user-mnt")" '"on": false' \
		"for an ordinary user nothing is watched"
	as_nobody fusermount3 -u "$T/user-mnt"
}

private_namespace
mkdir -p "$src" "$out"
mount_kinfs "$src" "$mnt" -o allow_other
if ! has watch.kept 1; then
	skip "changes behind the mount are told" "not by this kernel, or here"
	finish
fi
test_files
test_links
test_mapping
test_directories
test_mounts
test_random
test_hashing
test_elsewhere
test_status
ok "the daemon is alive" alive "$mnt"
ok "unmount" unmount "$mnt"
test_overflow
test_off
test_user
finish
