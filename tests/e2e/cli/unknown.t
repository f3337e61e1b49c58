#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin similar tells "nothing is similar" from "that is not known".
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2016
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

make_tree() {
	local n
	mkdir -p "$src/a" "$src/b" "$src/many"
	gen_text 200 1 >"$src/a/report"
	cp "$src/a/report" "$src/copy"
	cp "$src/a/report" "$src/b/report"
	gen_text 200 2 >"$src/alone"
	gen_text 200 3 >"$src/held"
	gen_text 200 4 >"$src/skipped.o"
	echo unreadable >"$src/failed"
	for n in $(seq 40); do
		mkdir "$src/many/$n"
		gen_text 100 5 >"$src/many/$n/text"
	done
}

similar() { # ARGUMENTS...: exit code in $code, output in $T/out, $T/err
	code=0
	timeout 600 "$KIN" similar "$@" >"$T/out" 2>"$T/err" || code=$?
}

field() { # NAME: of the totals that similar --json printed
	perl -MJSON::PP -e 'my @o = map { decode_json $_ } <STDIN>;
		my $v = $o[-1]{totals}{$ARGV[0]};
		print !defined $v ? "-" : JSON::PP::is_bool($v) ?
			($v ? "true" : "false") : $v' "$1" <"$T/out"
}

unknown() { # PATH REASON WORDS
	similar "$mnt/$1"
	is "$code" 3 "$2: exit status 3"
	like "$(cat "$T/err")" "$1: not known.*$3" "$2: it is said why"
	similar --json "$mnt/$1"
	is "$code $(field complete) $(field reason)" "3 false $2" \
		"$2: --json says so"
}

test_known() {
	similar --json "$mnt/alone"
	is "$code $(field complete) $(field reason)" "0 true -" \
		"nothing is similar: complete"
	like "$(cat "$T/err")" "alone: nothing here resembles it" "and that is said"
	similar "$mnt/a/report"
	is "$code" 0 "a file with copies"
	similar --json "$mnt/a" "$mnt/b"
	is "$code $(field complete)" "0 true" "two directories"
}

test_unknown() {
	unknown skipped.o skipped:exclude exclude
	similar --why "$mnt/alone" "$mnt/skipped.o"
	is "$code" 3 "--why of a file that is not hashed"
	like "$(cat "$T/err")" "skipped.o: not known" "names that file"
	exec {held}>>"$mnt/held"
	echo more >&"$held"
	unknown held busy writing
	exec {held}>&-
	wait_idle "$mnt"
	similar --json "$mnt/held"
	is "$code $(field complete)" "0 true" "known after close()"
}

test_directories() {
	cp "$src/skipped.o" "$src/b"
	similar --json "$mnt/a" "$mnt/b"
	is "$code $(field complete) $(field reason)" "3 false incomplete" \
		"a directory with a file that is not hashed"
	like "$(cat "$T/err")" '1 file has no digests' "and says so"
	chmod 700 "$src/many/1"
	share_programs
	code=0
	as_nobody "$KIN" similar --json "$mnt/a" "$mnt/many" >"$T/out" \
		2>"$T/err" || code=$?
	is "$code $(field complete) $(field reason)" "3 false incomplete" \
		"a directory that the caller cannot read"
	like "$(cat "$T/err")" 'many/1: Permission denied' "is named"
	similar "$mnt/many/1"
	unlike "$(cat "$T/err")" 'limit' \
		"-o limit is not blamed for a list of directories that was cut"
	refused "a directory and the whole mount" inside \
		"$KIN" similar "$mnt/a" "$mnt"
}

# Without waiting, a file that was never looked at is pending.
test_pending() {
	unmount "$mnt"
	rm -r "$T/db"
	mount_kinfs "$src" "$mnt" -o "db=$T/db,wait=0,exclude=*.o"
	"$KIN" pause "$mnt"
	gen_text 100 9 >"$mnt/new"
	unknown new pending "not hashed"
	"$KIN" resume "$mnt"
}

make_tree
mount_kinfs "$src" "$mnt" -o "db=$T/db,exclude=*.o,allow_other"
wait_idle "$mnt"
test_known
test_unknown
test_directories
test_pending
finish
