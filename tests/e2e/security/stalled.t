#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests of one user that wait below the mount, in all ways at once, stop no
# other user.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

fs=$T/fs
mnt=$T/mnt
b=70002
kinds=(flock lease truncate read mode size name)
each=40 # of a kind; 1 is enough for a thread of its own
declare -A stalls=()

# Leases, and writes that stall with the lock of the file, are of a disk.
make_filesystem() {
	mkdir "$fs"
	truncate -s 64M "$fs.image"
	mkfs.ext4 -q "$fs.image" && mount -o loop "$fs.image" "$fs" &&
		mkdir "$fs/b" "$fs/pub" && chown "$b" "$fs/b" &&
		chmod 777 "$fs/pub"
}

said_or_gone() { # FILE PID
	grep -qs ready "$1" || gone "$2"
}

stall() { # KIND: until the process is killed
	local place=b
	[[ $1 != close && $1 != release ]] || place=b/own
	"$(helper stall)" "$b" "$1" "$fs/$place" "$mnt/$place" "$each" \
		>"$T/said-$1" &
	pids+=("$!")
	stalls[$1]=$!
	poll 60 said_or_gone "$T/said-$1" "$!"
	grep -q ready "$T/said-$1" && return
	wait "$!"
}

# Everything that the mount does, by the user; a limit that nothing reaches.
works() { # UID
	timeout 120 setpriv --reuid="$1" --regid="$1" --clear-groups bash -c '
		cd "$1/pub" && echo content >"new$2" && cat "new$2" &&
			mkdir "dir$2" && mv "new$2" "dir$2/old" &&
			chmod 600 "dir$2/old" && touch "dir$2/old" &&
			truncate -s 3 "dir$2/old" && ls "dir$2" &&
			flock "dir$2/old" true && sync "dir$2/old" &&
			setfattr -n user.x -v y "dir$2/old" &&
			getfattr -d "dir$2/old" && rm -r "dir$2" &&
			ls "$1/.similar/pub"' - "$mnt" "$1"
}

threads() {
	find "/proc/$(daemon_pid "$mnt")/task" -mindepth 1 -maxdepth 1 | wc -l
}

resident_mb() {
	awk '/^VmRSS/ { print int($2 / 1024) }' \
		"/proc/$(daemon_pid "$mnt")/status"
}

waiting() { # KIND: the processes whose request waits
	cat "/proc/${stalls[$1]}/task/${stalls[$1]}/children"
}

end_waiting() { # KIND: the requests, not what they wait for
	# shellcheck disable=SC2046 # numbers
	kill -KILL $(waiting "$1") && poll 60 none_waits "$1"
}

none_waits() { # KIND
	local pid
	for pid in $(waiting "$1"); do
		grep -qs '^State:.*Z' "/proc/$pid/status" || return 1
	done
}

# A filesystem of the user's own, which does not answer when a file is closed.
make_own() {
	mkdir "$T/own" "$fs/b/own" && echo "flush," >"$T/faults" &&
		touch "$T/own"/{close,release}{0..299} &&
		chown -R "$b" "$T/own" "$fs/b/own" &&
		mount_faulty "$T/own" "$fs/b/own" \
			-o allow_other,max_threads=1000
}

make_filesystem || bail "a filesystem of its own" "it cannot be mounted"
make_own || bail "a filesystem of the user's own" "it cannot be mounted"
mount_kinfs "$fs" "$mnt" -o allow_other
echo content >"$mnt/pub/file"
wait_idle "$mnt"
for kind in "${kinds[@]}"; do
	status=0
	stall "$kind" || status=$?
	if [ "$status" -eq 77 ]; then
		skip "requests wait: $kind" "the kernel has no userfaultfd"
		unset "stalls[$kind]"
		continue
	fi
	is "$status" 0 "$each requests of a user wait: $kind"
	is "$(timeout 120 cat "$mnt/pub/file")" content "root reads a file"
done
ok "another user works" works 70001
ok "so does root" works 0
between "$(threads)" 1 230 "not every request has a thread"
between "$(resident_mb)" 1 499 "and little memory is taken"
for kind in lease truncate read flock; do
	ok "requests that wait can be killed: $kind" end_waiting "$kind"
done
kill -KILL "${stalls[@]}"
wait "${stalls[@]}" 2>/dev/null
ok "the user works when nothing waits any more" works "$b"
ok "unmount" unmount "$mnt"

mount_kinfs "$fs" "$mnt" -o allow_other
ok "a user closes 40 files" stall close
each=300
ok "and 300 at once, without waiting for that" stall release
ok "another user works" works 70001
ok "so does root" works 0
between "$(threads)" 100 170 "not every file that is closed has a thread"
: >"$T/faults"
ok "the user works when all are closed" works "$b"
kill -KILL "${stalls[release]}" "${stalls[close]}"
wait "${stalls[release]}" "${stalls[close]}" 2>/dev/null
ok "unmount" unmount "$mnt"
ok "unmount the filesystem of the user" umount "$fs/b/own"

# A wait with the kernel's lock of the directory would stop all who use that.
lock_is_free() {
	touch "$mnt/b/other" && ! gone "${stalls[create]}" &&
		[ -n "$(waiting create)" ] && ! none_waits create
}

mount_kinfs "$fs" "$mnt" -o allow_other,timeout=3600,watch=no
each=1
ok "a user makes a file that there is, with a lease" stall create
ok "others make files beside it meanwhile" lock_is_free
kill -KILL "${stalls[create]}"
wait "${stalls[create]}" 2>/dev/null
ok "unmount" unmount "$mnt"
finish
