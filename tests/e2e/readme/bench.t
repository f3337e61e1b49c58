#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The benchmarks that the README names print their tables.  How large the
# figures are says nothing here: the inputs are as small as can be.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

export BENCH_DIR=$T BENCH_RUNS=1 BENCH_MIB=1
export BENCH_PROGRAMS=${BENCH_PROGRAMS:-$(dirname "$KIN")/tests/bench}

small() { # SUBJECT [SETTING...]
	env "${@:2}" KIN="$KIN" KINFS="$KINFS" scripts/bench "$1" \
		>"$T/table" 2>"$T/errors"
}

has_row() { # NAME FIGURES
	grep -E "^$1( +[0-9.]+ ?%?){$2}" "$T/table"
}

ok "the digests beside other programs" small digest BENCH_SMALL=20
ok "a row of a large file" has_row 'kin digest' 5
ok "a row of small files" has_row 'kin digest -r' 4
ok "a bar" grep -E '^memory of a worker .* reached$' "$T/table"

ok "the mount beside bindfs" \
	small mount BENCH_FILES=20 BENCH_ROWS='stat_warm open'
ok "a row of it" has_row 'stat, warm' 4
is "$(cat "$T/errors")" "" "nothing failed"

ok "a catalog of a thousand contents" small scale BENCH_SCALE=1000
is "$(cat "$T/errors")" "" "nothing failed"

# A peer that is missing is named, with what to do.
mkdir "$T/bin"
for program in bash realpath mktemp dirname rm cat uname nproc sed head getconf; do
	ln -s "$(command -v "$program")" "$T/bin/"
done
not_ok "without bindfs there is no table" small mount PATH="$T/bin"
like "$(cat "$T/errors")" "bench: bindfs is missing: scripts/deps *" \
	"which is said"
is "$(find "$T" -maxdepth 1 -name 'kinfs-bench.*')" "" "nothing is left"
finish
