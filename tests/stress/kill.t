#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The daemon is killed at random moments under load.  What had been done is
# there, what had been synced too; after the next mount every digest is that
# of its file.
# shellcheck source=tests/stress/lib.sh disable=SC1091
. tests/stress/lib.sh

# A time from 0.2 to 2.2 seconds that the seed decides.
some_time() {
	local ms=$((RANDOM % 2000 + 200))
	sleep "$((ms / 1000)).$(printf '%03d' $((ms % 1000)))"
}

threads_are_gone() { # PID
	[ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" -le 1 ]
}

# One of its threads may be in the kernel, writing out a mapping: it waits for
# a page that another caller of the dead daemon waits with, and as long as it
# lives nobody is told that the daemon is dead.  kinfs(8) knows of it.
kill_and_cut_off() { # MOUNTPOINT
	local pid
	pid=$(daemon_pid "$1")
	kill -KILL "$pid"
	poll 10 threads_are_gone "$pid" && return
	diag "a page is waited for: the connection is cut"
	mkdir -p "$T/connections"
	mounted "$T/connections" ||
		mount -t fusectl fusectl "$T/connections"
	echo 1 >"$T/connections/$(mountpoint -d "$1" | cut -d: -f2)/abort"
}

# 3 says that the daemon died and SOURCE holds what it must.
killed_under_load() { # SEED
	local status=0 worker
	run_stress "$1" 10 "$src" &
	worker=$!
	some_time
	# The mount stays meanwhile: below it is an empty directory.
	kill_and_cut_off "$mnt"
	crash "$mnt"
	wait "$worker" || status=$?
	umount -l "$mnt"
	[ "$status" -eq 3 ]
}

test_killed() { # ROUND
	mount_kinfs "$src" "$mnt"
	passes "killed, round $1: nothing is lost" \
		killed_under_load "$((seed * 1000 + $1))" || return
	rsync -aHX --delete --ignore-times "$src/" "$twin/"
	mount_kinfs "$src" "$mnt"
	ok "round $1: every digest is that of the file" \
		"$STRESS" digests "$mnt"
	ok "round $1: catalog and files agree" catalog_agrees
	unlike "$(daemon_log "$mnt")" 'damage|set aside' \
		"round $1: the catalog was not damaged"
	if [ $((RANDOM % 2)) -eq 0 ]; then
		kill_daemon "$mnt"
	else
		ok "round $1: unmount" unmount "$mnt"
	fi
}

rounds=$((seconds / 3 + 1))
for ((round = 0; round < rounds; round++)); do
	test_killed "$round" || break
done
finish
