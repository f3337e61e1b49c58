#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# TLSH and SHA-256: computed for whoever asks, kept with -o digests=, never in
# what makes a listing.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
mkdir "$src" "$mnt"
gen_text 900 1 >"$src/text"
gen 50000 2 >"$src/random"
{
	cat "$src/text"
	gen_text 30 3
} >"$src/longer"
head -c 20000 /dev/zero >"$src/zeros"
printf short >"$src/short"

sha256() { # FILE
	sha256sum <"$1" | cut -c-64
}

tlsh_of() { # FILE: by the packaged program
	printf T1
	tlsh -f "$1" | cut -c-70
}

# ---- kin digest ----

ok 'tlsh is there' command -v tlsh
for name in text random longer; do
	is "$("$KIN" digest -a tlsh "$src/$name")" \
		"$(tlsh_of "$src/$name")  $src/$name" "kin digest -a tlsh: $name"
	is "$("$KIN" digest -a user.sha256 "$src/$name")" \
		"$(sha256sum "$src/$name")" "kin digest -a user.sha256: $name"
done
is "$("$KIN" digest -a tlsh - <"$src/text")" "$(tlsh_of "$src/text")  -" \
	'... of the standard input'
refused 'zeros have no TLSH' 'too' "$KIN" digest -a tlsh "$src/zeros"
is "$("$KIN" digest "$src/text" | grep -cE 'tlsh|sha256')" 0 \
	'neither is printed by default'
is "$("$KIN" digest --tlsh --sha256 "$src/text" | grep -E 'tlsh|sha256')" \
	"user.sha256=\"$(sha256 "$src/text")\"
user.tlsh=\"$(tlsh_of "$src/text")\"" '... but with --tlsh --sha256'

# ---- kin compare ----

want=$(tlsh -c "$src/text" -f "$src/longer" | awk '{ print $1 }')
is "$("$KIN" compare -m tlsh "$src/text" "$src/longer")" "$want" \
	'kin compare -m tlsh: the distance that tlsh says'
tlsh=$("$KIN" digest -a tlsh - <"$src/longer" | cut -d' ' -f1)
like "$("$KIN" compare "$src/text" "tlsh:$tlsh")" \
	"tlsh +- +distance $want" '... with a digest in its text form'
is "$("$KIN" compare --json "$src/text" "tlsh:${tlsh#T1}" |
	jq .tlsh_distance)" "$want" '... without T1, in JSON'
is "$("$KIN" compare -m sha256 "$src/text" "$src/text")" 100 \
	'kin compare -m sha256'
refused 'a malformed TLSH' 'malformed' "$KIN" compare "$src/text" \
	"tlsh:${tlsh}0"

# ---- attributes that are not kept ----

mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
is "$(getx "$mnt/text" user.sha256)" "$(sha256 "$src/text")" \
	'user.sha256 of a file'
is "$(getx "$mnt/text" user.tlsh)" "$(tlsh_of "$src/text")" 'user.tlsh'
unlike "$(names "$mnt/text")" 'tlsh|sha256' 'they are not listed'
is "$(errno_of getx "$mnt/zeros" user.tlsh)" ENODATA 'zeros have no TLSH'
is "$(getx "$mnt/zeros" user.sha256)" "$(sha256 "$src/zeros")" \
	'... and a SHA-256'
gen_text 900 9 >"$mnt/text"
is "$(getx "$mnt/text" user.sha256)" "$(sha256 "$src/text")" \
	'of the new content when it was written'
is "$(getx "$mnt/text" user.tlsh)" "$(tlsh_of "$src/text")" '... both'
unlike "$("$KIN" export --plain "$mnt")" '"sha256"' 'exports do not have them'
unmount "$mnt"

# ---- attributes that are kept ----

mount_kinfs "$src" "$mnt" -o "digests=simhash:sif:tlsh:sha256"
wait_idle "$mnt"
like "$(names "$mnt/text" | tr '\n' ' ')" 'user.sha256 .*user.tlsh' \
	'digests=...:tlsh:sha256 lists them'
for name in text random longer; do
	is "$(getx "$mnt/$name" user.sha256)" "$(sha256 "$src/$name")" \
		"user.sha256: $name"
	is "$(getx "$mnt/$name" user.tlsh)" "$(tlsh_of "$src/$name")" \
		"user.tlsh: $name"
done
unlike "$(names "$mnt/short")" tlsh 'a short file lists no TLSH'
is "$(getx "$mnt/short" user.sha256)" "$(sha256 "$src/short")" \
	'... and has a SHA-256'
is "$("$KIN" export --plain "$mnt" |
	jq -r '.members[]? | select(.files[0].path == "random").digests |
		.sha256, .tlsh')" \
	"$(sha256 "$src/random")
$(tlsh_of "$src/random")" 'exports have them'
is "$("$KIN" check --read "$mnt" >/dev/null 2>&1; echo $?)" 0 \
	'kin check --read compares them'
unmount "$mnt"
mount_kinfs "$src" "$mnt" -o digests=simhash:sif
wait_idle "$mnt"
is "$(errno_of getx "$mnt/text" user.sha256)" ENODATA \
	'a list of digests without it has no user.sha256'

finish
