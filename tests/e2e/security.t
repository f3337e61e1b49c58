#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What users of one mount can learn of each other and do to each other, and
# what is left to a daemon that was taken over.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

# ---- the sandbox ----

build_confined() { # the daemon's own sandbox around single system calls
	confined=$T/confined
	# shellcheck disable=SC2046 # words
	"$CC" -std=c11 -D_GNU_SOURCE -I. -Wall -Wextra -pthread -o "$confined" \
		"$HELPERS/confined.c" fs/sandbox.c core/base/err.c \
		$(pkg-config --cflags --libs libseccomp) &&
		chmod 755 "$confined"
}

test_calls() {
	local call
	ok "the sandbox compiles by itself" build_confined
	for call in execve fork socket stream ptrace kill; do
		is "$("$confined" no "$call")" ok "$call works outside"
		is "$("$confined" yes "$call")" EPERM "and not in the sandbox"
	done
	for call in mount unshare module bpf keyctl uring setuid input clock \
		hostname core; do
		is "$("$confined" yes "$call")" EPERM "nor does $call"
	done
	for call in thread log become; do
		is "$("$confined" yes "$call")" ok "but $call does"
	done
	is "$(as_nobody "$confined" yes execve)" ok \
		"an ordinary user's daemon can run fusermount3"
	is "$(as_nobody "$confined" yes execve auto_unmount)" EPERM \
		"but not when it need not"
}

of_threads() { # FIELD: its values in all threads of the daemon
	sed -n "s/^$1:\t*//p" "/proc/$(daemon_pid "$mnt")/task/"*/status |
		sort -u
}

test_daemon() {
	local own
	own=$(sed -n 's/^CapEff:\t*//p' /proc/self/status)
	mount_kinfs "$src" "$mnt" -o allow_other
	wait_idle "$mnt"
	is "$(of_threads Seccomp)" 2 "all threads of the daemon are filtered"
	is "$(of_threads NoNewPrivs)" 1 "and can gain no privileges"
	is "$(printf %x "$((0x$(of_threads CapPrm) & ~0x882000df))")" 0 \
		"and have no capability they do not need"
	is "$(awk '/core/ { print $5, $6 }' \
		"/proc/$(daemon_pid "$mnt")/limits")" "0 0" \
		"the daemon leaves no memory image"
	ok "it unmounts" unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o allow_other,sandbox=no
	is "$(of_threads Seccomp) $(of_threads CapEff)" "0 $own" \
		"-o sandbox=no leaves it as it was"
	ok "it unmounts" unmount "$mnt"
}

mkdir -p "$src"
echo something >"$src/file"
test_calls
test_daemon
finish
