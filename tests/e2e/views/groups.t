#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# .similar/.groups: a directory for each group, a link for each of its files.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
similar=$mnt/.similar

names() { # VIEW: its entries, in the order of readdir
	ls -U "$similar/$1" 2>&1
}

targets() { # VIEW...
	find "${@/#/$similar/}" -mindepth 1 -printf '%l\n' | sort | tr '\n' ' '
}

make_tree() {
	mkdir -p "$src"/docs/deep "$src/old"
	gen_text 300 1 >"$src/docs/report"
	edit_text 3 7 <"$src/docs/report" >"$src/old/draft"
	cp "$src/docs/report" "$src/docs/deep/report"
	gen 200000 5 >"$src/image"
	cp "$src/image" "$src/old/image"
	gen 3000 6 >"$src/old/one"
	cp "$src/old/one" "$src/old/two"
	gen_text 100 8 >"$src/alone"
}

test_groups() {
	is "$(names .groups | wc -l)" 3 "a directory for each group"
	is "$(names .groups | head -n 1)" 0001_2_195K_image \
		"named by place, files, bytes to save and head"
	like "$(names .groups | sed -n 2p)" \
		'^0002_3_[0-9]+K_(report|draft)$' "in order of the bytes"
	like "$(names .groups | sed -n 3p)" '^0003_2_2.9K_(one|two)$' \
		"also the small ones"
	is "$(targets .groups/0001_2_195K_image)" \
		"../../../image ../../../old/image " "with links to the files"
	is "$(cd "$similar" && targets .groups/0002_*)" \
		"../../../docs/deep/report ../../../docs/report ../../../old/draft " \
		"that are alike"
	like "$(ls -U "$similar"/.groups/0002_*)" '^100_(report|draft)' \
		"the head first"
	is "$(find -L "$similar/.groups" -type l)" "" "no link is broken"
	is "$(find -L "$similar/.groups" -type f | wc -l)" 7 \
		"find reaches all of them"
	is "$(getx "$similar/.groups" user.kinfs.state)" complete \
		"the state is told"
	is "$(getx "$similar/.groups/0001_2_195K_image" user.kinfs.state)" \
		complete "of one group, too"
	is "$(stat -c '%F %h %a' "$similar/.groups" \
		"$similar/.groups/0001_2_195K_image" | uniq)" \
		"directory 1 555" "they are directories"
}

test_below() {
	is "$(names docs/.groups | wc -l)" 1 "a directory has its own"
	is "$(cd "$similar" && targets docs/.groups/*)" \
		"../../../../docs/deep/report ../../../../docs/report " \
		"of the files below it alone"
	is "$(names docs/deep/.groups)" "" "or none"
	not_ok "a file has none" ls "$similar/alone/.groups"
}

test_hidden() {
	unlike "$(ls -a "$similar" "$similar/docs")" groups "nothing lists it"
	not_ok "no group of that name" ls "$similar/.groups/0009_2_1K_none"
	not_ok "nor of that place" ls "$similar/.groups/0001_2_195K_other"
	not_ok "no link of that name" \
		test -L "$similar/.groups/0001_2_195K_image/100_none"
	refused "nothing can be made there" "Read-only" \
		mkdir "$similar/.groups/new"
	refused "nor removed" "Read-only" \
		rm "$similar/.groups/0001_2_195K_image/100_image"
}

# A group that is entered again shows what is there by then.
test_current() {
	local group=$similar/.groups/0001_2_195K_image
	cd "$group" || return
	is "$(find . -type l | wc -l)" 2 "a group that is entered"
	rm "$mnt/old/image"
	wait_idle "$mnt"
	is "$(find -L . -type l | wc -l)" 0 "never has a broken link"
	cd / || return
	poll 30 not_there "$group"
	ok "and is gone when it is none any more" not_there "$group"
	cp "$src/image" "$mnt/old/image"
	wait_idle "$mnt"
	poll 30 is_there "$group"
	ok "and is back" is_there "$group"
}

not_there() {
	! ls "$1" >/dev/null 2>&1
}

is_there() {
	[ "$(find -L "$1" -type f 2>/dev/null | wc -l)" = 2 ]
}

test_real() {
	mkdir "$mnt/docs/.groups"
	cp "$src/docs/report" "$mnt/docs/.groups/copy"
	wait_idle "$mnt"
	ok "a real .groups is not hidden" test -d "$similar/docs/.groups/copy"
	like "$(daemon_log "$mnt")" "'.groups' in 'docs' is real" \
		"which the log says"
	rm -r "$mnt/docs/.groups"
	wait_idle "$mnt"
	is "$(names docs/.groups | wc -l)" 1 "and the view is back"
}

test_users() {
	chmod 700 "$mnt/old"
	chmod 600 "$mnt/docs/deep/report"
	wait_idle "$mnt"
	is "$(as_nobody ls "$similar/.groups")" "" \
		"nobody sees no group of files that it cannot read"
	chmod 644 "$mnt/docs/deep/report"
	wait_idle "$mnt"
	like "$(as_nobody ls "$similar/.groups")" '^0001_2_[0-9]+K_report$' \
		"and those of files that it can"
	is "$(as_nobody find "$similar/.groups" -type l -printf '%l\n' | sort |
		tr '\n' ' ')" \
		"../../../docs/deep/report ../../../docs/report " \
		"with these alone"
	is "$(names .groups | wc -l)" 3 "root sees all"
	not_ok "a group of another user has no name" \
		as_nobody ls "$similar/.groups/0001_2_195K_image"
	chmod 755 "$mnt/old"
}

make_tree
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"
test_groups
test_below
test_hidden
test_current
test_real
test_users
ok "the daemon is alive" alive "$mnt"
exec 7<"$similar/.groups"
kill "$(daemon_pid "$mnt")"
ok "it ends while groups are open" poll 20 gone "$(daemon_pid "$mnt")"
exec 7<&-
finish
