#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Documents whose texts take long: a text that a user waits for is made at normal
# priority, no user's documents stand before those of others, and that of a file
# that was removed is given up.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
idle=5 # SCHED_IDLE

text() { # FILE
	getfattr --only-values --absolute-names -n user.kinfs.text "$mnt/$1"
}

is_text() { # FILE STATE
	[ "$(text "$1")" = "$2" ]
}

document() { # NUMBER FILE
	printf '{\\rtf1 %s}' "$(gen_text 40 "$1")" >"$2"
}

# The scheduling classes of the processes that read PDFs for this test.
classes() {
	local pid
	for pid in $(pgrep -x kin-extract-pdf); do
		[ "$(readlink "/proc/$pid/exe")" != "$T/bin/kin-extract-pdf" ] ||
			awk '{ print $41 }' "/proc/$pid/stat"
	done 2>/dev/null
}

has_class() { # CLASS
	classes | grep -qx "$1"
}

cp "$(dirname "$KIN")"/kin-extract* "$T"
share_programs
mv "$T"/kin-extract* "$T/bin"
mkdir -p "$src/ada" "$src/bob"
chown "$ada" "$src/ada" && chown "$bob" "$src/bob"
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"
for i in 1 2 3; do
	python3 "$HELPERS/slow_pdf.py" "$i" >"$T/slow$i.pdf"
	install -o "$bob" "$T/slow$i.pdf" "$mnt/bob/slow$i.pdf"
	ok "slow$i.pdf is hashed" getx "$mnt/bob/slow$i.pdf" user.xxh128
done
ok "a text that nobody waits for is made in the idle class" \
	poll 20 has_class "$idle"
for i in 1 2; do
	document "$i" "$T/doc$i"
	install -o "$ada" "$T/doc$i" "$mnt/ada/doc$i"
done
as_bob ls "$mnt/.similar/bob/slow1.pdf" >"$T/listed" 2>&1 &
pids+=("$!")
ok "one that a user waits for is made at normal priority" \
	poll 20 has_class 0
as_ada ls "$mnt/.similar/ada/doc1" >/dev/null
is "$(text ada/doc1)" yes "meanwhile another user gets an answer"
rm "$mnt/bob/slow1.pdf"
ok "another user's document is next" poll 20 is_text ada/doc2 yes
is "$(text bob/slow3.pdf)" pending "before all slow ones"
rm "$mnt"/bob/slow*.pdf
document 3 "$T/doc3"
install -o "$bob" "$T/doc3" "$mnt/bob/doc3"
ok "what was removed is given up" poll 10 is_text bob/doc3 yes
ok "it unmounts" unmount "$mnt"
finish
