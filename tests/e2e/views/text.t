#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Texts: copies in another layout, encoding or with other separators are listed
# in .text and by kin similar --text, with 99; other texts, and what is no text,
# are not.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
similar=$mnt/.similar
names() { # VIEW: the names of its links
	find "$similar/$1/" -mindepth 1 -printf '%f\n' | sort | tr '\n' ' '
}

mkdir "$src"
gen_text 40 1 | fold -s -w 70 >"$src/plain"
fmt -w 40 "$src/plain" >"$src/wrapped"
sed 's/^/        /' "$src/plain" >"$src/indented"
unexpand -a "$src/indented" >"$src/tabs"
sed 's/$/\r/' "$src/plain" >"$src/dos"
iconv -t UTF-16 "$src/plain" >"$src/utf16"
iconv -t UTF-16BE "$src/plain" >"$src/utf16be"
iconv -t UTF-32LE "$src/plain" >"$src/utf32le"
copies='dos indented plain tabs utf16 utf16be utf32le wrapped'
gen_text 40 2 >"$src/other"
seq 1000 | sed 's/\(.\)\(.*\)/\1,x\2y,\2\1,&/' >"$src/table.csv"
tr , ';' <"$src/table.csv" >"$src/semicolon.csv"
tr , '\t' <"$src/table.csv" >"$src/tab.csv"
tr , '|' <"$src/table.csv" >"$src/bar.csv"
printf 'caf\xe9 %s\n' $(seq 300) >"$src/latin1"
iconv -f LATIN1 -t UTF-8 "$src/latin1" >"$src/utf8"
head -c 20000 /dev/urandom >"$src/binary"
{ cat "$src/plain" && printf '\0'; } >"$src/nul"
: >"$src/empty"
cp "$src/plain" "$T/outside"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"

# ---- the listing ----

want=
for name in $copies; do
	[ "$name" = plain ] || want+="099_$name "
done
is "$(names plain/.text)" "$want" '.text has all copies of a text, at 99'
want=
for name in $copies; do
	[ "$name" = utf16 ] || want+="099_$name "
done
is "$(names utf16/.text)" "$want" '... of one in UTF-16, too'
unlike "$(names plain)" utf16 'by its bytes that one is not found'
is "$(names table.csv/.text)" '099_bar.csv 099_semicolon.csv 099_tab.csv ' \
	'another separator of a table makes no difference'
is "$(names latin1/.text)" '099_utf8 ' 'ISO 8859-1 is told'
for name in other binary nul empty; do
	is "$(names $name/.text)" '' "$name: nothing has the same text"
done
unlike "$(ls -a "$similar/plain")" '\.text' '.text is not listed'
is "$(getfattr --only-values -n user.kinfs.state "$similar/plain/.text")" \
	complete 'it has a state'
cp "$src/plain" "$mnt/copy"
wait_idle "$mnt"
like "$(names plain/.text)" '100_copy' 'an identical file is listed at 100'
rm "$mnt/copy"
for name in plain wrapped utf16 utf32le; do
	getx "$mnt/$name" user.text.sif
	echo
done >"$T/values"
is "$(sort -u "$T/values" | wc -l)" 1 'they have the same user.text.sif'
is "$(errno_of getx "$mnt/nul" user.text.sif)" ENODATA \
	'what is no text has none'

# ---- kin ----

"$KIN" similar --text "$mnt/plain" >"$T/have"
is "$(grep -c '^ *99 ' "$T/have")" 7 'kin similar --text: the same'
"$KIN" similar --text --of "$T/outside" "$mnt" >"$T/have"
is "$(grep -c '^ *\(99\|100\) ' "$T/have")" 8 '... --of a file outside'
is "$("$KIN" similar --text --json "$mnt/plain" | jq -r .relation)" text \
	'... --json says what it is'
like "$("$KIN" similar "$mnt/plain" | grep dos)" 'dos  same text$' \
	'kin similar says of what it lists whether the text is the same'
unlike "$("$KIN" similar --text "$mnt/plain" | grep "$mnt/dos")" \
	'same text' '... not if the score shows it'
like "$("$KIN" compare "$src/plain" "$src/utf16")" 'text +100' \
	'kin compare: a row for it'
like "$("$KIN" compare "$src/plain" "$src/nul")" 'text +-' \
	'... without a value for what is no text'

"$KIN" groups --text --json "$mnt" >"$T/groups"
is "$(jq -r 'select(.members) | [.members[].files[].path] |
	select(any(endswith("utf16"))) | map(split("/")[-1]) | sort |
	join(" ")' "$T/groups")" "$copies" 'kin groups --text: a group of all copies'
is "$(jq -r 'select(.members) | .members | length' "$T/groups" | sort -n |
	tr '\n' ' ')" '2 4 8 ' '... and those of the others'
unlike "$("$KIN" groups "$mnt")" utf32 'by their bytes they are none'
is "$("$KIN" groups --text --exact "$mnt" 2>"$T/errors"; echo $?)" 2 \
	'--text is not --exact'

# ---- what a caller may not read is not listed ----

chmod 600 "$src/wrapped"
mkdir -m 700 "$src/secret"
iconv -t UTF-16LE "$src/plain" >"$src/secret/hidden"
unmount "$mnt"
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"
like "$(names plain/.text)" 'hidden.*wrapped' 'after a new start all are there'
setpriv --reuid 65534 --regid 65534 --clear-groups \
	ls "$similar/plain/.text" >"$T/have" 2>"$T/errors"
unlike "$(cat "$T/have")" 'hidden|wrapped' \
	'another user sees none that that user cannot read'
like "$(cat "$T/have")" 'utf16be' '... and the others'

# ---- without ----

unmount "$mnt"
mount_kinfs "$src" "$mnt" -o text=no
wait_idle "$mnt"
is "$(names plain/.text)" '' 'text=no: nothing is kept and found'
unlike "$(getfattr -d "$mnt/plain")" text.sif '... nor listed'
unmount "$mnt"
mount_kinfs "$src" "$mnt" -o text=yes,digests=simhash
wait_idle "$mnt"
like "$(names plain/.text)" '099_utf16 ' 'text=yes adds them to digests='

finish
