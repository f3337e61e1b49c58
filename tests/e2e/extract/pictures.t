#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin-extract: hashes of pictures.  One picture has one hash in each form; what is
# cut off, too large or damaged has an answer.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

EXTRACT=${KIN%/*}/kin-extract
cd "$T" || exit 1
mkdir pictures
/usr/bin/python3 "$HELPERS/pictures.py" pictures ||
	bail "pictures are made" "no"
cd pictures || exit 1
"$EXTRACT" --json ./* >../out 2>/dev/null

field() { # FILE EXPRESSION: of the object
	jq -r "select(.name == \"./$1\") | $2" ../out
}

# The bits that differ are few: as many as those of the libraries' own rounding.
alike() { # FILE OTHER MOST
	local a b bits='?'
	a=$(field "$1" .pdq)
	b=$(field "$2" .pdq)
	[ ${#a} -eq 64 ] && [ ${#b} -eq 64 ] &&
		bits=$(python3 -c "print(bin(0x$a ^ 0x$b).count('1'))")
	between "$bits" 0 "$3" "$1: the hash of $2"
}

for file in grey.png palette.png 16bit.png interlaced.png a.jpg progressive.jpg \
	grey.jpg cmyk.jpg a.gif interlaced.gif animated.gif a.webp \
	lossless.webp animated.webp; do
	alike $file a.png 8
done
is "$(field interlaced.png .pdq)" "$(field a.png .pdq)" "... the same bits"
is "$(field interlaced.gif .pdq)" "$(field a.gif .pdq)" "... the same bits"
for file in poor.jpg large.jpg large.png large.webp; do
	alike $file a.png 14
done
for n in 2 3 4 5 6 7 8; do
	is "$(field turned-$n.png .pdq)" "$(field a.png .pdq)" \
		"turned-$n.png: as EXIF says"
	alike turned-$n.jpg a.png 8
	alike turned-$n.webp a.png 8
done
is "$(field turned-6.jpg '"\(.width) \(.height)"')" "480 360" \
	"... and the size as it is shown"
for file in clear.png clear.webp clear.gif clear-palette.png; do
	alike $file white.png 4
done
isnt "$(field other.png .pdq)" "$(field a.png .pdq)" "another picture"

is "$(field plain.png '"\(.status) \(.pdq)"')" "ok null" \
	"plain.png: its hash would say nothing"
for file in a.jpg a.png a.gif a.webp; do
	alike nearly-$file $file 24
	is "$(field half-$file .status)" damaged "half of $file"
done
alike half-progressive.jpg a.png 8
is "$(field huge.png .status)" limit "huge.png: more than 200 megapixels"
is "$(field damaged.jpg .status)" damaged "damaged.jpg"
is "$("$EXTRACT" a.jpg 2>&1)" "kin-extract: a.jpg: there is no text in it" \
	"a picture has no text"
finish
