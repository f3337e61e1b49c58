#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin compare by SiSe in its four modes: the paper's Tables 5 and 6, made again
# from the same texts.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

paper=tests/vectors/sise/paper

declare -A signature
for file in "$paper"/quijote/*.txt; do
	name=$(basename "$file" .txt)
	signature[$name]=sise:$("$KIN" digest -a sise - <"$file" |
		sed 's/  -$//')
done

measure() { # A B
	"$KIN" compare -m sise "$1" "$2"
}

# A row's four values: two signatures, file and signature, signature and file,
# two files.  The published program is asked with one thread.
while IFS=$'\t' read -r row col _ _ want; do
	case $row in
	\#*) continue ;;
	esac
	a=$paper/quijote/$row.txt
	b=$paper/quijote/$col.txt
	is "$(measure "${signature[$row]}" "${signature[$col]}")/$(
		measure "$a" "${signature[$col]}"
	)/$(measure "${signature[$row]}" "$b")/$(measure "$a" "$b")" "$want" \
		"$row and $col in four modes"
done <"$paper/table05_06.tsv"

# ---- what the modes are for: sizes that are far apart ----

gen_text 100 1 >"$T/chapter"
{
	gen_text 2000 2
	cat "$T/chapter"
	gen_text 2000 3
} >"$T/book"
chapter=sise:$("$KIN" digest -a sise - <"$T/chapter" | sed 's/  -$//')
book=sise:$("$KIN" digest -a sise - <"$T/book" | sed 's/  -$//')
is "$(measure "$chapter" "$book")" 0 'two signatures have no block size in common'
between "$(measure "$T/chapter" "$T/book")" 1 5 'two files have'
is "$(measure "$T/book" "$T/chapter")" "$(measure "$T/chapter" "$T/book")" \
	'in both orders'
is "$(measure - "$T/chapter" <"$T/book")" 0 \
	'a larger content from a pipe cannot be read again'
is "$(measure - "$T/book" <"$T/chapter")" "$(measure "$T/chapter" "$T/book")" \
	'a smaller one need not be'

finish
