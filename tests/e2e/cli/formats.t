#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin digest --format and what else the original programs have; kin compare
# with their files.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

code() { # COMMAND...: its exit code
	"$@" >"$T/.out" 2>"$T/.err"
	echo $?
}

gen_text 400 1 >"$T/a"
{
	cat "$T/a"
	gen_text 20 2
} >"$T/b"
gen_text 400 3 >"$T/other"
mkdir "$T/d"
cp "$T/a" "$T/d/with \"quotes\" and \\"
ln -s ../a "$T/d/link"

# ---- ssdeep, against the program ----

ok 'ssdeep is there' command -v ssdeep
for file in "$T/a" "$T/d/with \"quotes\" and \\" "$T/d/link"; do
	"$KIN" digest --format ssdeep "$file" >"$T/have"
	ssdeep -s "$file" >"$T/want"
	same "ssdeep: ${file##*/} as the program writes it" "$T/have" "$T/want"
done
(cd "$T/d" && "$KIN" digest --format ssdeep ../a) >"$T/have"
(cd "$T/d" && ssdeep -s ../a) >"$T/want"
same 'ssdeep: a relative path' "$T/have" "$T/want"
"$KIN" digest --format ssdeep - <"$T/a" >"$T/have"
ssdeep -s <"$T/a" >"$T/want"
same 'ssdeep: standard input' "$T/have" "$T/want"
"$KIN" digest --format ssdeep -r "$T/a" "$T/d" "$T/other" >"$T/set"
is "$(head -n 1 "$T/set")" 'ssdeep,1.1--blocksize:hash:hash,filename' \
	'one header for all'
is "$(ssdeep -m "$T/set" "$T/a" | grep -c '(100)')" 2 \
	'ssdeep finds the file and its copy in what kin wrote'
ssdeep -s "$T/b" >"$T/b.ssdeep"
is "$("$KIN" compare -m ssdeep "$T/b.ssdeep" "$T/a")" \
	"$(ssdeep -m "$T/b.ssdeep" "$T/a" | sed 's/.*(\(.*\))/\1/')" \
	'compare reads what ssdeep wrote, and says the same'
is "$(code "$KIN" compare -m score "$T/b.ssdeep" "$T/a")" 1 \
	'that alone makes no score'

# ---- SiSe, against the published line format ----

"$KIN" digest --format sise "$T/a" "$T/b" >"$T/set"
printf '%s\n%s,"%s"\n%s,"%s"\n' 'SiSe-1.0--7:1--blocksize:hash,filename' \
	"$("$KIN" digest -a sise - <"$T/a" | sed 's/  -$//')" "$T/a" \
	"$("$KIN" digest -a sise - <"$T/b" | sed 's/  -$//')" "$T/b" >"$T/want"
same 'SiSe: header, signature, quoted absolute path' "$T/set" "$T/want"
is "$("$KIN" compare -m sise "$T/set" "$T/a")" 100 \
	'compare takes the first signature of the file'

# ---- sdhash ----

"$KIN" digest --format sdbf "$T/a" "$T/b" >"$T/set"
like "$(head -n 1 "$T/set")" "^sdbf:03:[0-9]+:$T/a:[0-9]+:sha1:256:5:7ff:160:" \
	'sdbf: a line carries the path as it was given'
is "$(wc -l <"$T/set")" 2 '... a line for a file, no header'
is "$("$KIN" compare -m sdhash "$T/set" "$T/a")" 100 \
	'compare takes the first line of the file'
like "$("$KIN" compare "$T/a" "$T/set")" 'sdhash +100' \
	'... and computes what it needs of the other side'
unlike "$("$KIN" compare "$T/a" "$T/b")" sdhash 'otherwise sdhash is left out'
is "$("$KIN" digest -a sdhash "$T/a" | sed 's/  .*//')" \
	"$("$KIN" digest --sdhash "$T/a" |
		sed -n 's/^user.sdhash="\(.*\)"$/\1/p')" \
	'--sdhash adds what -a sdhash prints'
