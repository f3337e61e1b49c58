#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# While somebody waits for the hashing it is done by threads of normal
# priority, on a busy machine too; before and afterwards by threads of the idle
# class.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
library=$T/hold_read.so
waiter=

# The policy of the thread that is at the file, as sched_setscheduler(2) has it.
reader() {
	awk '$2 == "(held)" { print $41 }' \
		"/proc/$(daemon_pid "$mnt")/task/"*/stat 2>/dev/null
}

reader_is() { # POLICY
	[ "$(reader)" = "$1" ]
}

# Only threads of this policy are held from now on.
hold() { # POLICY
	: >"$T/held$1"
	rm -f "$T/held$((5 - $1))"
}

begin_waiting() {
	"$KIN" wait "$mnt" >"$T/waiter.log" 2>&1 &
	waiter=$!
	pids+=("$waiter")
}

# The hurry lasts for a moment: what is changed by then may still be read in it.
changed_is_read_by() { # POLICY
	printf %s "$RANDOM" | dd of="$mnt/large" conv=notrunc status=none
	reader_is "$1"
}

"$CC" -D_GNU_SOURCE -shared -fPIC -o "$library" "$HELPERS/hold_read.c" -ldl ||
	bail "a library that holds readers" "it does not compile"
mkdir "$src"
head -c 40000001 /dev/urandom >"$src/large"
hold 5
HELD_BY=$T/held LD_PRELOAD=$library ASAN_OPTIONS=verify_asan_link_order=0 \
	mount_kinfs "$src" "$mnt"
ok "without a wait the reader is of the idle class" poll 20 reader_is 5
begin_waiting
hold 0
ok "while kin wait runs it is of normal priority" poll 20 reader_is 0
ok "... and the wait is pending" kill -0 "$waiter"
hold 5
ok "kin wait ends" wait "$waiter"
ok "afterwards it is of the idle class again" poll 20 changed_is_read_by 5
rm "$T/held5"
wait_idle "$mnt"
ok "every digest is right" digests_match "$mnt/large"
ok "unmount" unmount "$mnt"
finish
