#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin digest: prints as getfattr and as sha256sum do.
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2016
. tests/e2e/lib.sh

status=0
in_t() { # COMMAND...: run in $T; stdout, stderr and status are kept
	(cd "$T" && "$@") >"$T/.out" 2>"$T/.err"
	status=$?
}

mkdir "$T/d" "$T/d/sub" "$T/d/zsub"
gen_text 200 1 >"$T/d/plain"
gen_text 200 2 >"$T/d/sub/deep"
gen_text 50 3 >"$T/d/.hidden"
gen 5000 4 >"$T/d/zsub/random"
odd=$(printf 'od\\d\nna\rme')
cp "$T/d/plain" "$T/d/$odd"
ln -s plain "$T/d/link"
mkfifo "$T/d/fifo"

# ---- the form of getfattr, taken from getfattr itself ----

# Real attributes with the values that kin printed, shown by getfattr.
attributes_file="$T/with-attributes"
cp "$T/d/plain" "$attributes_file"
in_t "$KIN" digest with-attributes
is "$status" 0 'digest succeeds'
cp "$T/.out" "$T/have"
if setfattr -n user.kin.probe -v 1 "$attributes_file" 2>/dev/null; then
	setfattr -x user.kin.probe "$attributes_file"
	(cd "$T" && setfattr --restore=have &&
		getfattr -d with-attributes) >"$T/want"
	same 'prints what getfattr -d prints' "$T/have" "$T/want"
	cp "$attributes_file" "$T/$odd"
	in_t "$KIN" digest "$odd"
	cp "$T/.out" "$T/have"
	(cd "$T" && setfattr --restore=have &&
		getfattr -d "$odd") >"$T/want"
	same 'escapes names as getfattr does' "$T/have" "$T/want"
else
	report 0 'prints what getfattr -d prints # SKIP no user attributes'
	report 0 'escapes names as getfattr does # SKIP no user attributes'
fi
is "$("$KIN" digest "$T/d/plain" | head -n 1)" "# file: ${T#/}/d/plain" \
	'leaves out the leading slash'
is "$(cd "$T" && "$KIN" digest ./d/plain | head -n 1)" '# file: d/plain' \
	'leaves out the leading ./'

# ---- the form of sha256sum ----

(cd "$T/d" && "$KIN" digest -a xxh128 plain sub/deep) |
	sed 's/^\\*[0-9a-f]*  //' >"$T/have"
printf 'plain\nsub/deep\n' >"$T/want"
same '-a prints value, two blanks, path' "$T/have" "$T/want"
in_t "$KIN" digest -a xxh128 "d/$odd"
is "$(sed 's/^\(\\\)[0-9a-f]\{32\}/\1/' "$T/.out")" \
	'\  d/od\\d\nna\rme' 'escapes names as sha256sum does'
is "$("$KIN" digest -a user.xxh128 "$T/d/plain")" \
	"$("$KIN" digest -a xxh128 "$T/d/plain")" 'short and full names'
is "$("$KIN" digest -a sise - <"$T/d/plain")" \
	"$("$KIN" digest -a sise "$T/d/plain" | sed 's/ .*/  -/')" \
	'- is standard input'
if command -v xxhsum >/dev/null; then
	is "$(cd "$T/d" && "$KIN" digest -a xxh128 zsub/random)" \
		"$(cd "$T/d" && xxhsum -H2 zsub/random 2>/dev/null)" \
		'xxh128 is what xxhsum prints'
else
	report 0 'xxh128 is what xxhsum prints # SKIP xxhsum is not installed'
fi

# ---- directories ----

rm "$T/d/$odd"
in_t timeout 600 "$KIN" digest -r -a simhash d
is "$status" 0 '-r succeeds; a FIFO is not opened'
sed 's/^[0-9a-f]*  //' "$T/.out" >"$T/have"
printf '%s\n' d/.hidden d/plain d/sub/deep d/zsub/random >"$T/want"
same '-r goes in order and follows no links' "$T/have" "$T/want"
is "$("$KIN" digest -r -a simhash "$T/d/link")" \
	"$("$KIN" digest -a simhash "$T/d/plain" | sed 's/plain$/link/')" \
	'a link that was named is followed'
