#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pictures are alike by what they show, in listings, kin similar and kin compare.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

cd "$T" || exit 1
mkdir src mnt made
/usr/bin/python3 "$HELPERS/pictures.py" made || bail "pictures are made" "no"
for file in a.jpg poor.jpg large.png a.webp a.gif small.png icon.png plain.png \
	stripes.png other.png; do
	cp made/$file src/
done
/usr/bin/python3 - <<'END'
from PIL import Image
im = Image.open('made/a.png')
im.transpose(Image.ROTATE_90).save('src/rotated.jpg', quality=80)
im.transpose(Image.FLIP_LEFT_RIGHT).save('src/mirrored.webp')
END
listing() { # FILE: names, without scores
	find "mnt/.similar/$1" -mindepth 1 -printf '%f\n' | cut -c 5- | sort |
		tr '\n' ' '
}
mount_kinfs "$T/src" "$T/mnt"
wait_idle "$T/mnt"

others="a.gif a.webp large.png mirrored.webp poor.jpg rotated.jpg small.png "
is "$(listing a.jpg)" "$others" \
	"other sizes, formats and compressions, turned and mirrored"
is "$(listing other.png)$(listing plain.png)$(listing stripes.png)$(listing icon.png)" \
	"" "strangers, plain surfaces, stripes and icons are like nothing"
is "$("$KIN" similar --json mnt/a.jpg | jq -r '.by // empty' | sort -u)" picture \
	"kin similar: by picture"
is "$("$KIN" similar --relation picture mnt/a.jpg | grep -c '^ *[0-9]')" 7 \
	"... a relation of its own"
like "$("$KIN" similar --why mnt/a.jpg mnt/rotated.jpg)" 'by picture: [0-9]+ of 256 bits differ, turned by 90 degrees' \
	"... also --why"
like "$("$KIN" compare --json src/a.jpg src/small.png | jq -r .by)" picture \
	"kin compare, without a mount"
rm mnt/a.gif
cat made/a.png >mnt/through.png
wait_idle "$T/mnt"
is "$(listing a.jpg)" \
	"a.webp large.png mirrored.webp poor.jpg rotated.jpg small.png through.png " \
	"what was removed is gone, what was written is there"
ok "unmount" unmount "$T/mnt"

mount_kinfs "$T/src" "$T/mnt" -o pictures=no
wait_idle "$T/mnt"
is "$(listing a.jpg)" "" "pictures=no: hashes do not speak"
ok "unmount" unmount "$T/mnt"
mount_kinfs "$T/src" "$T/mnt"
like "$(listing a.jpg)" "a.webp large.png mirrored.webp" \
	"a mount later they do again"
finish
