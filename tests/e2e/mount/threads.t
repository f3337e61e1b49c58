#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The threads that answer requests: those that are stuck below the mount are
# made up for, and what is too many ends.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

fs=$T/fs
mnt=$T/mnt
writers=9 # of ten threads

make_filesystem() {
	mkdir "$fs"
	truncate -s 32M "$fs.image"
	mkfs.ext4 -q -m 0 "$fs.image" && mount -o loop "$fs.image" "$fs"
}

# Thaws, too, when the test ends early: what is frozen cannot be unmounted.
frozen=
thaw() {
	[ -z "$frozen" ] || fsfreeze -u "$fs"
	frozen=
}
trap 'thaw; clean_up' EXIT

threads() { # that serve requests, and the main one
	cat "/proc/$(daemon_pid "$mnt")/task/"*/comm 2>/dev/null |
		grep -cx kinfs
}

stuck() { # COUNT: so many threads of the daemon wait for what is below
	[ "$(grep -ls '^State:.*disk sleep' \
		"/proc/$(daemon_pid "$mnt")/task/"*/status | wc -l)" -ge "$1" ]
}

back_to() { # COUNT: threads; each request is a chance to end for one of them
	stat -f "$mnt" >/dev/null
	[ "$(threads)" -eq "$1" ]
}

# ---- a filesystem that does not answer ----

make_filesystem || bail "a filesystem of its own" "it cannot be mounted"
mount_kinfs "$fs" "$mnt"
for ((i = 0; i < writers; i++)); do
	mkdir "$mnt/$i"
done
echo hello >"$mnt/file"
wait_idle "$mnt"
before=$(threads)
fsfreeze -f "$fs" || bail "freeze it" "fsfreeze fails"
frozen=1
made=()
for ((i = 0; i < writers; i++)); do
	mkdir "$mnt/$i/new" &
	made+=("$!")
done
ok "$writers requests are stuck at once" poll 60 stuck "$writers"
is "$(timeout 600 cat "$mnt/file")" hello "another one is answered"
thaw
ok "those that were stuck are answered when it goes on" wait "${made[@]}"
is "$(find "$mnt" -name new | wc -l)" "$writers" "and did what they should"
ok "the threads that were started for them end" poll 60 back_to "$before"
ok "the mount is unmounted" unmount "$mnt"

# ---- a part of the processors ----

allowed=$(taskset -p -c $$ | sed 's/.*: //')
taskset -p -c "${allowed%%[,-]*}" $$ >/dev/null
mount_kinfs "$fs" "$mnt"
taskset -p -c "$allowed" $$ >/dev/null
for ((i = 0; i < 100; i++)); do
	head -c 100000 /dev/urandom >"$mnt/file$i"
done
wait_idle "$mnt"
ok "one processor: one thread hashes in the background, one is spare" [ "$(cat \
	"/proc/$(daemon_pid "$mnt")/task/"*/comm | grep -cx kinfs-hash-idle)" -le 2 ]
rm "$mnt"/file?*
ok "the mount is unmounted" unmount "$mnt"

# ---- other numbers of threads ----

ends_by() { # SIGNAL: with exit status 0
	kill -s "$1" "$(daemon_pid "$mnt")"
	poll 20 gone "$(daemon_pid "$mnt")" && wait "$(daemon_pid "$mnt")"
}

for options in -f -s; do
	mount_kinfs "$fs" "$mnt" "$options"
	is "$(cat "$mnt/file")" hello "$options: a file is read"
	ok "$options: the mount is unmounted" unmount "$mnt"
	mount_kinfs "$fs" "$mnt" "$options"
	is "$(cat "$mnt/file")" hello "$options: a file is read"
	ok "$options: a signal ends it" ends_by TERM
	not_ok "$options: and nothing is mounted" mounted "$mnt"
done

# ---- unmounted while a thread takes a request ----

aborted=$T/aborted.so
"$CC" -D_GNU_SOURCE -shared -fPIC -o "$aborted" "$HELPERS/aborted_read.c" -ldl ||
	bail "a library whose reads are aborted" "it does not compile"
for options in -f -s; do
	LD_PRELOAD=$aborted ASAN_OPTIONS=verify_asan_link_order=0 \
		mount_kinfs "$fs" "$mnt" "$options"
	ok "$options: unmounted, it ends with success" unmount "$mnt"
done
finish
