#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Whether another user has a document is not told by what is known of its text: a
# document that bob writes is one without a text until that was made for bob, by
# every interface, also if ada has the same document.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

document() { # NUMBER
	printf '{\\rtf1 %s}' "$(gen_text 40 "$1" | tr '\n' ' ')"
}

text() { # FILE
	as_bob getfattr --only-values --absolute-names -n user.kinfs.text \
		"$mnt/$1"
}

is_text() { # FILE STATE
	[ "$(text "$1")" = "$2" ]
}

look() { # FILE
	text "$1"
	as_bob ls "$mnt/.similar/bob/plain"
	as_bob "$KIN" groups --json "$mnt" 2>&1 | grep -c '"date"'
}

# Of what bob stores nothing but the hashing is done, as the background pauses.
guess() { # NUMBER FILE
	document "$1" >"$T/guess"
	as_bob cp "$T/guess" "$mnt/bob/$2"
	getx "$mnt/bob/$2" user.xxh128 >/dev/null
	poll 20 is_text "bob/$2" pending
	look "bob/$2"
	# By listing it, bob has the text made.
	as_bob ls "$mnt/.similar/bob/$2"
	look "bob/$2"
	as_bob cp "$T/guess" "$mnt/bob/again"
	getx "$mnt/bob/again" user.xxh128 >/dev/null
	poll 20 is_text bob/again pending
	look bob/again
	as_bob rm "$mnt/bob/$2" "$mnt/bob/again"
}

cp "$(dirname "$KIN")"/kin-extract* "$T"
share_programs
mv "$T"/kin-extract* "$T/bin"
mkdir -p "$src/ada" "$src/bob"
document 1 >"$src/ada/secret"
chown -R "$ada" "$src/ada"
chmod 700 "$src/ada"
gen_text 40 1 >"$src/bob/plain"
chown -R "$bob" "$src/bob"
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"
is "$(getx "$mnt/ada/secret" user.kinfs.text)" yes "ada has a document"
"$KIN" pause "$mnt"
guess 1 guess >"$T/with" 2>&1
as_bob cp "$T/guess" "$mnt/bob/left"
"$KIN" resume "$mnt"
wait_idle "$mnt"
is "$(text bob/left)" yes "in its turn the text is told"
like "$(as_bob ls "$mnt/.similar/bob/plain")" left "and lists the document"
as_bob rm "$mnt/bob/left"
rm "$mnt/ada/secret"
wait_idle "$mnt"

"$KIN" pause "$mnt"
guess 1 guess >"$T/without" 2>&1
same "with ada's document all looks as without" "$T/with" "$T/without"
like "$(cat "$T/with")" "pending.*yes.*pending" "which is something"
ok "it unmounts" unmount "$mnt"
finish
