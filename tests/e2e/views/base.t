#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# .similar/FILE/.base: the best base for a delta.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
open_fuse_to_all

src=$T/src
mnt=$T/mnt
mkdir -p "$src/old" "$src/.base"
gen_text 400 1 >"$src/report"
edit_text 30 2 <"$src/report" >"$src/old/draft"
edit_text 60 3 <"$src/report" >"$src/old/first"
cp "$src/old/draft" "$src/old/same"
gen_text 400 9 >"$src/stranger"
{
	gen_text 3000 10
	cat "$src/report"
	gen_text 3000 11
} >"$src/book"
{
	head -n 90 "$src/stranger"
	gen_text 600 12
} >"$src/heir"
echo real >"$src/.base/file"
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"

base() { # FILE: where the link leads
	realpath --relative-to="$mnt" \
		"$(dirname "$mnt/.similar/$1")/$(basename "$1")/.base"
}

is "$(base old/draft)" old/same "an equal content"
is "$(base report)" book "what has most in common, however large"
is "$(base heir)" stranger "below the threshold of listings"
is "$(find "$mnt/.similar/heir/" -mindepth 1)" "" "which show nothing"
unlike "$(ls -a "$mnt/.similar/report")" '\.base' "it is not listed"
rm "$mnt/stranger"
wait_idle "$mnt"
no_base() {
	! readlink "$mnt/.similar/heir/.base"
}
ok "none for a file that is like none" poll 10 no_base
is "$(cat "$mnt/.similar/report/.base")" "$(cat "$src/book")" \
	"the link leads there"
ok "a real entry of that name stays" test -d "$mnt/.similar/.base"
# Pages have texts, which are no bases: the bytes are what a delta is made of.
page() {
	echo '<!DOCTYPE html><html><head><title>page</title></head><body>'
	sed 's,.*,<p class="line"><b>&</b></p>,'
	echo '</body></html>'
}
gen_text 200 30 | page >"$src/page.html"
gen_text 200 30 | edit_text 10 31 | page >"$src/older.html"
rescan "$mnt"
is "$(base page.html)" older.html "of a document, by its bytes"
is "$("$KIN" seed --base "$src/page.html" "$mnt")" "$mnt/page.html" \
	"kin seed asks the same"
gen_text 100 20 >"$src/a"
edit_text 20 21 <"$src/a" >"$src/b"
edit_text 30 22 <"$src/a" >"$src/c"
chmod 600 "$src/b"
rescan "$mnt"
is "$(basename "$(readlink "$mnt/.similar/a/.base")")" b "for root"
is "$(basename "$(as_nobody readlink "$mnt/.similar/a/.base")")" c \
	"another user gets the best that it may read"
finish
