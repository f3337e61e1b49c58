#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Files that have a passage in common: .shares, kin similar --relation shares,
# the option share_min.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
similar=$mnt/.similar

names() { # FILE: the names of its links in .shares, without their scores
	# shellcheck disable=SC2012 # in the order of readdir
	ls -U "$similar/$1/.shares" | cut -d_ -f2- | tr '\n' ' '
}

# host SEED: a text of about 500 KB with the passage in it
host() {
	gen_text 3000 "$1"
	cat "$T/passage"
	gen_text 5000 "${1}9"
}

# Hosts share 5 % and nothing else; a version is one of them, edited.
make_tree() {
	mkdir -p "$src/deep/er"
	gen_text 450 1 >"$T/passage"
	host 2 >"$src/one"
	host 3 >"$src/deep/er/two"
	cp "$src/one" "$src/copy"
	edit_text 10 4 <"$src/one" >"$src/version"
	gen_text 8500 5 >"$src/unrelated"
	gen_text 60 6 >"$src/small"
	cp "$src/small" "$src/small2"
	{ cat "$src/small"; gen_text 8500 7; } >"$src/around"
	: >"$src/empty"
	# 200 lines are 24 KB with their blanks, 9 KB of letters.
	gen_text 200 8 >"$T/spaced"
	for seed in 91 92; do
		{ gen_text 900 $seed && cat "$T/spaced" && gen_text 900 ${seed}1; } |
			sed 's/ /          /g' >"$src/spaced$seed"
	done
}

test_listing() {
	is "$(names one)" "copy version two " \
		"what has a passage in common, most bytes first"
	is "$(names deep/er/two | tr ' ' '\n' | sort | tr '\n' ' ')" \
		"copy one version " "seen from the other side, too"
	is "$(ls "$similar/deep/er/two")" "" "although it is like none of them"
	is "$(cd "$similar/one/.shares" && echo 100_copy*)" 100_copy \
		"an exact copy has everything in common: 100"
	between "$(cd "$similar/one/.shares" && basename ./*_two _two)" 3 8 \
		"the number is the percentage of the file"
	is "$(readlink "$similar/deep/er/two/.shares"/*_one)" \
		../../../../../one "by a relative link"
	is "$(names spaced91)$(names spaced92)" "spaced92 spaced91 " \
		"a passage is as long as it is in the files"
	is "$(names unrelated)$(names empty)" "" "an unrelated file is not listed"
	is "$(names small)$(names around)" "" "nor what shares too little"
	is "$(getfattr --only-values -n user.kinfs.state \
		"$similar/one/.shares")" complete "the state says that it is all"
}

test_hidden() {
	is "$(find "$similar/one" -name '.?*')" "" "no listing shows the view"
	is "$(stat -c '%F %a %h' "$similar/one/.shares")" "directory 555 1" \
		"it is a directory"
	not_ok "there is none of a directory" test -e "$similar/deep/.shares"
	mkdir "$src/.shares"
	cp "$src/one" "$src/deep/.shares"
	wait_idle "$mnt"
	ok "a real directory of that name is mirrored" \
		test -d "$similar/.shares"
	ok "and a real file" test -d "$similar/deep/.shares/.shares"
	like "$(names deep/.shares)" one "which has a view as any other"
	rm -r "$src/.shares" "$src/deep/.shares"
	rescan "$mnt"
}

test_current() {
	cp "$src/deep/er/two" "$mnt/more"
	getx "$mnt/more" user.xxh128 >/dev/null
	like "$(names one)" more "a new file is listed at once"
	rm "$src/more"
	unlike "$(names one)" more \
		"and no longer when it is removed behind the mount's back"
	rescan "$mnt"
	exec 5<>"$mnt/unrelated"
	printf x >&5
	is "$(getfattr --only-values -n user.kinfs.state \
		"$similar/unrelated/.shares")" busy \
		"what is being written has no answer, and that is said"
	exec 5>&-
	wait_idle "$mnt"
}

