#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# close() returns before the daemon hears that it was the last one (RELEASE).
# Whoever asks after close() gets the right answer, however late that is.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
mkdir "$src"

state() { # FILE
	getfattr --absolute-names --only-values -n user.kinfs.state "$1"
}

sum() { # FILE: its content's, by another program
	xxhsum -H2 "$1" | cut -d' ' -f1
}

digest() { # FILE
	getfattr --absolute-names --only-values -n user.xxh128 "$1"
}

has_none() { # FILE: no digest, and the answer comes soon
	timeout 30 getfattr -n user.xxh128 "$1" >"$T/none" 2>&1
	[ $? -eq 1 ] && grep -q 'No such attribute' "$T/none"
}

noise() { # SEED
	seq "$1" 7 "$(($1 + 30000))"
}

# ---- threads that do not get on with what they have ----

slow=$T/slow.so
"$CC" -D_GNU_SOURCE -shared -fPIC -o "$slow" "$HELPERS/slow_release.c" -ldl ||
	bail "a library that makes RELEASE slow" "it does not compile"
LD_PRELOAD=$slow ASAN_OPTIONS=verify_asan_link_order=0 mount_kinfs "$src" "$mnt"
"$KIN" wait "$mnt" >/dev/null

noise 1 >"$mnt/waited"
"$KIN" wait "$mnt" >/dev/null
is "$(state "$mnt/waited")" fresh "kin wait covers a file closed just now"

noise 2 >"$mnt/read"
is "$(digest "$mnt/read")" "$(sum "$src/read")" \
	"so does who reads a digest of it"

noise 3 >"$mnt/listed"
digest "$mnt/listed" >"$T/none"
cp "$mnt/listed" "$mnt/listed-too"
is "$(ls "$mnt/.similar/listed-too")" 100_listed \
	"and who lists what is similar to it"

noise 4 >"$src/behind"
noise 5 >"$mnt/rescanned"
"$KIN" rescan "$mnt"
"$KIN" wait "$mnt" >/dev/null
is "$(state "$mnt/rescanned") $(state "$mnt/behind")" "fresh fresh" \
	"and a wait for a scan"

# A descriptor that stays open: its duplicate was closed, and that is all.
exec {held}>"$mnt/held"
(noise 6 >&"$held")
ok "a file that stays open is not waited for" \
	timeout 600 "$KIN" wait "$mnt"
is "$(state "$mnt/held")" busy "it is busy"
ok "nor does who asks for its digest wait" has_none "$mnt/held"
exec {held}>&-
is "$(digest "$mnt/held")" "$(sum "$src/held")" \
	"when it was closed it has a digest"
ok "the mount is unmounted" unmount "$mnt"

# ---- without a library ----

mount_kinfs "$src" "$mnt"
wrong=0
for ((i = 0; i < ${TRIES:-20}; i++)); do
	noise "$i" >"$mnt/one"
	"$KIN" wait "$mnt" >/dev/null
	[ "$(state "$mnt/one")" = fresh ] || wrong=$((wrong + 1))
done
is "$wrong" 0 "kin wait after every close, many times"
ok "the mount is unmounted" unmount "$mnt"
finish
