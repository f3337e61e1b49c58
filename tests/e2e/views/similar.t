#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The promises of the /.similar tree.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt

listing() { # FILE: names in its listing, in the order of readdir
	ls -U "$mnt/.similar/$1"
}

targets() { # FILE: what the links resolve to, relative to the mount, sorted
	local link
	for link in "$mnt/.similar/$1"/*; do
		[ -L "$link" ] || continue
		realpath --relative-to="$mnt" "$link"
	done | sort
}

score_of() { # FILE OTHER: of the link to it, empty when there is none
	local link
	for link in "$mnt/.similar/$1"/*; do
		[ "$(realpath --relative-to="$mnt" "$link")" = "$2" ] || continue
		link=${link##*/}
		echo "${link%%_*}"
	done
}

remount() { # OPTIONS...
	unmount "$mnt" || bail "unmount" "$(daemon_log "$mnt")"
	mount_kinfs "$src" "$mnt" "$@"
	wait_idle "$mnt"
}

# A file, copies at several depths, drafts that are further and further off,
# and files that resemble nothing.
make_tree() {
	local n
	mkdir -p "$src/a/b/c" "$src/lonely/deep" "$src/drafts"
	gen_text 400 1 >"$src/main.txt"
	cp "$src/main.txt" "$src/a/copy1.txt"
	cp "$src/main.txt" "$src/a/b/c/copy3.txt"
	for n in 5 15 30; do
		edit_text "$n" "$n" <"$src/main.txt" >"$src/drafts/d$n.txt"
	done
	gen_text 400 2 >"$src/lonely/deep/alone.txt"
	gen 20000 3 >"$src/lonely/random.bin"
	: >"$src/empty1"
	: >"$src/empty2"
}

in_readdir() { # NAME: of the root
	find "$mnt" -mindepth 1 -maxdepth 1 | grep -qxF "$mnt/$1"
}

test_place() {
	not_ok "readdir of the root does not return .similar" in_readdir .similar
	is "$(find "$mnt" -name '*100_*')" "" "find does not walk into it"
	ok "lookup finds it" test -d "$mnt/.similar"
	is "$(ls "$mnt/a")" "b
copy1.txt" "other directories have none"
	not_ok "nor by lookup" test -e "$mnt/a/.similar"
}

test_mirror() {
	is "$(ls "$mnt/.similar")" "a
drafts
main.txt" "the root shows only what has something similar"
	is "$(ls "$mnt/.similar/a/b/c")" copy3.txt "so do directories below"
	ok "a directory without anything is found by its path" \
		test -d "$mnt/.similar/lonely/deep"
	is "$(ls "$mnt/.similar/lonely/deep")" "" "and is empty"
	ok "so is a file without anything" \
		test -d "$mnt/.similar/lonely/deep/alone.txt"
	is "$(listing lonely/deep/alone.txt)" "" "and is empty"
	not_ok "what is not there is not found" \
		test -e "$mnt/.similar/lonely/nosuch"
	ok "a file's place is a directory" test -d "$mnt/.similar/main.txt"
	is "$(stat -c %h "$mnt/.similar" "$mnt/.similar/a" \
		"$mnt/.similar/main.txt" | sort -u)" 1 "st_nlink is 1"
	is "$(find "$mnt/.similar" -mindepth 2 -not -type d -not -type l)" "" \
		"there is nothing but directories and links"
}

test_links() {
	is "$(targets main.txt)" "a/b/c/copy3.txt
a/copy1.txt
drafts/d15.txt
drafts/d30.txt
drafts/d5.txt" "the links of a file in the root lead to its like"
	is "$(targets a/b/c/copy3.txt)" "a/copy1.txt
drafts/d15.txt
drafts/d30.txt
drafts/d5.txt
main.txt" "so do those of a deep one"
	is "$(readlink "$mnt/.similar/main.txt/100_copy1.txt")" \
		../../a/copy1.txt "targets are relative"
	is "$(readlink "$mnt/.similar/a/b/c/copy3.txt/100_main.txt")" \
		../../../../../main.txt "at every depth"
	is "$(xxhsum <"$mnt/.similar/a/copy1.txt/100_copy3.txt")" \
		"$(xxhsum <"$src/main.txt")" "they are read through"
	is "$(find -L "$mnt/.similar" -maxdepth 6 -type l)" "" "none is broken"
	mkdir -p "$T/bound"
	mount --bind "$mnt" "$T/bound"
	ok "they work in a bind mount" cmp \
		"$T/bound/.similar/main.txt/100_copy1.txt" "$src/main.txt"
	umount "$T/bound"
}

