#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin similar, status, wait and rescan on a mount.
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2016
. tests/e2e/lib.sh

src=$T/src mnt=$T/mnt
mkdir -p "$src/docs"
gen_text 500 1 >"$src/docs/report.txt"
edit_text 5 2 <"$src/docs/report.txt" >"$src/draft.txt"
cp "$src/docs/report.txt" "$src/docs/same copy.txt"
gen_text 500 9 >"$src/alone.txt"
mount_kinfs "$src" "$mnt"

look() { # CODE: evaluates it with the parsed standard input in $j
	perl -MJSON::PP -0777 -e '
		my $j = decode_json(<STDIN>); print eval shift, "\n"' "$1"
}

# ---- wait ----

"$KIN" wait --timeout 600 "$mnt" >"$T/out" 2>"$T/err"
is "$?" 0 'wait succeeds'
is "$(cat "$T/err")" '' '... without complaint'
like "$(tail -n 1 "$T/out")" '^100 % ' '... and ends with 100 %'
unlike "$(cat "$T/out")" $'[\r\033]' '... in plain lines'
ok 'wait again, from a path below' "$KIN" wait -t 60 "$mnt/docs/report.txt"

# ---- status ----

is "$("$KIN" status --json "$mnt" | look '$j->{fresh}')" 4 'status --json'
is "$("$KIN" status --json "$mnt" | look '$j->{source}')" "$src" \
	'... has the source'
like "$("$KIN" status "$mnt")" "source +$src" 'status shows the source'
like "$("$KIN" status "$mnt")" 'files +4: 4 fresh' '... and the counts'
like "$("$KIN" status "$mnt")" 'idle' '... and that it is idle'

is "$("$KIN" status --json | jq -c "select(.path == \"$mnt\") |
	[.state, .files, .source]")" "[\"idle\",4,\"$src\"]" \
	'without a mount it lists all of them'
refused 'a list of files needs one' 'which mount' "$KIN" status --failed

# ---- similar ----

"$KIN" similar "$mnt/docs/report.txt" >"$T/out" 2>"$T/err"
is "$?" 0 'similar succeeds'
is "$(sed 1d "$T/out" | wc -l)" 2 '... and has a line a hit'
like "$(sed -n 2p "$T/out")" "^ +100 .* $mnt/docs/same copy\\.txt$" \
	'... the identical one first'
like "$(sed -n 3p "$T/out")" " $mnt/draft\\.txt$" '... then the other'
"$KIN" similar --json -v "$mnt/docs/report.txt" | sed -n 2p >"$T/json"
is "$(look '$j->{of}' <"$T/json")" "$mnt/docs/report.txt" \
	'similar --json has the path'
is "$(look '$j->{size}' <"$T/json")" \
	"$(stat -c %s "$src/draft.txt")" '... the sizes'
is "$(look '$j->{simhash}' <"$T/json")" \
	"$("$KIN" compare -m simhash "$src/docs/report.txt" "$src/draft.txt")" \
	'... the measures'
is "$(look '$j->{score}' <"$T/json")" \
	"$("$KIN" compare -m score "$src/docs/report.txt" "$src/draft.txt")" \
	'... the score that compare gives'
is "$("$KIN" similar "$mnt/alone.txt" 2>"$T/err")" '' \
	'nothing similar prints nothing'
refused 'a missing file is refused' 'No such file' "$KIN" similar "$mnt/none"
ln -s "$mnt/docs/report.txt" "$T/outside"
is "$("$KIN" similar "$T/outside" | sed 1d | wc -l)" 2 \
	'a link from outside is followed'

# ---- rescan ----

gen_text 500 20 >"$src/new.txt"
ok 'rescan succeeds' "$KIN" rescan "$mnt"
ok '... and can be waited for' "$KIN" wait --timeout 600 "$mnt"
is "$("$KIN" status --json "$mnt" | look '$j->{fresh}')" 5 \
	'... and finds what came behind its back'

# ---- bind mounts ----

mkdir "$T/bind"
if mount --bind "$mnt/docs" "$T/bind" 2>/dev/null; then
	"$KIN" similar "$T/bind/report.txt" >"$T/have"
	"$KIN" similar "$mnt/docs/report.txt" >"$T/want"
	same 'similar through a bind mount' "$T/have" "$T/want"
	ok 'status through a bind mount' "$KIN" status "$T/bind"
	umount "$T/bind"
else
	report 0 'similar through a bind mount # SKIP cannot bind mount'
	report 0 'status through a bind mount # SKIP cannot bind mount'
fi

# ---- the mount goes away ----

unmount "$mnt"
is "$?" 0 'the mount ends'
refused 'status of what was a mount' 'not in a kinfs mount' \
	"$KIN" status "$mnt"

mount_kinfs "$src" "$mnt" -o similar=off
wait_idle "$mnt"
refused 'similar without listings says so' 'without listings' \
	"$KIN" similar "$mnt/docs/report.txt"
kill -KILL "$(daemon_pid "$mnt")"
poll 10 gone "$(daemon_pid "$mnt")"
refused 'status of a dead daemon says what to do' 'fusermount3 -u' \
	"$KIN" status "$mnt"
refused 'wait for a dead daemon ends' 'fusermount3 -u' \
	"$KIN" wait --timeout 30 "$mnt"

finish