ln -s sub "$T/d/link-to-directory"
in_t "$KIN" digest -r -a simhash d/link-to-directory
like "$(cat "$T/.out")" '  d/link-to-directory/deep$' \
	'a link to a directory that was named is followed'

# ---- what goes wrong ----

in_t timeout 600 "$KIN" digest -a simhash d/fifo d/plain
is "$status" 1 'a FIFO that was named fails'
like "$(cat "$T/.err")" 'kin: d/fifo: not a regular file' '... and is named'
like "$(cat "$T/.out")" 'd/plain' '... and the others are done'
in_t "$KIN" digest -a simhash d/missing d/plain
is "$status" 1 'a missing file fails'
is "$(cat "$T/.err")" 'kin: d/missing: No such file or directory' \
	'... with the reason'
in_t "$KIN" digest d
is "$status" 1 'a directory needs -r'
like "$(cat "$T/.err")" '-r' '... and is told so'
: >"$T/empty"
in_t "$KIN" digest empty
is "$status" 0 'an empty file has digests, too'
in_t "$KIN" digest
is "$status" 2 'no file is a usage error'
in_t "$KIN" digest -a nonsense d/plain
is "$status" 2 'an unknown digest is a usage error'
like "$(cat "$T/.err")" 'sise.*simhash.*rdc.*sif.*ssdeep.*xxh128' '... and lists them'
if [ -c /dev/full ]; then
	(cd "$T" && "$KIN" digest d/plain >/dev/full 2>"$T/.err")
	is "$?" 1 'a full disk under the output fails'
else
	report 0 'a full disk under the output fails # SKIP no /dev/full'
fi

# ---- JSON ----

look() { # CODE: evaluates it with the objects of standard input in $j
	perl -MJSON::PP -e '
		my $j = [map { decode_json $_ } <STDIN>];
		print eval shift, "\n"' "$1"
}

is "$("$KIN" digest --json -r "$T/d/sub" "$T/d/plain" | look 'scalar @$j')" 3 \
	'--json is an object a line, and totals'
is "$("$KIN" digest --json "$T/d/plain" | look '$j->[0]{digests}{"user.sise"}')" \
	"$("$KIN" digest -a sise "$T/d/plain" | sed 's/  .*//')" \
	'--json has the values'
is "$("$KIN" digest --json "$T/nothing-there" 2>/dev/null |
	look '"$j->[0]{totals}{files} $j->[0]{totals}{complete}"')" \
	"0 0" '--json of nothing has totals that say so'
cp "$T/d/plain" "$T/d/$(printf 'l\344tin')"
in_t "$KIN" digest --json -a simhash "d/$(printf 'l\344tin')"
is "$(look '$j->[0]{path} eq "d/l\x{fffd}tin"' <"$T/.out")" 1 \
	'--json replaces what is not UTF-8'
is "$(look '$j->[0]{path_hex}' <"$T/.out")" 642f6ce474696e \
	'... and has the bytes in path_hex'

# ---- threads ----

cp "$T/d/plain" "$T/copy"

mkdir "$T/many"
for ((i = 0; i < 300; i++)); do
	echo "$((i * 37)) $T/many/$i"
done | gen_random_files 1
ln -s nowhere "$T/many/dangling"
for style in '' --json '-a sise' '--format ssdeep' --si2; do
	for jobs in 1 7; do
		# shellcheck disable=SC2086
		(cd "$T" && "$KIN" digest $style -j $jobs -r many missing \
			d/plain d d/plain) >"$T/.$jobs" 2>"$T/.err.$jobs"
		echo $? >>"$T/.$jobs"
	done
	same "the same output with seven threads, ${style:-attributes}" \
		"$T/.7" "$T/.1"
	same "... and the same messages" "$T/.err.7" "$T/.err.1"
done
is "$("$KIN" digest -a xxh128 -j 7 "$T/d/plain" - "$T/d/plain" <"$T/copy" |
	cut -c1-32 | uniq | wc -l)" 1 'standard input in the middle'
in_t "$KIN" digest -j 0 d/plain
is "$status" 2 '-j 0 is a usage error'

finish