test_scores() {
	unlike "$(listing main.txt)" '(^|'$'\n'')([^0-9]|[0-9]{1,2}_)' \
		"every name starts with three digits"
	is "$(cd "$mnt/.similar" && find . -name '100_*' | wc -l)" 6 \
		"100_ is there for the identical ones only"
	between "$(score_of main.txt drafts/d5.txt)" 88 99 \
		"5 % of the text replaced: about 95"
	between "$(score_of main.txt drafts/d15.txt)" 76 94 \
		"15 % replaced: about 85"
	between "$(score_of main.txt drafts/d30.txt)" 60 82 \
		"30 % replaced: about 70"
	is "$(score_of drafts/d5.txt main.txt)" \
		"$(score_of main.txt drafts/d5.txt)" "seen from the other side too"
	is "$(listing main.txt | cut -c 1-3)" \
		"$(listing main.txt | cut -c 1-3 | sort -r)" "best first"
	is "$(ls -U "$mnt/.similar/a")" "$(ls -U "$mnt/.similar/a")" \
		"the same order every time"
}

test_near_identical() {
	gen 300000 60 >"$src/big1"
	{ gen 300000 60; printf x; } >"$src/big2"
	gen 300000 61 >"$src/big3"
	rescan "$mnt"
	between "$(score_of big1 big2)" 90 99 "one byte more is at most 99"
	is "$(targets big1)" big2 "and random data resembles nothing else"
	rm "$src"/big?
	rescan "$mnt"
}

test_empty() {
	is "$(listing empty1)" "" "empty files are similar to nothing"
	ok "but have their directory" test -d "$mnt/.similar/empty1"
}

read_only() { # NAME COMMAND...
	local name=$1
	shift
	refused "EROFS: $name" "Read-only file system" "$@"
}

test_read_only() {
	local dir=$mnt/.similar/main.txt
	read_only "a new file" touch "$dir/new"
	read_only "a new file in .similar" touch "$mnt/.similar/new"
	read_only "mkdir" mkdir "$dir/new"
	read_only "removing a link" rm "$dir/100_copy1.txt"
	read_only "renaming a link" mv "$dir/100_copy1.txt" "$dir/other"
	read_only "renaming out of it" mv -T "$dir/100_copy1.txt" "$mnt/main.txt"
	read_only "rmdir" rmdir "$dir"
	read_only "symlink" ln -s x "$dir/new"
	read_only "hard link into it" ln "$mnt/main.txt" "$dir/new"
	read_only "chmod" chmod 700 "$dir"
	read_only "chown" chown 1 "$dir"
	read_only "touch -d" touch -d 2001-01-01 "$dir"
	read_only "setfattr" setfattr -n user.x -v 1 "$dir"
	read_only "removing a file's directory" rmdir "$mnt/.similar"
	read_only "renaming .similar" mv -T "$mnt/.similar" "$mnt/other"
	read_only "moving a file in" mv -T "$mnt/empty1" "$dir/new"
	ok "and everything is still there" cmp "$dir/100_copy1.txt" \
		"$mnt/main.txt"
	ok "and in SOURCE" test ! -e "$src/.similar" -a -e "$src/empty1"
}

inodes() { # DIRECTORY
	find "$1" -printf '%i %P\n' | sort
}

numbers_by_readdir() { # FILE
	# shellcheck disable=SC2012 # find would stat
	ls -Ui1 "$mnt/.similar/$1" | sed 's/^ *//' | sort
}

numbers_by_stat() { # FILE
	stat -c '%i %n' "$mnt/.similar/$1"/* | sed 's# .*/# #' | sort
}

# Makes the kernel forget what nobody uses.
drop_caches() {
	echo 2 >/proc/sys/vm/drop_caches
}

test_inodes() {
	inodes "$mnt/.similar" >"$T/first"
	is "$(numbers_by_readdir main.txt)" "$(numbers_by_stat main.txt)" \
		"readdir and stat agree on inode numbers"
	drop_caches
	inodes "$mnt/.similar" >"$T/second"
	same "inode numbers stay" "$T/second" "$T/first"
	is "$(cut -d' ' -f1 "$T/first" | sort | uniq -d)" "" \
		"no number is used twice"
	is "$({ find "$mnt" -printf '%i\n' | sort -u
		cut -d' ' -f1 "$T/first" | sort -u; } | sort | uniq -d)" "" \
		"nor is one that a real file has"
}

