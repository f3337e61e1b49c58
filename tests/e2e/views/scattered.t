#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Scattered edits: a file in which one byte in twenty was replaced is listed
# with its bytes as score, by every command that scores, and a file of which half
# is new is not.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

# replace_bytes FILE: one byte in twenty by another one.
replace_bytes() {
	perl -0777 -pe 'srand 1; s/(.)/rand() < 0.05 ? chr(ord($1) ^ 1) : $1/seg' \
		"$1"
}

mkdir "$src"
gen_text 800 1 >"$src/plain.txt"
replace_bytes "$src/plain.txt" >"$src/edited.txt"
size=$(stat -c %s "$src/plain.txt")
{
	head -c $((size / 2)) "$src/plain.txt"
	gen_text 800 2 | head -c $((size - size / 2))
} >"$src/half.txt"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"

listing=$(ls "$mnt/.similar/plain.txt")
like "$listing" '^09[0-9]_edited\.txt$' "the edited file is listed"
unlike "$listing" half "the file with a new half is not"
like "$(ls "$mnt/.similar/edited.txt")" '^09[0-9]_plain\.txt$' \
	"and the other way round"
like "$("$KIN" compare "$src/plain.txt" "$src/edited.txt")" \
	'score +9[0-9]' "kin compare says the same"
like "$("$KIN" compare "$src/plain.txt" "$src/half.txt")" \
	'score +[45][0-9]' "a new half counts as such"
like "$("$KIN" similar --why "$mnt/plain.txt" "$mnt/edited.txt")" \
	'^listed: score 9[0-9], threshold 60,.* scattered edits \(by windows [345][0-9]\)$' \
	"kin similar --why says that edits are scattered"
unlike "$("$KIN" similar --why "$mnt/plain.txt" "$mnt/half.txt")" scattered \
	"and not of the new half"
like "$("$KIN" similar --of "$src/plain.txt" "$mnt")" \
	' 9[0-9] .*/edited\.txt' "kin similar --of"
like "$("$KIN" groups "$mnt")" '9[0-9] .*(edited|plain)\.txt' "kin groups"
"$KIN" export "$mnt" >"$T/tree.kin" 2>"$T/errors"
like "$("$KIN" similar --in "$T/tree.kin" "$src/plain.txt")" \
	' 9[0-9] .*edited\.txt' "kin similar --in"
mkdir "$T/other"
cp "$src/edited.txt" "$T/other/"
unmount "$mnt"
mount_kinfs "$T/other" "$mnt"
wait_idle "$mnt"
like "$("$KIN" missing "$T/tree.kin" "$mnt")" '9[0-9].*plain\.txt' \
	"kin missing knows it as a near-duplicate"

finish