unlike "$("$KIN" digest "$T/a")" sdhash 'it is not in the default set'
is "$("$KIN" digest -a sdhash - <"$T/a" | cut -d: -f5-9)" \
	"$("$KIN" digest -a sdhash "$T/a" | cut -d: -f5-9)" \
	'a file on standard input is a file'
like "$(head -n 400 "$T/a" | "$KIN" digest -a sdhash -)" \
	"^sdbf-dd:03:11:stdin.0000M:$(head -n 400 "$T/a" | wc -c):" \
	'a pipe comes in blocks, as from sdhash'
printf 'x%.0s' {1..511} >"$T/tiny"
is "$(code "$KIN" digest -a sdhash "$T/tiny")" 1 \
	'a file of 511 bytes has none, and that is said'
mkdir "$T/sizes"
cp "$T/a" "$T/tiny" "$T/sizes"
is "$(code "$KIN" digest -r -a sdhash "$T/sizes")" 0 \
	'... but not when a tree is walked'
is "$(wc -l <"$T/.out")" 1 '... it is passed over'
# A file of several segments, sparse: the lines belong together.
truncate -s 150M "$T/sparse"
"$KIN" digest --format sdbf "$T/sparse" "$T/a" >"$T/set"
is "$(cut -d: -f4 "$T/set" | tr '\n' ' ')" \
	"$T/sparse.0000M $T/sparse.0128M $T/a " \
	'a large file has a line for every 128 MiB'
grep -F "$T/sparse." "$T/set" >"$T/zeros"
is "$(code "$KIN" compare -m sdhash "$T/zeros" "$T/a")" 1 \
	'nothing can be said of zeros'
rm "$T/sparse"

# ---- CSV ----

# What a reader of CSV makes of it, as JSON.
table() { # ARGUMENT...
	"$KIN" digest --format csv "$@" | python3 -c 'import csv, io, json, sys
text = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8",
	errors="surrogateescape", newline="")
for row in csv.DictReader(text, strict=True):
	assert None not in row and None not in row.values()
	print(json.dumps(row, sort_keys=True))'
}
column() { # NAME: of a row on standard input
	python3 -c 'import json, os, sys
for line in sys.stdin:
	sys.stdout.buffer.write(os.fsencode(json.loads(line)[sys.argv[1]]))' "$1"
}

odd=$T/$(printf 'odd\xff\r\nname, "quoted"')
cp "$T/a" "$odd"
is "$("$KIN" digest --format csv "$T/a" | head -n 1)" \
	$'size,sise,simhash,rdc,sif,ssdeep,xxh128,sdhash,tlsh,sha256,pdq,path\r' \
	'csv: a title line'
table "$T/a" >"$T/row"
for name in sise simhash rdc sif ssdeep xxh128; do
	is "$(column "$name" <"$T/row")" \
		"$("$KIN" digest -a "$name" - <"$T/a" | sed 's/  -$//')" \
		"csv: $name"
done
is "$(column size <"$T/row")" "$(stat -c %s "$T/a")" 'csv: the size'
is "$(table "$odd" | column path)" "$odd" 'csv: a name of any bytes'
is "$(table -r "$T/a" "$T/d" "$T/tiny" | wc -l)" 3 'csv: a line for each file'
is "$(column sdhash <"$T/row")" '' 'csv: no sdhash'
is "$(table --sdhash "$T/a" | column sdhash)" \
	"$("$KIN" digest -a sdhash "$T/a" | sed 's/  .*//')" 'csv: with --sdhash'
is "$(code "$KIN" digest --format csv --json "$T/a")" 2 'csv is not JSON'
is "$(code "$KIN" digest --format csv "$T/none" "$T/a")" 1 \
	'csv: a file that is not there'
is "$(wc -l <"$T/.out")" 2 '... and the others are printed'

# ---- hashdeep, against the program ----

ok 'hashdeep is there' command -v hashdeep
mkdir "$T/audit" "$T/audit/empty"
cp "$T/a" "$T/audit/comma, \"quoted\""
cp "$T/b" "$T/audit/$(printf 'odd\xff')"
: >"$T/audit/none"
"$KIN" digest --format hashdeep -r "$T/audit" >"$T/set"
(cd "$T" && hashdeep -c md5,sha256 -r "$T/audit") | grep -v '^[#%]' | sort \
	>"$T/want"
