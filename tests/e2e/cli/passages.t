#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin passages, and what kin similar says of passages once it has read the files.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src mnt=$T/mnt
mkdir "$src"
gen_text 300 1 >"$src/first"
gen_text 300 2 >"$src/second"
# 40 lines of the one, 60 of the other, quoted and in capitals, and its own.
{
	gen_text 50 3
	sed -n 101,140p "$src/first"
	gen_text 30 4
	sed -n '21,80s/^/> /p' "$src/second" | tr "[:lower:]" "[:upper:]"
	gen_text 20 5
} >"$src/made"
{ gen_text 10 6; sed -n 101,140p "$src/first"; } | gzip -n >"$src/packed.gz"
gen_text 200 8 | tr -cd "[:lower:]" | head -c 9000 >"$T/random"
{ printf '\0'; cat "$T/random"; } >"$src/image"
{ gen_text 200 9 | tr -cd "[:lower:]" | head -c 5000; printf '\0'; cat "$T/random"; } >"$src/image2"
gen_text 100 7 >"$src/alone"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"

passages() { # ARGUMENT...: "LINES THERE NAME" of each
	"$KIN" passages "$@" 2>"$T/errors" | sed 1d |
		awk '{ sub(".*/", "", $4); print $1, $3, $4 }'
}
is "$(passages "$mnt/made" | sort -k 3)" "51-90 101-140 first
51-90 11-50 packed.gz
121-180 21-80 second" "where each passage comes from, in both files"
is "$(passages "$mnt/made" | cut -d- -f1 | tr '\n' ' ')" "51 51 121 " \
	"... in the order of the file"
is "$(passages "$mnt/packed.gz" | sort -k 3)" "11-50 101-140 first
11-50 51-90 made" "of what is packed the lines of its text"
is "$(passages "$mnt/image")" "@1-9001 @5001-14001 image2" \
	"of what is no text bytes"
is "$(passages --limit 1 "$mnt/made" | wc -l)" 1 "--limit"
is "$(passages --share-min 3k "$mnt/made")" "121-180 21-80 second" "--share-min"
is "$(passages "$mnt/alone")" "" "a file of its own has none"
like "$(cat "$T/errors")" "alone: no other file has a passage of it" \
	"... and that is said"
"$KIN" passages --json "$mnt/made" >"$T/out"
is "$(tail -n 1 "$T/out" | jq -c .totals)" \
	'{"passages":3,"cut":false,"complete":true}' "--json has totals"
jq -r 'select(.path == "second") | "\(.begin) \(.end)"' "$T/out" >"$T/range"
read -r begin end <"$T/range"
is "$(tail -c +$((begin + 1)) "$src/made" | head -c $((end - begin)) |
	tr -cd 'A-Z0-9')" "$(sed -n 21,80p "$src/second" | tr "[:lower:]" "[:upper:]" |
	tr -cd 'A-Z0-9')" "... and the bytes of each"
refused "a file in no mount" "not in a kinfs mount" \
	"$KIN" passages "$T/random"
refused "nothing to look at" "of which file" "$KIN" passages

# ---- kin similar ----

like "$("$KIN" similar --why --share-min 1k "$mnt/made" "$mnt/second")" \
	'  lines 121-180, there 21-80: 3' "--why says where"
is "$("$KIN" similar --json --why --share-min 1k "$mnt/made" "$mnt/second" |
	jq -c '.passages | map([.lines, .there])')" '[["121-180","21-80"]]' \
	"... in JSON, too"
is "$("$KIN" similar --json --relation shares --share-min 3k "$mnt/made" |
	jq -r 'select(.path) | .path')" "second" \
	"--share-min: files that have a passage as long"

exec 3>>"$mnt/made"
echo more >&3
not_ok "of a file that is being written nothing is known" \
	"$KIN" passages "$mnt/made"
exec 3>&-
finish