test_kin_similar() {
	"$KIN" similar --relation shares "$mnt/one" >"$T/shares"
	like "$(head -n 1 "$T/shares")" '^SCORE  RELATION  SHARED  ' \
		"kin similar --relation shares has a column"
	is "$(sed -n 's,.*/,,p' "$T/shares" | tr '\n' ' ')" \
		"copy version two " "and the files in the same order"
	like "$(grep /two "$T/shares")" '^ +[3-8] +shares +[23][0-9]K ' \
		"with the bytes in common"
	between "$("$KIN" similar --relation shares --json "$mnt/deep/er/two" |
		jq 'select(.path == "one").shared')" \
		20000 40000 "--json has them as a number"
	is "$("$KIN" similar --json "$mnt/deep/er/two" |
		jq -r 'select(.path == "one").relation')" \
		shares "and names the relation, among all others"
	like "$("$KIN" similar --relation shares --of "$src/deep/er/two" "$mnt")" \
		/two "--of: of a file of elsewhere; itself is one, too"
	is "$("$KIN" similar --relation shares "$mnt/unrelated" 2>"$T/errors")" \
		"" "nothing of an unrelated file"
}

test_why() {
	like "$("$KIN" similar --why --relation shares "$mnt/one" "$mnt/deep/er/two")" \
		'^listed: shares; .* passages of about [23][0-9]K, share_min 16K' \
		"--why: a passage that is long enough"
	like "$("$KIN" similar --why --relation shares "$mnt/one" \
		"$mnt/deep/er/two" | sed 1d)" '^  lines 30[0-9]+-345[0-9], there ' \
		"... and where it is"
	like "$("$KIN" similar --why --relation shares "$mnt/one" "$mnt/unrelated")" \
		'^not listed: .*no passage that can be told, share_min 16K$' \
		"--why: none"
	like "$("$KIN" similar --why --relation shares "$mnt/small" "$mnt/around")" \
		'^not listed: .*too short.*, share_min 16K$' \
		"--why: one that is too short"
	"$KIN" ignore "$mnt/one" "$mnt/deep/er/two" >"$T/ignored" 2>&1
	unlike "$(names one)" two "a pair that is ignored is not listed"
	like "$("$KIN" similar --why --relation shares "$mnt/one" "$mnt/deep/er/two")" \
		'^not listed: the pair is ignored.* about' "--why: says so"
	"$KIN" ignore --forget "$mnt/one" "$mnt/deep/er/two" >"$T/ignored" 2>&1
}

test_usage() {
	refused "a directory has no passages" 'a directory' \
		"$KIN" similar --relation shares "$mnt/deep"
	refused "--everywhere does not know them" 'everywhere' \
		"$KIN" similar --relation shares --everywhere "$mnt/one"
}

# ---- rights ----

test_rights() {
	mkdir "$T/open"
	chmod 711 "$T"
	share_programs
	host 31 >"$T/open/mine"
	host 32 >"$T/open/theirs"
	host 33 >"$T/open/secret"
	chmod 0 "$T/open/secret"
	mkdir "$T/shared"
	mount_kinfs "$T/open" "$T/shared" -o allow_other
	wait_idle "$T/shared"
	is "$(as_nobody ls "$T/shared/.similar/mine/.shares" | cut -d_ -f2-)" \
		theirs "a file that the caller cannot read is not listed"
	is "$(as_nobody "$KIN" similar --relation shares "$T/shared/mine" |
		grep -c /secret)" 0 "nor printed"
	is "$(cd "$T/shared/.similar/mine/.shares" && set -- * && echo $#)" 2 \
		"root sees both"
	refused "what cannot be read has no view" '' \
		as_nobody ls "$T/shared/.similar/secret/.shares"
	unmount "$T/shared"
}

# ---- options ----

test_share_min() {
	mount_kinfs "$src" "$mnt" -o share_min=3K
	wait_idle "$mnt"
	is "$(names small)" "small2 " \
		"share_min=3K: a copy of a small file"
	is "$(status_field "$mnt" share_min)" 3072 "the status has it in bytes"
	unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o share_min=1m
	wait_idle "$mnt"
	is "$(names one)" "" "share_min=1m: not even copies of less than that"
	unmount "$mnt"
}

# Without sketches nothing can be told; nothing fails.
test_without_sketches() {
	mount_kinfs "$src" "$mnt" -o digests=simhash:xxh128
	wait_idle "$mnt"
	is "$(names deep/er/two)" "" "without sketches no passage is known"
	is "$(names one)" "copy " "exact copies are"
	unmount "$mnt"
}

make_tree
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
test_listing
test_hidden
test_kin_similar
test_why
test_usage
test_current
unmount "$mnt"
test_share_min
test_without_sketches
test_rights
finish
