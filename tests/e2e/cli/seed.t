#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Bases for a transfer: the old tree is here, the new one is to come from another
# machine, with other names and other contents.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

old=$T/old
new=$T/new
mkdir -p "$old/src" "$new/lib/deep" "$T/empty"
for i in {1..12}; do
	gen_text 400 "$i" >"$old/src/part$i.c"
	edit_text 2 "9$i" <"$old/src/part$i.c" >"$new/lib/deep/renamed$i.c"
done
cp "$old/src/part1.c" "$new/moved.c"
gen_text 400 77 >"$new/unrelated.c"
printf 'odd' | cat - "$old/src/part2.c" >"$new/"$'odd \xff\nname'
# The trap: a change of one byte that keeps size and time.
gen_text 600 50 >"$old/src/trap.c"
sed '300s/./#/' "$old/src/trap.c" >"$new/trap.c"
touch -r "$old/src/trap.c" "$new/trap.c"
is "$(stat -c '%s %Y' "$new/trap.c")" "$(stat -c '%s %Y' "$old/src/trap.c")" \
	"two files have the size and the time in common, and differ"
mount_kinfs "$new" "$T/sender"
ok "the sender's tree is hashed" wait_idle "$T/sender"
ok "export --seeds" bash -c '"$1" export --seeds "$2" >"$3"' - \
	"$KIN" "$T/sender" "$T/new.seeds"
"$KIN" export "$T/sender" >"$T/new.kin"
between "$(stat -c %s "$T/new.seeds")" 1 \
	$(($(stat -c %s "$T/new.kin") / 4)) "has a fraction of the bytes"
unmount "$T/sender"
mount_kinfs "$old" "$T/mnt"
ok "the receiver's tree is hashed" wait_idle "$T/mnt"

# ---- the map ----

"$KIN" seed --json "$T/new.seeds" "$T/mnt" >"$T/map" 2>"$T/errors"
is "$?" 0 "--json"
like "$(cat "$T/errors")" '^16 files to come: an equal content here for 1,' \
	"with a summary"
base() { # PATH: the base of that file
	jq -r --arg path "$1" 'select(.path == $path) | "\(.base) \(.score)"' \
		"$T/map"
}
is "$(base moved.c)" 'src/part1.c 100' "an equal content, under another name"
for i in 1 7 12; do
	like "$(base "lib/deep/renamed$i.c")" "^src/part$i.c [0-9]" \
		"what renamed$i.c was before"
done
is "$(base unrelated.c)" '' "what is like nothing has no base"
like "$(base trap.c)" '^src/trap.c [0-9]' \
	"a file of other content with the size and the time is one: -I is printed"
like "$(jq -r 'select(.path_hex) | .base' "$T/map")" 'src/part2.c' \
	"a name that is no UTF-8"
"$KIN" seed -0 "$T/new.seeds" "$T/mnt" 2>"$T/errors" | tr '\0' '|' >"$T/nul"
like "$(cat "$T/nul")" '(^|\|)moved.c\|src/part1.c\|' "-0"

# ---- as a tree, for rsync ----

ok "--into" "$KIN" seed --into "$T/seeds" "$T/new.seeds" "$T/mnt"
cp "$T/output" "$T/command"
ok "a base is a link to the file here" test "$T/seeds/moved.c" -ef \
	"$old/src/part1.c"
is "$(find "$T/seeds" -type f -printf x | wc -c)" \
	"$(jq -s "map(select(.path)) | length" "$T/map")" "one for each file that has one"
is "$(stat -c %a "$T/seeds")" 700 "nobody else may look in"
like "$(cat "$T/command")" 'blocks of those that are not equal cost [0-9]+' \
	"what the bases cost is said"
like "$(tail -n 1 "$T/command")" '^rsync .*-aIz .*--copy-dest=' \
	"the command is printed"
unlike "$(cat "$T/command")" 'link-dest|size-only' "and is a safe one"
refused "a directory that is there already" 'must be new' \
	"$KIN" seed --into "$T/seeds" "$T/new.seeds" "$T/mnt"

sent() { # DESTINATION OPTION...: bytes that rsync sends
	rsync -aI --no-whole-file --stats "${@:2}" "$new/" "$1/" |
		sed -n 's/^Total bytes sent: //p' | tr -d ,
}
plain=$(sent "$T/plain")
seeded=$(sent "$T/seeded" --copy-dest="$T/seeds")
between "$seeded" 1 $((plain / 3)) "rsync sends a third of it and less"
ok "and the tree is right" diff -r "$new" "$T/seeded"
is "$(find "$old" -type f -newer "$T/command" | wc -l)" 0 \
	"no file here was changed"

