#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# user.kinfs.change: how much of its earlier content a file kept, and when.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
open_fuse_to_all

src=$T/src
mnt=$T/mnt
mkdir -p "$src"
gen_text 400 1 >"$src/a"
gen_text 400 1 >"$src/b"
gen_text 400 1 >"$src/c"
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"

kept() { # FILE: the percentage
	getx "$1" user.kinfs.change | cut -d' ' -f1
}

is "$(errno_of getx "$mnt/a" user.kinfs.change)" ENODATA \
	"a file that was not changed has none"
edit_text 20 2 <"$src/a" >"$T/edited"
cat "$T/edited" >"$mnt/a"
edit_text 20 3 <"$src/b" >"$mnt/b~"
mv "$mnt/b~" "$mnt/b"
wait_idle "$mnt"
between "$(kept "$mnt/a")" 65 90 "a fifth of the lines is another"
between "$(kept "$mnt/b")" 65 90 "... also in a file that takes its name"
is "$(getx "$mnt/a" user.kinfs.change | cut -d' ' -f2)" \
	"$(date -u -d "@$(stat -c %Z "$src/a")" +%Y-%m-%dT%H:%M:%SZ)" "when"
unlike "$(names "$mnt/a")" 'kinfs.change' "it is not listed"
before=$(getx "$mnt/a" user.kinfs.change)
mv "$mnt/a" "$mnt/moved"
touch "$mnt/moved"
cp "$T/edited" "$mnt/moved"
wait_idle "$mnt"
is "$(getx "$mnt/moved" user.kinfs.change)" "$before" \
	"another name, time or the same content is no change"
gen 20000 1 >"$mnt/moved"
wait_idle "$mnt"
is "$(kept "$mnt/moved")" 0 "noise keeps nothing"

# ---- to whom ----

chmod 644 "$src"/*
not_ok "only the owner of the mount: the earlier content may have been private" \
	as_nobody getfattr -n user.kinfs.change "$mnt/moved"
chmod 600 "$src/moved"

# ---- what happens while there is no mount ----

unmount "$mnt"
edit_text 50 4 <"$src/c" >"$T/half"
cat "$T/half" >"$src/c"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
between "$(kept "$mnt/c")" 25 65 "a change while nothing was mounted"
is "$(kept "$mnt/moved")" 0 "what was told before is still told"
finish
