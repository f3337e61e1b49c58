#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Several processes work on the mount and on a plain directory, which then
# hold the same; no digest is ever that of another content; and the daemon
# does not grow.
# shellcheck source=tests/stress/lib.sh disable=SC1091
. tests/stress/lib.sh

rounds=4

test_model() {
	local round first
	mount_kinfs "$src" "$mnt"
	for ((round = 0; round < rounds; round++)); do
		passes "round $round: mount and twin are the same" run_stress \
			"$((seed * 100 + round))" "$((seconds / rounds + 1))" ||
			break
		ok "round $round: so are catalog and files" catalog_agrees
		[ "$round" -gt 0 ] || first=$(resident "$(daemon_pid "$mnt")")
	done
	is_sanitized || between "$(resident "$(daemon_pid "$mnt")")" 0 \
		"$((first * 5 / 4 + 8192))" "the daemon does not grow"
	is "$(daemon_log "$mnt")" "" "and had nothing to say"
	ok "unmount" unmount "$mnt"
}

test_model
finish
