#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A SOURCE whose ctime is the mtime, which anybody may set (sshfs): what is
# changed through the mount is known all the same.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

remote=$T/remote
src=$T/src
mnt=$T/mnt
when=2001-02-03

sftp_server() {
	local path
	for path in /usr/lib/openssh/sftp-server \
		/usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server; do
		[ ! -x "$path" ] || echo "$path"
	done | head -n 1
}

mount_remote() { # without ssh between the two
	local server
	server=$(sftp_server)
	mkdir "$remote" "$src"
	mkfifo "$T/to" "$T/from"
	"$server" <"$T/to" >"$T/from" &
	pids+=("$!")
	sshfs -f -o passive,dcache_timeout=1 ":$remote" "$src" \
		>"$T/to" <"$T/from" 2>"$T/sshfs.err" &
	pids+=("$!")
	poll 20 mounted "$src"
}

overwrite() { # FILE TEXT
	printf '%s' "$2" | dd of="$1" conv=notrunc status=none &&
		touch -d "$when" "$1"
}

ctime_of() {
	stat -c %z "$1"
}

test_written() {
	local before i
	overwrite "$mnt/f" "content 0"
	ok "a file" digests_match "$mnt/f"
	wait_idle "$mnt"
	before=$(ctime_of "$src/f")
	for i in 1 2 3; do
		overwrite "$mnt/f" "content $i"
		ok "written with the mtime put back: $i" digests_match "$mnt/f"
	done
	is "$(ctime_of "$src/f")" "$before" "and its ctime is what it was"
	wait_idle "$mnt"
	ok "later, too" digests_match "$mnt/f"
}

test_open() {
	exec 5<>"$mnt/f"
	printf 'content 4' >&5
	touch -d "$when" "$mnt/f"
	is "$(errno_of getx "$mnt/f" user.xxh128)" ENODATA \
		"written, the mtime put back, and still open: no digest"
	exec 5>&-
	ok "closed" digests_match "$mnt/f"
}

test_touched() {
	chmod 600 "$mnt/f"
	mv "$mnt/f" "$mnt/g"
	ok "chmod and rename" digests_match "$mnt/g"
	mv "$mnt/g" "$mnt/f"
}

test_killed() {
	wait_idle "$mnt"
	exec 5<>"$mnt/f"
	printf 'content 5' >&5
	wait_idle "$mnt" # that it was opened is in the catalog
	touch -d "$when" "$mnt/f"
	crash "$mnt"
	exec 5>&-
	kill_daemon "$mnt"
	mount_kinfs "$src" "$mnt"
	ok "the daemon was killed meanwhile" digests_match "$mnt/f"
}

default_attributes
mount_remote || bail "sshfs" "$(cat "$T/sshfs.err")"
mount_kinfs "$src" "$mnt"
test_written
test_open
test_touched
test_killed
ok "the daemon is alive" alive "$mnt"
ok "unmount" unmount "$mnt"
finish
