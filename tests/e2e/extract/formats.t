#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin-extract: the text of each format, the date of the document, members.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

EXTRACT=${KIN%/*}/kin-extract
cd "$T" || exit 1
mkdir docs
python3 "$HELPERS/documents.py" docs || bail "documents are made" "no"
cd docs || exit 1

text_of() { # FILE: without the empty lines
	"$EXTRACT" "$1" 2>&1 | grep .
}

field() { # FILE EXPRESSION: of the object
	"$EXTRACT" --json "$1" | jq -r "$2"
}

plain=$(cat plain.txt)
for file in plain.txt utf8bom.txt utf16le.txt utf16be.txt utf16bom.txt a.odt \
	a.epub a.pptx a.gz a.xz a.bz2; do
	is "$(text_of $file)" "$plain" "$file: the text"
done
is "$(text_of a.docx)" "$plain
One	twobox
Head" "a.docx: one branch, no field, nothing deleted, the header behind"
is "$(text_of a.xlsx | cut -f 1)" "$plain" "a.xlsx: shared strings in the cells"
is "$(text_of a.xlsx | head -n 1 | cut -f 2)" 0.5 "a.xlsx: numbers"
is "$(text_of a.rtf)" "Привет café
$plain" "a.rtf: fonts' character sets, nothing hidden"
is "$(text_of page.html)" "$plain
a b & cäää" "page.html: no title, no style, entities"
is "$(text_of a.pdf)" "The first line of a text that is in
every document here." "a.pdf: a word that was broken is whole"
is "$(text_of a.eml)" "Größe matters
Ein Café ist offen.
$plain
Head" "a.eml: the subject, the plain branch, what is attached"
is "$(text_of koi8.txt)" "$(cat russian.txt)" "koi8.txt"
thai='เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน'
iconv -f UTF-8 -t cp874 <<<"$thai" >thai.txt
is "$(text_of thai.txt)" "$thai" thai.txt
printf '%s\n' 'いろはにほへとﾁﾘﾇﾙ' | iconv -f UTF-8 -t UTF-16LE >wide.txt
is "$(text_of wide.txt)" いろはにほへとﾁﾘﾇﾙ "UTF-16 without a mark"
is "$(text_of latin1.txt)" \
	"Ein Café auf der Straße ist größer als üblich, und das ist gut." latin1.txt
is "$(text_of cafe.txt)" café "cafe.txt"
is "$(field cafe.txt .guessed)" true "... of which nobody knows the encoding"
is "$(text_of ligature.txt | head -c 24)" "office softhyphen éte o" \
	"ligatures, soft hyphens, accents, marks of direction"
is "$(text_of ligature.txt | tr -d ' ' | wc -c)" 60001 \
	"... also where pieces meet"

is "$(text_of warned.pdf)" "$(text_of a.pdf)" \
	"warned.pdf: a warning of the library ends nothing"
for file in a.docx a.xlsx a.odt a.epub a.pdf xmp.pdf; do
	is "$(field $file .date)" 1614834367 "$file: its date"
done
is "$(field a.eml .date)" 1714564800 "a.eml: its date"
is "$(field plain.txt .date)" null "a text has none"
for file in docx xlsx pptx epub rtf pdf; do
	is "$(cp a.$file other && field other .type)" $file \
		"$file, by its content alone"
done
is "$(field plain.txt .plain)" true "UTF-8 is its own text"
is "$(field koi8.txt .plain)" null "... nothing else"
is "$(field ligature.txt .plain)" null "... nor what normalization changes"
is "$(field random .status)" unsupported "random bytes"
is "$(field old.doc .status)" unsupported "an old .doc"
for bytes in '!<arch>\n' '\xed\xab\xee\xdb' 'MSCF\0\0\0\0' 'Rar!\x1a\x07\1' 070701 \
	'\x1f\x9d\x90' '\x04\x22\x4d\x18' 'LZIP\1' 'hsqs\0' '\x50\x2a\x4d\x18'; do
	printf '%b%200s' "$bytes" x >other
	is "$(field other '.type, .status' | tr '\n' ' ')" "other unsupported " \
		"no format of an archive that is read: $bytes"
done
truncate -s 32769 disc.iso
echo CD001 >>disc.iso
truncate -s 300M disc.iso
is "$(field disc.iso '.type, .status' | tr '\n' ' ')" "other unsupported " \
	"... nor the image of a disc, however large"
for file in a.docx a.pdf plain.txt; do
	cp $file large
	truncate -s 300M large
	is "$(field large .status)" limit "$file with 300 MB of zeros behind it"
done
rm large
is "$(field image.pdf .status)" none "a PDF of pictures has no text"
is "$(field empty .status)" none "nor has an empty file"

is "$(field cipher.pdf '.status, .degraded' | tr '\n' ' ')" "ok true " \
	"a PDF whose fonts do not tell their characters: degraded"
is "$(field a.pdf .degraded)" null "... others are not"

# Archives
members='.. | objects | select(.members | not) | "\(.name) \(.type) \(.status) \(.size)"'
want="plain.txt text ok 249
koi8.txt text ok 169
a.docx docx ok 265
a.pdf pdf ok 57
random unknown ok 5000
empty unknown none 0"
is "$(field a.zip "$members")" "$want" "a.zip: its members"
is "$(field a.tar "$members" | sed 's|^d/||')" "$want" "a.tar: the same"
is "$(field a.tar.gz "$members" | sed 's|^d/||')" "$want" "a.tar.gz: the same"
bsdtar -cf a.7z --format 7zip plain.txt koi8.txt a.docx a.pdf random empty
is "$(field a.7z "$members" | sort)" "$(sort <<<"$want")" "a.7z: the same"
zstd -q plain.txt
is "$(text_of plain.txt.zst)" "$plain" "plain.txt.zst"
is "$(field pdf.zip .type)" zip "a zip that begins with a PDF is a zip"
is "$(field nothing.gz .status)" none "nothing, compressed"
is "$("$EXTRACT" a.zip | cmp - <(cat plain.txt russian.txt;
	"$EXTRACT" a.docx a.pdf; cat random) && echo same)" same \
	"a.zip: members without text come as they are"
is "$(field nested.zip '.. | objects | .type? // empty' | tr '\n' ' ')" \
	"zip zip zip unknown " "nested.zip: to a depth of three"

# What is encrypted
bsdtar -cf locked.zip --format zip --options zip:encryption=zipcrypt \
	--passphrase x plain.txt a.docx
for file in pdf odt docx zip; do
	is "$(field locked.$file .status)" encrypted "locked.$file: encrypted"
	is "$("$EXTRACT" locked.$file 2>/dev/null)" "" "... and has no text"
done

# At the keyboard
refused "a file without text is told" 'image.pdf: there is no text in it' \
	"$EXTRACT" plain.txt image.pdf
refused "no such file" 'none: No such file' "$EXTRACT" none
mkfifo fifo
refused "no pipes" 'fifo: no regular file' "$EXTRACT" fifo
refused "no directories" 'docs: no regular file' "$EXTRACT" ../docs
"$EXTRACT" 2>/dev/null
is $? 2 "which file?"
"$EXTRACT" --no-such-option plain.txt 2>/dev/null
is $? 2 "no such option"
like "$("$EXTRACT" --help)" 'usage: kin-extract' "--help"
like "$("$EXTRACT" --version)" '^kin-extract [0-9]' "--version"
refused "a full disk" 'standard output: No space left' \
	bash -c "exec 3>&1 >/dev/full; '$EXTRACT' plain.txt"

# Without the program for PDF
mkdir "$T/alone"
cp "$EXTRACT" "$T/alone"
is "$("$T/alone/kin-extract" --json a.pdf | jq -r .status)" unsupported \
	"without kin-extract-pdf a PDF has no text"
is "$("$T/alone/kin-extract" --json a.zip | jq -r '.members[3].status')" \
	unsupported "... nor has one in an archive"
is "$("$T/alone/kin-extract" --json a.zip | jq -r '.status')" ok "... which has"
finish
