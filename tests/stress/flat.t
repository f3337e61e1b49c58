#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The daemon's memory does not grow with the number of operations: ten times as
# many small ones on a few names as it takes to be warm, and it is what it was.
# A million and ten million when the test may take long.
# shellcheck source=tests/stress/lib.sh disable=SC1091
. tests/stress/lib.sh

tenth=$((seconds < 60 ? 10000 : seconds < 600 ? 100000 : 1000000))
# KiB; the index has tables of 20 MiB, which take long to fill.
slack=$((seconds < 600 ? 12288 : 4096))

test_flat() {
	local pid round first
	mount_kinfs "$src" "$mnt"
	pid=$(daemon_pid "$mnt")
	for ((round = 0; round < 10; round++)); do
		passes "$tenth operations, part $round" \
			"$STRESS" churn "$mnt" "$((seed * 100 + round))" "$tenth" ||
			break
		wait_idle "$mnt"
		diag "$(own_memory "$pid") KiB, $(memory "$pid" VmRSS)" \
			"with what is mapped"
		[ "$round" -gt 0 ] || first=$(own_memory "$pid")
	done
	is_sanitized || between "$(own_memory "$pid")" 0 "$((first + slack))" \
		"the daemon's memory is what it was"
	ok "catalog and files agree" catalog_agrees
	is "$(daemon_log "$mnt")" "" "the daemon had nothing to say"
	ok "unmount" unmount "$mnt"
}

test_flat
finish
