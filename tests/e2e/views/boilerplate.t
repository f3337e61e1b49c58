#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Boilerplate: files that share a licence alone are not listed, whatever their
# score is; versions of one file are; .all and kin similar --relation
# boilerplate show them, and
# --why says which is which.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
similar=$mnt/.similar
names() { # VIEW: the names of its links, without their scores
	find "$similar/$1/" -mindepth 1 -printf '%f\n' | sed 's/^[0-9]*_//' |
		sort | tr '\n' ' '
}

# 800 sources with one licence, and two versions of one of them.
mkdir -p "$src/others"
gen_text 28 1 >"$T/licence"
for n in {1..800}; do
	echo "$src/others/$n.c =$T/licence 12:7$n"
done | gen_files
# 130 with another one, as a directory of one project has.
mkdir "$src/fewer"
gen_text 26 5 >"$T/header"
for n in {1..130}; do
	echo "$src/fewer/$n.c =$T/header 14:6$n"
done | gen_files
gen_text 12 3 >"$T/body"
{ cat "$T/licence" "$T/body"; } >"$src/old.c"
{ cat "$T/licence" && head -n 6 "$T/body" && gen_text 6 4; } >"$src/new.c"
mount_kinfs "$src" "$mnt" -o threshold=40,limit=100
wait_idle "$mnt"

is "$(names old.c)" "new.c " "the other version is listed, and nothing else"
is "$(names others/7.c)" "" "unrelated files with the licence are not"
is "$(names fewer/7.c)" "" "... nor those with one that 130 files have"
is "$(names old.c/.all | wc -w)" 100 ".all has as many of them as the limit says"
like "$(ls "$similar/old.c/.all")" '0[5-8][0-9]_[0-9]+\.c' \
	"with the percentage that is the same"
is "$(getfattr --only-values -n user.kinfs.state "$similar/old.c/.all")" \
	"cut:100" "the state of .all tells that there are more"

# ---- kin similar ----

like "$("$KIN" similar -v "$mnt/old.c" 2>"$T/errors")" \
	"[0-9]+ +version .*/new.c" "kin similar: the other version is listed"
unlike "$("$KIN" similar "$mnt/old.c" 2>"$T/errors")" others/ "nothing else"
"$KIN" similar --relation boilerplate -v "$mnt/old.c" >"$T/all" 2>"$T/errors"
is "$(wc -l <"$T/all")" 100 \
	"kin similar --relation boilerplate: a line for each, and titles"
is "$(grep -c '^ *[0-9]* *boilerplate *[0-9] .*others/' "$T/all")" 99 \
	"they share nearly nothing that is distinctive"
is "$("$KIN" similar --relation boilerplate --json "$mnt/old.c" 2>"$T/errors" |
	grep -c '"relation": "boilerplate"')" 99 "--json says so, too"
for n in 1 2 3; do
	{ cat "$T/licence" "$T/body" && gen_text 1 "8$n"; } >"$mnt/version$n.c"
done
"$KIN" wait "$mnt" 2>"$T/errors"
is "$("$KIN" similar --relation boilerplate --limit 1 "$mnt/old.c" \
	2>"$T/errors" | wc -l)" 2 "--limit is of the boilerplate, not of versions"
rm "$mnt"/version[123].c
"$KIN" wait "$mnt" 2>"$T/errors"
like "$("$KIN" similar --of "$src/old.c" "$mnt" 2>"$T/errors" |
	grep '/old.c')" '^ +100  copy' "--of: an identical file is a copy"
"$KIN" similar "$mnt/others/7.c" >"$T/all" 2>"$T/errors"
like "$(cat "$T/errors")" 'the nearest, .*, is [0-9]+ %, but mere boilerplate' \
	"where nothing is listed, it is said what was left out"
"$KIN" similar --relation boilerplate "$mnt/old.c" >"$T/all" 2>"$T/errors"
like "$("$KIN" similar --why "$mnt/old.c" "$mnt/new.c")" \
	'^listed: version; score [0-9]+, threshold 40, distinctive [0-9]+; ' \
	"--why: a version is listed"
unrelated=$(grep -o 'others/.*' "$T/all" | head -n 1)
like "$("$KIN" similar --why "$mnt/old.c" "$mnt/$unrelated")" \
	'^not listed: mere boilerplate; score [0-9]+, .*distinctive [0-9]; ' \
	"--why: an unrelated file is boilerplate"
gen_text 40 99 >"$mnt/alone"
"$KIN" wait "$mnt" 2>"$T/errors"
like "$("$KIN" similar --why "$mnt/old.c" "$mnt/alone")" \
	'^not listed: the score is below the threshold; score 0, threshold 40' \
	"--why: nothing in common"
ok "a pair is ignored" "$KIN" ignore "$mnt/old.c" "$mnt/new.c"
like "$("$KIN" similar --why "$mnt/old.c" "$mnt/new.c")" \
	'^not listed: the pair is ignored.*score' "--why: the pair is ignored"
refused "--why of a directory" "directory" \
	"$KIN" similar --why "$mnt/others" "$mnt/new.c"
refused "--why of a file of elsewhere" "not a file of the mount|not in" \
	"$KIN" similar --why "$mnt/old.c" "$src/new.c"
refused "--why of one file" "two files" "$KIN" similar --why "$mnt/old.c"

# ---- the threshold does not matter ----

unmount "$mnt"
mount_kinfs "$src" "$mnt" -o threshold=1,limit=100
wait_idle "$mnt"
is "$(names others/7.c)" "" "nor are unrelated files listed at threshold 1"

finish
