#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests do not come through io_uring, see fs/ops/ops.c: the environment
# does not switch it on either.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

mnt=$T/mnt

if [ "$(cat /sys/module/fuse/parameters/enable_uring 2>&1)" != Y ]; then
	skip "FUSE_URING_ENABLE does not switch io_uring on" \
		"enable_uring of the fuse module is off, or there is none"
	finish
fi
FUSE_URING_ENABLE=1 mount_kinfs "$T/src" "$mnt" -o sandbox=no
ok "the mount answers" alive "$mnt"
unlike "$(cat "/proc/$(daemon_pid "$mnt")/task/"*/comm)" fuse-ring \
	"FUSE_URING_ENABLE does not switch io_uring on"
finish