grep -v '^[#%]' "$T/set" | sort >"$T/have"
same 'hashdeep: its lines' "$T/have" "$T/want"
is "$(code hashdeep -a -k "$T/set" -r "$T/audit")" 0 'hashdeep: the audit passes'
echo x >>"$T/audit/none"
ok 'hashdeep: ... and fails when a file changed' \
	test "$(code hashdeep -a -k "$T/set" -r "$T/audit")" != 0
is "$("$KIN" digest --format hashdeep - <"$T/a" | tail -n 1)" \
	"$(stat -c %s "$T/a"),$(md5sum <"$T/a" | cut -c-32),$(
		sha256sum <"$T/a" | cut -c-64),stdin" 'hashdeep: standard input'
nl=$T/audit/$(printf 'new\nline')
cp "$T/a" "$nl"
is "$(code "$KIN" digest --format hashdeep "$nl")" 1 \
	'hashdeep: a name with a line break is refused'

# ---- malformed files ----

printf 'ssdeep,1.1--blocksize:hash:hash,filename\n' >"$T/bad"
is "$(code "$KIN" compare "$T/bad" "$T/a")" 1 'a header alone fails'
like "$(cat "$T/.err")" 'malformed digest' '... and says why'
printf 'SiSe-1.0--7:1--blocksize:hash,filename\n3(2):A::3(2):AA,"x"\n' >"$T/bad"
is "$(code "$KIN" compare "$T/bad" "$T/a")" 1 'a malformed signature fails'
is "$(code "$KIN" compare - "$T/bad" <"$T/a")" 1 '... on either side'

# ---- names that do not fit a line ----

nl=$(printf 'new\nline')
cp "$T/a" "$T/$nl"
is "$(code "$KIN" digest --format ssdeep "$T/$nl" "$T/a")" 1 \
	'a name with a line break is refused'
is "$(wc -l <"$T/.out")" 2 '... and the others are printed'

# ---- functions of the originals that are no attributes ----

# The author's own values.
is "$(printf 'aaaa aaaa aaaa aaaa' | "$KIN" digest --si2 -)" \
	'a3ba4b1670181c9e  -' '--si2 is what its author published'
is "$(printf 'aaaa aaaa bbbb bbbb' | "$KIN" digest --si2 -)" \
	'82aa434634191d5e  -' '... of other text too'
printf 'abcdefgh' >"$T/short"
is "$("$KIN" digest --si2 "$T/a" | cut -c1-16)" \
	"$("$KIN" digest --si2 - <"$T/a" | cut -c1-16)" '... of a file as of standard input'
is "$("$KIN" digest --sif-classic "$T/short")" "-  $T/short" \
	'--sif-classic of a file with no fingerprint'
like "$("$KIN" digest --sif-classic "$T/a")" '^[0-9a-f]{6}00(,[0-9a-f]{6}00)*  ' \
	'--sif-classic prints values whose last 8 bits are zero'

# ---- RDC signatures ----

"$KIN" digest --rdc-signatures tests/vectors/rdc/rfc1320_msrdc.bin >"$T/a.rdc"
is "$(head -c 12 "$T/a.rdc" | od -An -tx1 | tr -d ' \n')" \
	180000000100010001000100 'a signature file has its header'
is "$((($(stat -c %s "$T/a.rdc") - 24) % 18))" 0 'a header and whole records'
is "$(code "$KIN" digest --rdc-signatures "$T/a" "$T/b")" 2 'one file at a time'

# ---- usage ----

is "$(code "$KIN" digest --format tlsh "$T/a")" 2 'an unknown format'
like "$(cat "$T/.err")" 'sise.*ssdeep' '... lists the known ones'
is "$(code "$KIN" digest --si2 -a sise "$T/a")" 2 'two kinds of output'
is "$(code "$KIN" digest --json -a sise "$T/a")" 0 '--json goes with -a'

finish
