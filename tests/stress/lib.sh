# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests in this directory share.  STRESS_SECONDS says how long each
# of them keeps the mount busy, about; STRESS_SEED what it does.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

STRESS=$(realpath -m "${STRESS:-build/tests/stress/stress}")
# shellcheck disable=SC2034 # it is theirs
seconds=${STRESS_SECONDS:-8}
seed=${STRESS_SEED:-1}
RANDOM=$seed

src=$T/src
mnt=$T/mnt
twin=$T/twin
mkdir "$src" "$mnt" "$twin"

is_sanitized() {
	grep -qE '__(asan|tsan)_init' "$KINFS"
}

# Random operations on the mount and the twin; 0 when all was well.
run_stress() { # SEED SECONDS [SOURCE]
	"$STRESS" run "$mnt" "$twin" "$1" 6 "$2" "${@:3}"
}

# Everything was hashed that can be: exit status 3 tells of files that cannot.
hashed() {
	local status=0
	timeout 600 "$KIN" wait "$mnt" >/dev/null || status=$?
	[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
}

catalog_agrees() {
	hashed &&
		timeout 600 "$KIN" check --read "$mnt"
}

memory() { # PID WHICH: KiB
	sed -n "s/^$2:[^0-9]*\([0-9]*\).*/\1/p" "/proc/$1/status"
}

resident() { # PID: KiB
	memory "$1" VmRSS
}

# Without the catalog, which is mapped.
own_memory() { # PID: KiB
	memory "$1" RssAnon
}

# The daemon as it is where limits cannot be raised and privileges are few.  The
# leak checker cannot work there.
limited_daemon() { # DESCRIPTORS PRIVILEGES: where it is
	mkdir -p "$T/bin"
	cat >"$T/bin/limited" <<-END
		#!/bin/sh
		# $(grep -a -o -m1 __asan_init "$KINFS" | head -n 1)
		export ASAN_OPTIONS=detect_leaks=0\${ASAN_OPTIONS:+:\$ASAN_OPTIONS}
		exec prlimit --nofile=$1:$1 setpriv $2 -- $KINFS "\$@"
	END
	chmod 755 "$T/bin/limited"
	echo "$T/bin/limited"
}

without() { # CAPABILITIES
	echo "--bounding-set=$1 --inh-caps=$1"
}

no_complaint() { # of few descriptors
	! grep -Ei 'too many|EMFILE' "${log_of[$mnt]}"
}

# The command and its words; a counter-example is worth its seed.
passes() { # NAME COMMAND...
	ok "$@"
	local result=$?
	diag "$(head -n 5 "$T/output")"
	return "$result"
}
