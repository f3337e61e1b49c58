#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Names of files have no power over the terminal of who reads them.
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2016
. tests/e2e/lib.sh
private_namespace

# ESC, U+009B, U+202E, U+200B and a byte that is no UTF-8.
name=$'x\e[31m\xc2\x9b\xe2\x80\xaegpj\xe2\x80\x8b\xe9'
shown='x\033[31m\302\233\342\200\256gpj\342\200\213\351'
src=$T/src
mnt=$T/mnt
mkdir -p "$src/$name" "$src/other"
gen_text 300 1 >"$src/$name/$name"
cp "$src/$name/$name" "$src/copy"
touch -d 2020-01-01 "$src/copy" # the older one stays
gen_text 300 1 | edit_text 10 2 >"$src/other/$name"
gen_text 300 3 >"$src/$name/alone"
gen_text 300 4 >"$src/skipped-$name.o"
mount_kinfs "$src" "$mnt" -o 'exclude=*.o'
ok 'everything is hashed' wait_idle "$mnt"
"$KIN" export "$mnt" >"$T/export"
mkdir "$T/none"
mount_kinfs "$T/none" "$T/mnt.none"
"$KIN" ignore "$mnt/copy" "$mnt/other/$name"

safe() { # NAME COMMAND...: prints the name, and in characters that are safe
	"${@:2}" >"$T/out" 2>&1
	# shellcheck disable=SC2001 # each of several characters
	like "$(cat "$T/out")" "$(sed 's/[][\\]/\\&/g' <<<"$shown")" \
		"$1 shows the name"
	is "$(tr -d '\n\t -~' <"$T/out" | od -An -tx1)" '' \
		"$1 prints what is safe alone"
}

safe 'similar' "$KIN" similar "$mnt/copy"
safe 'similar of directories' "$KIN" similar "$mnt/$name" "$mnt/other"
safe 'similar --in' "$KIN" similar --in "$T/export" "$src/copy"
safe 'groups' "$KIN" groups "$mnt"
safe 'a plan' "$KIN" dedup "$mnt"
safe 'missing' "$KIN" missing "$T/export" "$T/mnt.none"
safe 'ignore --list' "$KIN" ignore --list "$mnt"
safe 'status --skipped' "$KIN" status --skipped "$mnt"
safe 'digest' "$KIN" digest "$src/$name/$name"
safe 'an error' "$KIN" compare "$src/$name/none" "$src/copy"
safe 'an error that quotes' "$KIN" compare -m "$name" "$src/copy" "$src/copy"
safe 'an error of kinfs' "$KINFS" -o "threshold=$name" "$src" "$mnt"

# ---- what programs read ----

has_bytes() { # NAME COMMAND...
	"${@:2}" >"$T/out" 2>"$T/err"
	ok "$1 has the bytes" grep -qaF "$name" "$T/out"
}

has_bytes '-0' "$KIN" groups -0 "$mnt"
has_bytes 'digest -a' "$KIN" digest -a xxh128 "$src/$name/$name"
has_bytes '--format' "$KIN" digest --format ssdeep "$src/$name/$name"
is "$("$KIN" digest --json "$src/$name/$name" | jq -r '.path_hex // empty')" \
	"$(printf %s "$src/$name/$name" | od -An -v -tx1 | tr -d ' \n')" \
	'--json has the bytes'

# ---- on a terminal ----

on_terminal() { # COMMAND..., quoted for bash
	SHELL=$BASH script -qec "$(printf '%q ' "$@") 2>/dev/null" /dev/null </dev/null | tr -d '\r'
}

safe 'digest -a on a terminal' on_terminal "$KIN" digest -a xxh128 \
	"$src/$name/$name"
safe '--format on a terminal' on_terminal "$KIN" digest --format ssdeep \
	"$src/$name/$name"
on_terminal "$KIN" digest --json "$src/$name/$name" >"$T/out"
is "$(sed 's/\xef\xbf\xbd//g' <"$T/out" | tr -d '\n\t -~' | od -An -tx1)" '' \
	'--json on a terminal has nothing but what can be printed'

finish
