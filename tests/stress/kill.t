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

# 3 says that the daemon died and SOURCE holds what it must.
killed_under_load() { # SEED
	local status=0 worker
	run_stress "$1" 10 "$src" &
	worker=$!
	some_time
	# The mount stays meanwhile: below it is an empty directory.
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
