#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin compare, and what kin says about itself.
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2016
. tests/e2e/lib.sh

gen_text 600 1 >"$T/a"
edit_text 10 2 <"$T/a" >"$T/b"
gen_text 600 3 >"$T/other"
cp "$T/a" "$T/copy"

measure() { # NAME A B
	"$KIN" compare -m "$1" "$2" "$3"
}

code() { # COMMAND...
	"$@" >/dev/null 2>&1
	echo "$?"
}

is "$(measure score "$T/a" "$T/copy")" 100 'identical files score 100'
between "$(measure score "$T/a" "$T/b")" 65 97 'an edited copy scores high'
between "$(measure score "$T/a" "$T/other")" 0 40 'unrelated text scores low'
is "$(measure score "$T/a" "$T/b")" "$(measure score "$T/b" "$T/a")" \
	'the order does not matter'
head -n 300 "$T/a" >"$T/half"
between "$(measure score "$T/a" "$T/half")" 40 52 'half a file scores 50'
is "$(measure xxh128 "$T/a" "$T/b")" 0 'xxh128 of different files'
is "$(measure user.xxh128 "$T/a" "$T/copy")" 100 'xxh128 of equal files'
is "$(measure score - "$T/copy" <"$T/a")" 100 '- is standard input'
like "$("$KIN" compare "$T/a" "$T/b" | tr '\n' ' ')" \
	'^score .*sise .*simhash .*distance .*rdc .*traits .*sif .*ssdeep .*xxh128 ' \
	'all measures side by side'

# ---- digests instead of files ----

for name in sise simhash rdc sif ssdeep xxh128; do
	text=$(digest "$T/b" "$name")
	is "$(measure "$name" "$name:$text" "$T/a")" \
		"$(measure "$name" "$T/b" "$T/a")" "$name:TEXT for a file"
done
"$KIN" digest "$T/b" >"$T/b.digests"
for name in sise simhash rdc sif ssdeep xxh128 score; do
	is "$(measure "$name" "$T/b.digests" "$T/a")" \
		"$(measure "$name" "$T/b" "$T/a")" \
		"$name of what kin digest printed"
done
"$KIN" digest "$T/a" >"$T/a.digests"
is "$(measure score "$T/a.digests" "$T/a.digests")" 100 \
	'digests of the same file are identical'
is "$(code "$KIN" compare -m score simhash:0123456789abcdef \
	simhash:0123456789abcdef)" 1 'without a sketch there is no score'
is "$(measure simhash simhash:0123456789abcdef simhash:0123456789abcdef)" 100 \
	'... but the measure of the digest'
is "$(code "$KIN" compare -m sise simhash:0123456789abcdef "$T/a")" 1 \
	'a measure that is missing on one side fails'
is "$(code "$KIN" compare simhash:xyz "$T/a")" 1 'a malformed digest fails'
refused 'a sketch of an earlier version' 'earlier version of kinfs' \
	"$KIN" compare sif:sif4:AAAAAA "$T/a"
is "$(code "$KIN" compare "$T/missing" "$T/a")" 1 'a missing file fails'
mkfifo "$T/fifo"
is "$(code timeout 600 "$KIN" compare "$T/fifo" "$T/a")" 1 \
	'a FIFO is not opened'
cp "$T/a" "$T/sise:name"
is "$(cd "$T" && measure score ./sise:name a)" 100 \
	'./ makes a file of what looks like a digest'

# ---- both ways ----

measures() { # of the lines of kin compare --json on stdin
	jq -cS 'del(.a, .b)'
}

: >"$T/none"
head -c 90000 /dev/zero >"$T/zeros"
gen_text 6000 1 >"$T/large"
head -c 300 "$T/large" >"$T/small"
tail -c 40000 "$T/large" >"$T/end"
edit_text 30 5 <"$T/large" >"$T/large.edited"
set -- none zeros small end large large.edited half other
while [ $# -gt 1 ]; do
	for b in "${@:2}"; do
		"$KIN" compare --json "$T/$1" "$T/$b" >&3
		"$KIN" compare --json "$T/$b" "$T/$1" >&4
	done
	shift
done 3>"$T/pairs" 4>"$T/reverse"
is "$(wc -l <"$T/pairs")" 28 "all pairs of eight files"
same "every measure of them, both ways" <(measures <"$T/pairs") \
	<(measures <"$T/reverse")

# ---- lists ----

seq 4000 8000 >"$T/far"
seq 2990 >"$T/near"
seq 3000 >"$T/like"
for format in ssdeep sdbf sise; do
	name=${format/sdbf/sdhash}
	"$KIN" digest --format "$format" "$T/far" "$T/near" >"$T/list"
	"$KIN" digest --format "$format" "$T/near" "$T/far" >"$T/turned"
	"$KIN" digest --format "$format" "$T/near" >"$T/single"
	want=$(measure "$name" "$T/single" "$T/like")
	isnt "$want" 0 "$format: a list of one digest"
	is "$(measure "$name" "$T/list" "$T/like") $(measure "$name" \
		"$T/like" "$T/turned")" "$want $want" \
		"$format: of several the best counts, in whatever order"
	like "$("$KIN" compare "$T/list" "$T/like")" \
		'^a .*/near, the best of 2' "$format: it is named"
	is "$("$KIN" compare --json "$T/like" "$T/list" |
		jq -r .b_best | xargs -n 1 basename)" near "$format: by --json, too"
	sed 's/$/\r/' "$T/list" >"$T/crlf"
	{ printf '\xef\xbb\xbf' && cat "$T/list"; } >"$T/mark"
	head -c -1 "$T/list" >"$T/unended"
	{ cat "$T/list" && echo && cat "$T/list"; } >"$T/twice"
	grep -v '^SiSe\|^ssdeep,' "$T/list" >"$T/untitled"
	{ printf '\xff\xfe' && sed 's/./&\x0/g; s/$/\x0/' "$T/list"; } >"$T/wide"
	refused "$format: UTF-16" "UTF-16" \
		"$KIN" compare "$T/wide" "$T/like"
	for file in crlf mark unended twice untitled; do
		is "$(measure "$name" "$T/$file" "$T/like")" "$want" \
			"$format: a list that is $file"
	done
	{ cat "$T/list" && echo 'nonsense'; } >"$T/damaged"
	refused "$format: a line that is none" 'line [34]: malformed digest' \
		"$KIN" compare "$T/damaged" "$T/like"
