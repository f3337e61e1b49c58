#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin ignore: listings and groups leave out what is known to be alike; the
# decisions survive the catalog.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
open_fuse_to_all
share_programs

src=$T/src
mnt=$T/mnt
list() { # FILE: the names alike
	find "$mnt/.similar/$1/" -mindepth 1 -printf '%f\n' | sort |
		sed 's/^[0-9]*_//' | tr '\n' ' '
}
group_count() {
	"$KIN" groups --json "$mnt" | grep -c '"members"'
}
db() {
	catalog_of "$mnt"
}

mkdir "$src"
gen_text 300 1 >"$src/a"
edit_text 2 7 <"$src/a" >"$src/b"
cp "$src/b" "$src/c"
gen_text 300 5 >"$src/lone"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"

is "$(list a)" "b c " "at first both are listed"
ok "a pair is ignored" "$KIN" ignore "$mnt/a" "$mnt/b"
is "$(list a)" "" "neither copy of that content is listed"
is "$(list b)" "c " "the other pair still is"
is "$(group_count)" 1 "a group with copies that nobody decided on stays"
ok "exact copies are ignored" "$KIN" ignore "$mnt/b" "$mnt/c"
is "$(list b)" "" "they are not listed"
refused "a pair that is not ignored cannot be forgotten" "not ignored" \
	"$KIN" ignore --forget "$mnt/a" "$mnt/lone"
ok "forgotten" "$KIN" ignore --forget "$mnt/b" "$mnt/a"
is "$(list a)" "b c " "listed again"
ok "the other one, too" "$KIN" ignore --forget "$mnt/b" "$mnt/c"

"$KIN" groups --json "$mnt" >"$T/groups"
ignore_group() {
	"$KIN" ignore --group "$mnt" <"$T/groups"
}
ok "a group is ignored" ignore_group
is "$(group_count)" 0 "it is left out"
is "$(list a)$(list b)" "" "and its pairs"
is "$(find "$mnt/.similar" -mindepth 1 -maxdepth 1 -type d)" "" \
	"no directory leads to it"
like "$("$KIN" ignore --list "$mnt" | sed -n 1p)" '^A +B +PATHS$' \
	"the list has titles"
like "$("$KIN" ignore --list "$mnt" | sed -n 2p)" \
	'^[0-9a-f]{32}:[0-9]+  [0-9a-f]{32}:[0-9]+  [abc] [abc]$' \
	"and the pairs, with their paths"
"$KIN" ignore --list "$mnt" >"$T/before"

# ---- the other views ----

head -c 9000 "$mnt/lone" >"$mnt/part"
wait_idle "$mnt"
is "$(list part/.within)" "lone " "a fragment is found in what contains it"
ok "that pair is ignored" "$KIN" ignore "$mnt/part" "$mnt/lone"
is "$(list part/.within)$(list lone/.contains)" "" "then it is in neither view"
entry_count() {
	"$KIN" similar --json "$@" | grep -o '"score"' | wc -l
}
is "$(entry_count "$mnt/a")" 0 "kin similar lists no ignored pair"
is "$(entry_count --of "$src/a" "$mnt")" 3 \
	"a file of elsewhere is asked about as if nothing was decided"
rm "$mnt/part"

# ---- what joins, and what lasts ----

edit_text 2 11 <"$src/a" >"$mnt/new"
wait_idle "$mnt"
is "$(group_count)" 1 "a content that is not known brings the group back"
is "$(list a)" "new " "a listing has the new content alone"
rm "$mnt/new"
echo more >>"$mnt/a"
wait_idle "$mnt"
is "$(list a)" "b c " "what was edited is listed again"
cp "$src/a" "$T/a" && head -n -1 "$T/a" >"$mnt/a"
wait_idle "$mnt"
is "$(list a)" "" "with the old content it is not"

unmount "$mnt"
rm "$(db)/data.mdb"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
is "$(list a)" "" "a catalog that is rebuilt keeps the decisions"

# ---- others ----

unmount "$mnt"
chmod 711 "$T"
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"
is "$(list a)" "" "remounted, the decisions hold"
cp "$(db)/ignored" "$T/before-others"
refused "another user may not decide" "." \
	as_nobody "$T/bin/kin" ignore "$mnt/a" "$mnt/lone"
refused "nor see the decisions" "." as_nobody "$T/bin/kin" ignore --list "$mnt"
same "nothing was changed" "$(db)/ignored" "$T/before-others"

# ---- damage and refusals ----

echo 'no pair' >>"$(db)/ignored"
refused "a damaged line is named" "line .* is not a pair" \
	"$KIN" ignore --list "$mnt"
"$KIN" ignore "$mnt/a" "$mnt/lone" 2>"$T/errors"
is "$(grep -c 'no pair' "$(db)/ignored")" 1 "and kept"
is "$(list a)" "" "the others count"
refused "a group that is none" "line 1 is not a group" \
	"$KIN" ignore --group "$mnt" <"$T/before"
refused "a directory" "not a regular file" "$KIN" ignore "$mnt" "$mnt/a"
refused "a file that is in no mount" "" "$KIN" ignore "$0" "$0"
writers=()
for n in 1 2 3 4 5 6 7 8; do gen_text 20 "3$n" >"$mnt/w$n"; done
wait_idle "$mnt"
for n in 1 2 3 4 5 6 7 8; do
	"$KIN" ignore "$mnt/lone" "$mnt/w$n" 2>>"$T/errors" &
	writers+=($!)
done
wait "${writers[@]}"
is "$("$KIN" ignore --list "$mnt" 2>"$T/errors" | grep -c /w)" 8 \
	"programs at once lose nothing of each other"

finish
