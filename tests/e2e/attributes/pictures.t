#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# user.pdq: made when it is asked for, kept, never listed.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

cd "$T" || exit 1
mkdir src mnt
/usr/bin/python3 "$HELPERS/pictures.py" src || bail "pictures are made" "no"
echo "no picture" >src/text
mount_kinfs "$T/src" "$T/mnt"

pdq=$(getx mnt/a.jpg user.pdq)
like "$pdq" '^[0-9a-f]{64}$' "user.pdq: 64 hex digits"
is "$("$KIN" digest -a pdq src/a.jpg)" "$pdq  src/a.jpg" \
	"kin digest -a pdq: the same without a mount"
is "$("$KIN" digest -a pdq src/a.png src/text src/plain.png 2>/dev/null |
	cut -c 65-)" "  src/a.png" "... no line for what has none"
between "$("$KIN" compare -m pdq src/a.jpg src/a.webp)" 0 8 \
	"kin compare -m pdq: bits that differ"
between "$("$KIN" compare -m pdq src/a.jpg src/other.png)" 60 200 \
	"... of strangers"
is "$(getx mnt/a.jpg user.kinfs.text)" picture "user.kinfs.text: picture"
for file in text plain.png damaged.jpg huge.png; do
	is "$(getx mnt/$file user.pdq 2>&1 | grep -c .)" 0 \
		"$file has no user.pdq"
done
is "$(getx mnt/damaged.jpg user.kinfs.text)" failed:damaged "... and why"
unlike "$(getfattr -d mnt/a.jpg)" pdq "it is not listed"
wait_idle "$T/mnt"
ok "unmount" unmount "$T/mnt"

mount_kinfs "$T/src" "$T/mnt" -o pictures=no
is "$(getx mnt/a.jpg user.pdq)" "$pdq" "a hash that was made is kept"
cp src/a.webp src/new.webp
echo >>src/new.webp
is "$(getx mnt/new.webp user.pdq 2>&1 | grep -c .)" 0 \
	"pictures=no: no other is made"
ok "unmount" unmount "$T/mnt"
mount_kinfs "$T/src" "$T/mnt"
is "$(getx mnt/new.webp user.pdq)" "$("$KIN" digest -a pdq src/a.webp | cut -c -64)" \
	"... until a mount with pictures"
finish