done
"$KIN" digest "$T/far" "$T/near" >"$T/list"
is "$(measure score "$T/list" "$T/near") $(measure score "$T/near" \
	"$T/list")" "100 100" 'the best of what kin digest printed counts'
iconv -f UTF-8 -t UTF-16 "$T/a" >"$T/a.utf16"
is "$(measure sif "$T/a.utf16" "$T/a")" 100 'a text in UTF-16 is a content'
refused 'standard input is not both sides' 'standard input' \
	"$KIN" compare - - <"$T/a"
is "$(code "$KIN" compare - - <"$T/a")" 2 '... which is a usage error'
printf x >"$T/tiny"
refused 'a file that is too small for a format is named' 'tiny: too small' \
	"$KIN" digest --format sdbf "$T/tiny"

# ---- empty files ----

: >"$T/empty1"
: >"$T/empty2"
is "$("$KIN" compare "$T/empty1" "$T/empty2" | awk '{ print $2 }' | sort -u)" \
	"-
100" 'two empty files are identical by every measure'
is "$(measure score "$T/empty1" "$T/a")" 0 'and like no other'
"$KIN" digest "$T/empty1" >"$T/empty.sums"
is "$(measure score "$T/empty1" "$T/empty.sums")" 100 'and like its digests'

# ---- directories ----

refused 'a directory is refused' 'Is a directory' "$KIN" compare "$T" "$T/a"
unlike "$ERRORS" ' -r' 'without an option that compare does not have'
refused 'digest, too' 'Is a directory; -r looks into directories' \
	"$KIN" digest "$T"

# ---- JSON ----

is "$("$KIN" compare --json "$T/a" "$T/b" | perl -MJSON::PP -0777 -ne '
	my $j = decode_json($_);
	print join ",", map { exists $j->{$_} ? () : $_ } qw(a b score sise
		simhash simhash_distance rdc rdc_matches sif ssdeep xxh128)')" '' \
	'--json has every measure'
is "$("$KIN" compare --json simhash:0123456789abcdef "$T/b" |
	perl -MJSON::PP -0777 -ne 'print decode_json($_)->{sise} // "null"')" \
	null '--json says null for what is missing'

# ---- usage ----

is "$(code "$KIN" compare "$T/a")" 2 'one file is a usage error'
is "$(code "$KIN" compare -m nonsense "$T/a" "$T/b")" 2 \
	'an unknown measure is a usage error'
is "$(code "$KIN" compare -x "$T/a" "$T/b")" 2 \
	'an unknown option is a usage error'
is "$(code "$KIN")" 2 'no command is a usage error'
is "$(code "$KIN" nonsense)" 2 'an unknown command is a usage error'
is "$(code "$KIN" help nonsense)" 2 'help for an unknown command too'
like "$("$KIN" --version)" '^kin [0-9]' '--version'
for name in digest compare similar status wait rescan; do
	like "$("$KIN" help)" "  $name " "help lists $name"
	like "$("$KIN" help "$name")" "^usage: kin $name " "help $name"
	is "$("$KIN" "$name" --help)" "$("$KIN" help "$name")" "$name --help"
done
for name in similar status wait rescan; do
	refused "$name outside a mount says what to do" \
		'not in a kinfs mount; (kin similar --of FILE|mount one with: kinfs SOURCE)' \
		"$KIN" "$name" "$T/a"
	[ "$name" = status ] && continue # it lists all mounts
	is "$(code "$KIN" "$name")" 2 "$name without a path is a usage error"
done
is "$(code "$KIN" wait --timeout soon "$T")" 2 \
	'a timeout that is no number is a usage error'

finish