test_behind() {
	cp "$src/main.txt" "$src/a/victim1"
	cp "$src/main.txt" "$src/a/victim2"
	cp "$src/main.txt" "$src/a/victim3"
	cp "$src/main.txt" "$src/a/victim4"
	rescan "$mnt"
	is "$(targets main.txt | grep -c victim)" 4 "four more copies"
	rm "$src/a/victim1"
	echo "no longer" >>"$src/a/victim2"
	mv "$src/a/victim3" "$src/a/elsewhere"
	gen_text 10 99 >"$T/new" && mv "$T/new" "$src/a/victim4"
	is "$(listing main.txt | grep '100_victim')" "" \
		"gone, changed, moved and replaced ones are not listed"
	is "$(targets main.txt | grep -c 'victim[134]')" 0 \
		"under no score"
	rm "$src/a/elsewhere" "$src/a"/victim*
	rescan "$mnt"
}

test_current() {
	cp "$mnt/main.txt" "$mnt/a/made.txt"
	is "$(listing a/made.txt | head -n 1 | cut -c 1-4)" 100_ \
		"a copy made through the mount has a listing at once"
	is "$(targets main.txt | grep made)" a/made.txt \
		"and is in that of the original"
	ok "where lookup finds it, too" \
		test -L "$mnt/.similar/main.txt/100_made.txt"
	mv "$mnt/a/made.txt" "$mnt/a/b/renamed.txt"
	is "$(targets main.txt | grep -e made -e renamed)" a/b/renamed.txt \
		"a renamed one by its new name"
	mv "$mnt/a/b" "$mnt/moved"
	is "$(targets main.txt | grep renamed)" moved/renamed.txt \
		"also when its directory moves"
	mv "$mnt/moved" "$mnt/a/b"
	rm "$mnt/a/b/renamed.txt"
	is "$(targets main.txt | grep renamed)" "" "a removed one goes"
	not_ok "also for lookup" \
		test -L "$mnt/.similar/main.txt/100_renamed.txt"
}

test_current_directories() {
	is "$(ls "$mnt/.similar/lonely")" "" "a directory without anything"
	cp "$mnt/lonely/random.bin" "$mnt/lonely/deep/copy"
	is "$(listing lonely/deep/copy)" 100_random.bin "gets a copy"
	is "$(ls "$mnt/.similar/lonely")" "deep
random.bin" "and is shown"
	rm "$mnt/lonely/deep/copy"
	is "$(ls "$mnt/.similar/lonely")" "" "and no longer when it goes"
}

test_hard_links() {
	gen_text 100 70 >"$src/h1"
	ln "$src/h1" "$src/h2"
	rescan "$mnt"
	is "$(listing h1)" "" "a hard link is not similar to itself"
	cp "$src/h1" "$src/h3"
	rescan "$mnt"
	is "$(listing h3 | wc -l)" 1 "two names of one inode are listed once"
	rm "$src"/h?
	rescan "$mnt"
}

test_equal_names() {
	local n
	for n in 1 2 3; do
		mkdir -p "$src/eq$n"
		gen_text 100 80 >"$src/eq$n/same.txt"
	done
	gen_text 100 80 >"$src/asker"
	rescan "$mnt"
	is "$(listing asker)" "100_same.txt
100_same.txt~2
100_same.txt~3" "equal names get ~2 and ~3"
	is "$(targets asker)" "eq1/same.txt
eq2/same.txt
eq3/same.txt" "and lead to different files"
	rm -r "$src/asker" "$src"/eq?
	rescan "$mnt"
}

test_long_names() {
	local long link
	long=$(perl -e 'print "\xe2\x82\xac" x 85')
	mkdir -p "$src/long1" "$src/long2"
	gen_text 100 90 >"$src/asker"
	cp "$src/asker" "$src/long1/$long"
	cp "$src/asker" "$src/long2/$long"
	rescan "$mnt"
	is "$(listing asker | wc -l)" 2 "names of 255 bytes are listed"
	for link in "$mnt/.similar/asker"/*; do
		between "$(printf %s "${link##*/}" | wc -c)" 240 255 \
			"within NAME_MAX"
		ok "cut at a character" iconv -f UTF-8 -t UTF-16 -o /dev/null \
			<(printf %s "${link##*/}")
	done
	is "$(targets asker | wc -l)" 2 "and lead to their files"
	is "$(targets "long1/$long" | wc -l)" 2 \
		"such a name has a listing, too"
	rm -r "$src/asker" "$src"/long?
	rescan "$mnt"
}

