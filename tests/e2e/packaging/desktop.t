#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the menus of file managers call opens the listing of a file.  A program
# that notes what it is told stands for the desktop's.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

mkdir -p "$T/bin" "$T/source/a directory"
cat >"$T/bin/xdg-open" <<'END'
#!/bin/sh
printf '%s\n' "$1" >>"$OPENED"
END
cat >"$T/bin/notify-send" <<'END'
#!/bin/sh
printf '%s\n' "$*" >>"$NOTIFIED"
END
chmod +x "$T/bin/"*
export OPENED=$T/opened NOTIFIED=$T/notified
touch "$OPENED" "$NOTIFIED"
PATH=$T/bin:${KIN%/*}:$PATH
gen_text 100 1 >"$T/source/a directory/a file"
cp "$T/source/a directory/a file" "$T/source/copy"

open_similar() { # FILE...
	: >"$OPENED"
	: >"$NOTIFIED"
	scripts/desktop/open-similar "$@"
}

mkdir "$T/kin" "$T/my kin"
mount_kinfs "$T/source" "$T/kin"
wait_idle "$T/kin"
ok "a file with blanks in its path" open_similar "$T/kin/a directory/a file"
is "$(cat "$OPENED")" "$T/kin/.similar/a directory/a file" \
	"its listing is opened"
opened=$(ls "$(cat "$OPENED")")
is "$opened" "100_copy" "... and has its copy"
ok "a relative path" env -C "$T/kin/a directory" \
	"$PWD/scripts/desktop/open-similar" "../copy" "a file"
is "$(tail -n 2 "$OPENED")" "$T/kin/.similar/copy
$T/kin/.similar/a directory/a file" "two files, two windows"
not_ok "a file in no mount" open_similar "$T/source/copy"
like "$(cat "$NOTIFIED")" "in no kinfs mount" "... is told on the desktop"
is "$(cat "$OPENED")" "" "... and nothing is opened"
not_ok "a directory" open_similar "$T/kin/a directory"
not_ok "nothing" open_similar
unmount "$T/kin"

mount_kinfs "$T/source" "$T/kin" -o similar_name=.twins
ok "another name of the tree" open_similar "$T/kin/copy"
is "$(cat "$OPENED")" "$T/kin/.twins/copy" "... is found"
unmount "$T/kin"

ok "a mount with a blank in its name" "$KINFS" "$T/source" "$T/my kin"
ok "... has listings, too" open_similar "$T/my kin/copy"
is "$(cat "$OPENED")" "$T/my kin/.similar/copy" "... which are found"
fusermount3 -u "$T/my kin"

# A file manager that walks the mount does not come to the listings.
mount_kinfs "$T/source" "$T/kin"
wait_idle "$T/kin"
is "$(find "$T/kin" | grep -c similar)" 0 "the root does not list .similar"
is "$(find "$T/kin/.similar/copy" -name '.*' | wc -l)" 0 \
	"a listing lists no further views"
unmount "$T/kin"

finish