# Without what the command has rsync takes one file for the other.
rsync -a --no-whole-file --copy-dest="$T/seeds" "$new/trap.c" "$T/wrong/"
not_ok "the trap is one" cmp -s "$new/trap.c" "$T/wrong/trap.c"
rsync -aI --no-whole-file --copy-dest="$T/seeds" "$new/trap.c" "$T/right/"
ok "-I avoids it" cmp "$new/trap.c" "$T/right/trap.c"

# ---- one file ----

ok "--base" "$KIN" seed --base "$new/lib/deep/renamed3.c" "$T/mnt"
is "$(cat "$T/output")" "$T/mnt/src/part3.c" "prints the best one"
zstd -q --patch-from="$(cat "$T/output")" "$new/lib/deep/renamed3.c" \
	-o "$T/patch"
zstd -q "$new/lib/deep/renamed3.c" -o "$T/whole"
between "$(stat -c %s "$T/patch")" 1 $(($(stat -c %s "$T/whole") / 3)) \
	"for zstd --patch-from"
# A base that rsync would take for the file itself is as good as any for others.
sed '1s/./#/' "$old/src/part3.c" >"$T/twin.c"
touch -r "$old/src/part3.c" "$T/twin.c"
is "$("$KIN" seed --base "$T/twin.c" "$T/mnt")" "$T/mnt/src/part3.c" \
	"... also one of the same size and time"
is "$("$KIN" seed --base - "$T/mnt" <"$T/twin.c")" "$T/mnt/src/part3.c" \
	"... of the standard input"
not_ok "there is none" "$KIN" seed --base "$new/unrelated.c" "$T/mnt"
refused "--base with --json" "usage: kin seed" \
	"$KIN" seed --json --base "$T/twin.c" "$T/mnt"
refused "--reflink of nothing" "usage: kin seed" \
	"$KIN" seed --reflink "$T/new.seeds" "$T/mnt"

# ---- what comes from elsewhere ----

"$KIN" export --plain "$T/mnt" >"$T/evil" 2>"$T/errors"
sed 's#"path":"src/part1.c"#"path":"../../escaped"#
	s#"path":"src/part2.c"#"path":"/tmp/escaped"#
	s#"path":"src/part3.c"#"path":"a/../../escaped"#' "$T/evil" >"$T/evil2"
ok "an export with paths that lead elsewhere" \
	"$KIN" seed --into "$T/below" "$T/evil2" "$T/mnt"
is "$(find "$T" -name escaped | wc -l)" 0 "makes nothing there"
is "$(find "$T/below" -type f -printf x | wc -c)" 10 "but the others"
head -c 300 "$T/new.seeds" >"$T/cut"
refused "one that was cut" 'damaged or cut' \
	"$KIN" seed --json "$T/cut" "$T/mnt"
refused "something else" 'not a file as kin export' \
	"$KIN" seed --json "$old/src/part1.c" "$T/mnt"
like "$("$KIN" seed "$T/new.seeds" "$T/mnt" 2>"$T/errors")" \
	' 100 +moved.c  src/part1.c' "without an option the bases are listed"
refused "a list and a tree" 'exclude one another' \
	"$KIN" seed --json --into "$T/both" "$T/new.seeds" "$T/mnt"
unmount "$T/mnt"

# ---- pages of one frame ----

# More pages than contents that are looked at for a value: most of what a page has
# are values of the frame, and its few own values go where its version stands.
mkdir -p "$T/pages/old" "$T/pages/new"
frame=$(gen_text 60 1)
mapfile -t lines < <(gen_text 3500 2)
for i in {1..700}; do
	for side in old:18 new:20; do
		version="manual of release 15.${side#*:}"
		printf '%s\n' "$version" "$frame" "$version" \
			"${lines[@]:5*(i-1):5}" "end of the $version" >"$T/pages/${side%:*}/page$i"
	done
done
for side in new old; do
	mount_kinfs "$T/pages/$side" "$T/mnt"
	ok "$side pages are hashed" wait_idle "$T/mnt"
	[ "$side" = old ] || "$KIN" export --seeds "$T/mnt" >"$T/pages.seeds"
	[ "$side" = old ] || unmount "$T/mnt"
done
"$KIN" seed --json "$T/pages.seeds" "$T/mnt" 2>"$T/errors" >"$T/map"
is "$(jq -r 'select(.path) | .path == .base' "$T/map" | sort | uniq -c |
	tr -s ' ')" " 700 true" "each page is the base of its next version"
finish