test_threshold() {
	remount -o threshold=90
	is "$(targets main.txt)" "a/b/c/copy3.txt
a/copy1.txt
drafts/d5.txt" "threshold=90 leaves what is above"
	remount -o threshold=100
	is "$(targets main.txt)" "a/b/c/copy3.txt
a/copy1.txt" "threshold=100 leaves the identical ones"
}

test_limit() {
	local cut
	remount -o limit=2
	is "$(targets main.txt)" "a/b/c/copy3.txt
a/copy1.txt
drafts/d15.txt
drafts/d5.txt" "limit=2 leaves the two best, and all identical ones"
	cut=$(state "$mnt/.similar/main.txt")
	like "$cut" 'cut|limit' "a listing that was cut says so"
	remount
	unlike "$(state "$mnt/.similar/main.txt")" 'cut|limit' \
		"one that was not does not"
}

# A file that repeats one byte is like none but its copies, seen from any side.
test_one_byte() {
	mkdir "$src/one"
	head -c 20000 /dev/zero >"$src/one/zeros"
	head -c 25000 /dev/zero >"$src/one/more"
	cp "$src/one/zeros" "$src/one/copy"
	head -c 15 /dev/zero >"$src/one/short"
	{
		gen_text 200 5
		head -c 60000 /dev/zero
	} >"$src/one/padded"
	gen_text 200 5 >"$src/one/text"
	remount -o threshold=1
	is "$(targets one/zeros)" one/copy "zeros: the copy alone"
	is "$(targets one/more)" "" "other zeros: nothing"
	is "$(targets one/short)" "" "a few zeros: nothing"
	between "$(score_of one/text one/padded)" 99 99 \
		"padding with zeros changes nothing"
	rm -r "$src/one"
	remount
}

# More than are looked for by default, and a list that is longer than a page.
test_large_limit() {
	local i text
	mkdir "$src/many"
	text=$(gen_text 60 77)
	for ((i = 0; i < 1300; i++)); do
		printf '%s\nthe number of this one is %d\n' "$text" "$i" \
			>"$src/many/$i"
	done
	remount -o limit=1200
	is "$(targets many/7 | wc -l)" 1200 "limit=1200 lists 1200 of 1299"
	is "$(state "$mnt/.similar/many/7")" cut:1200 "... and says so"
	remount -o limit=2000
	is "$(targets many/7 | sort -u | wc -l)" 1299 "limit=2000 lists all"
	is "$(state "$mnt/.similar/many/7")" complete "... and says so"
	rm -r "$src/many"
	remount
}

test_min_size() {
	remount -o min_size=30000
	is "$(targets main.txt)" "" "below min_size nothing is similar"
	like "$(state "$mnt/main.txt")" '^skipped:' "the state names the rule"
	like "$(state "$mnt/main.txt")" 'min_size' "which is min_size"
	is "$(errno_of getx "$mnt/main.txt" user.xxh128)" ENODATA \
		"and there is no digest"
	remount -o min_size=1000k
	like "$(state "$mnt/main.txt")" '^skipped:' "min_size=1000k is a size"
	remount
	is "$(targets main.txt | wc -l)" 5 "without it they are back"
}

test_exclude() {
	remount -o 'exclude=drafts' -o 'exclude=*copy3*'
	is "$(targets main.txt)" a/copy1.txt "excluded files are not listed"
	like "$(state "$mnt/drafts/d5.txt")" '^skipped:' "their state says so"
	gen_text 50 9 >"$src/one,two"
	remount -o 'exclude=one\,two,exclude=drafts'
	like "$(state "$mnt/one,two")" '^skipped:' \
		"a comma in a pattern is written with a backslash"
	like "$(state "$mnt/drafts/d5.txt")" '^skipped:' \
		"and the next option is one of its own"
	rm "$src/one,two"
}

