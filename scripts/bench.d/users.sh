# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# The time that requests of root and of a user take while another user does at once all
# that may hold others up: requests that wait below the mount, files closed on a
# filesystem that does not answer, open listings and directories, copies in deep
# paths, questions, files written and closed.  Needs root.  Part of scripts/bench,
# which reads this file.

users_seconds=20
users_kinds=(flock lease truncate read mode size name)
users_pids=()

users_stop()
{
	local mount

	if [ ${#users_pids[@]} -gt 0 ]; then
		kill -KILL "${users_pids[@]}"
		wait "${users_pids[@]}"
		users_pids=()
	fi 2>/dev/null
	for mount in users/mount users/fs/b/own users/fs; do
		! mountpoint -q "$top/$mount" 2>/dev/null ||
			umount -l "$top/$mount"
	done
}

users_make()
{
	local helpers=$here/../tests/e2e/helper

	mkdir -p users/{fs,mount,own}
	chmod 755 "$top"
	cp "$kin" users/kin
	# shellcheck disable=SC2046 # options
	cc -std=c11 -D_GNU_SOURCE -O1 -o users/stall "$helpers/stall.c" &&
		cc -std=c11 -D_GNU_SOURCE -O1 -DFUSE_USE_VERSION=314 \
			-o users/faulty "$helpers/faulty.c" \
			$(pkg-config --cflags --libs fuse3) || return
	truncate -s 1G users/image
	mkfs.ext4 -q users/image && mount -o loop users/image users/fs ||
		return
	python3 "$here/bench.d/users.py" fill "$top/users/fs" || return
	mkdir users/fs/b/own
	touch users/own/release{0..39}
	chown -R 70002 users/own users/fs/b
	echo flush, >users/faults
	users/faulty users/own "$top/users/faults" -f -o max_threads=1000 \
		-o attr_timeout=0,entry_timeout=0,negative_timeout=0 \
		-o allow_other users/fs/b/own 2>/dev/null &
	users_pids+=($!)
	until mountpoint -q users/fs/b/own; do sleep 0.05; done
}

# users_start WORD COMMAND...: until it says so
users_start()
{
	"${@:2}" >users/said &
	users_pids+=($!)
	until grep -qs "$1" users/said; do
		kill -0 $! 2>/dev/null || die "users: failed: ${*:2}"
		sleep 0.05
	done
}

users_attack()
{
	local kind

	# Not as many as he may have, as he would get nothing else then.
	users_start ready users/stall 70002 release users/fs/b/own \
		users/mount/b/own 40
	for kind in "${users_kinds[@]}"; do
		users_start ready users/stall 70002 "$kind" users/fs/b \
			users/mount/b 8
	done
	users_start ready env KIN="$top/users/kin" \
		python3 "$here/bench.d/users.py" attack 70002 "$top/users/mount"
}

# users_time TITLE: the requests of root and of a user at the same time
users_time()
{
	local uid times=()
	local -A name=([0]=root [70001]=user)

	for uid in 0 70001; do
		python3 "$here/bench.d/users.py" time "$uid" "$top/users/mount" \
			"$users_seconds" >"users/times.$uid" &
		times+=($!)
	done
	while kill -0 "${times[@]}" 2>/dev/null; do
		users_look
		sleep 0.5
	done
	wait "${times[@]}"
	echo "$1"
	for uid in 0 70001; do
		while IFS=$'\t' read -r kind median p99 most count; do
			printf '%-24s %9.2f %9.2f %9.2f %9d\n' \
				"${name[$uid]}: $kind" "$median" "$p99" "$most" \
				"$count"
		done <"users/times.$uid"
	done
}

users_look()
{
	local pid

	for pid in $(daemons); do
		awk '/^VmRSS|^Threads/ { print $1, $2 }' "/proc/$pid/status"
	done >>users/status
}

users_most() # KEY
{
	awk -v key="$1:" '$1 == key && $2 > most { most = $2 }
		END { print most }' users/status
}

bench_users()
{
	[ "$(id -u)" = 0 ] || die "users: only root can be several users"
	need cc mkfs.ext4 python3 pkg-config
	users_make || die "users: what they have cannot be made"
	"$kinfs" "$top/users/fs" users/mount -o "allow_other,db=$top/users/db" ||
		die "kinfs failed"
	"$kin" wait users/mount >/dev/null || die "kin wait failed"
	printf '\n%-24s %9s %9s %9s %9s\n' 'users: milliseconds' median p99 \
		most requests
	users_time quiet
	: >users/status
	users_attack
	users_time "beside a user who takes all that there is"
	cat users/times.* >users/all
	bar 'median of a kind' '<= 100' ms \
		"$(cut -f 2 users/all | sort -n | tail -n 1)"
	bar 'slowest request' '<= 1000' ms \
		"$(cut -f 4 users/all | sort -n | tail -n 1)"
	bar 'memory of the daemon' '<= 500' MiB \
		"$(($(users_most VmRSS) / 1024))"
	echo "threads of the daemon: $(users_most Threads)"
	users_stop
}