# With the way up to the root a path that can be opened may be too long for a
# link.
test_long_targets() {
	local deep
	remount
	deep=$(printf '%060d' 0)
	(
		cd "$mnt" || exit
		for _ in {1..64}; do
			mkdir "$deep" && cd "$deep" || exit
		done
		gen_text 50 77 >one
		cp one two
	) || bail "deep directories" "they cannot be made"
	wait_idle "$mnt"
	(
		cd "$mnt/.similar" || exit
		for _ in {1..64}; do
			cd "$deep" || exit
		done
		ls one/
		readlink -v one/100_two
	) >"$T/deep" 2>&1
	is "$(head -n 1 "$T/deep")" 100_two "a link too long to read is listed"
	like "$(tail -n 1 "$T/deep")" 'File name too long' \
		"and readlink says so"
	unlike "$(daemon_log "$mnt")" 'Invalid argument' \
		"the daemon gives the kernel nothing that it refuses"
	rm -r "${mnt:?}/$deep"
}

test_options() {
	remount -o similar=off
	not_ok "similar=off: there is none" test -e "$mnt/.similar"
	ok "similar=off: the name is an ordinary one" mkdir "$mnt/.similar"
	ok "similar=off: in SOURCE" rmdir "$src/.similar"
	remount -o similar=show
	ok "similar=show: readdir returns it" \
		in_readdir .similar
	ok "similar=show: and it works" test -L \
		"$mnt/.similar/main.txt/100_copy1.txt"
	remount -o similar_name=.alike
	ok "similar_name: lookup finds it by that name" test -L \
		"$mnt/.alike/main.txt/100_copy1.txt"
	not_ok "similar_name: and by no other" test -e "$mnt/.similar"
}

test_real_entry() {
	unmount "$mnt"
	mkdir "$src/.similar"
	echo real >"$src/.similar/file"
	mount_kinfs "$src" "$mnt"
	like "$(daemon_log "$mnt")" '\.similar' \
		"a real .similar in SOURCE is reported"
	like "$(daemon_log "$mnt")" similar_name "with the way out"
	remount -o similar_name=.alike
	is "$(cat "$mnt/.similar/file")" real "similar_name makes it work"
	ok "with both" test -L "$mnt/.alike/main.txt/100_copy1.txt"
	rm -r "$src/.similar"
}

seen_by_nobody() { # FILE
	as_nobody ls -U "$mnt/.similar/$1" | cut -d_ -f2- | sort | tr '\n' ' '
}

test_two_users() {
	unmount "$mnt"
	mkdir -p "$src/private" "$src/group"
	gen_text 100 95 >"$src/public"
	cp "$src/public" "$src/private/in-closed"
	cp "$src/public" "$src/group/in-group"
	cp "$src/public" "$src/closed"
	cp "$src/public" "$src/open"
	chmod 700 "$src/private"
	chmod 750 "$src/group"
	chgrp 12345 "$src/group"
	chmod 600 "$src/closed"
	mount_kinfs "$src" "$mnt" -o allow_other
	wait_idle "$mnt"
	is "$(listing public | wc -l)" 4 "root sees all four copies"
	is "$(seen_by_nobody public)" "open " \
		"nobody only what it can reach and read"
	is "$(setpriv --reuid=65534 --regid=65534 --groups=12345 \
		ls "$mnt/.similar/public" | cut -d_ -f2- | tr '\n' ' ')" \
		"in-group open " "a member of the group also that"
	is "$(as_nobody ls "$mnt/.similar" | grep -c private)" 0 \
		"a closed directory is not mirrored for nobody"
	not_ok "and cannot be entered" as_nobody ls "$mnt/.similar/private"
	not_ok "not even by name" as_nobody ls "$mnt/.similar/private/in-closed"
	is "$(as_nobody ls "$mnt/.similar/closed" 2>/dev/null)" "" \
		"a file one cannot read shows nothing"
	is "$(as_nobody ls "$mnt/.similar" | grep -c closed)" 0 \
		"and is not mirrored"
}

# What kin similar prints is the listing.
test_kin_similar() {
	"$KIN" similar "$mnt/main.txt" >"$T/similar" 2>&1
	is "$(grep -c 'copy1\.txt\|copy3\.txt\|d5\.txt\|d15\.txt\|d30\.txt' \
		"$T/similar")" 5 "kin similar prints the same files"
}

make_tree
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
test_place
test_mirror
test_links
test_scores
test_kin_similar
test_empty
test_read_only
test_inodes
test_near_identical
test_behind
test_current
test_current_directories
test_hard_links
test_equal_names
test_long_names
test_threshold
test_limit
test_one_byte
test_large_limit
test_min_size
test_exclude
test_long_targets
test_options
test_real_entry
test_two_users
ok "the daemon is alive" alive "$mnt"
finish
