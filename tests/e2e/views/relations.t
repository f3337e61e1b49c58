#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The views of .similar: what contains a file, what it contains, directories.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
similar=$mnt/.similar

names() { # PATH below .similar
	ls -U "$similar/$1"
}

targets() { # PATH below .similar: what the links resolve to, in their order
	local name
	names "$1" | while read -r name; do
		realpath --relative-to="$mnt" "$similar/$1/$name"
	done
}

# A chapter within a book, the book in a library; two directories with nearly
# the same files, and one with nothing of them.
make_tree() {
	local n
	mkdir -p "$src/books" "$src/one/sub" "$src/old/two/sub" "$src/other"
	gen_text 300 1 >"$src/chapter"
	{ gen_text 900 2; cat "$src/chapter"; } >"$src/books/book"
	{ gen_text 4000 3; cat "$src/books/book"; } >"$src/books/library"
	for n in 1 2 3 4 5 6 7 8; do
		gen_text 200 "1$n" >"$src/one/sub/f$n"
		cp "$src/one/sub/f$n" "$src/old/two/sub/g$n"
	done
	edit_text 10 5 <"$src/one/sub/f1" >"$src/old/two/sub/g1"
	gen_text 200 20 >"$src/other/file"
}

test_within() {
	is "$(targets chapter/.within)" "books/book
books/library" "what contains a file"
	is "$(names chapter)" "" "which is not like it"
	is "$(names chapter/.within | cut -c 1-3 | sort -u)" 099 \
		"by how much of it they have"
	is "$(targets books/book/.within)" books/library "a book in a library"
	is "$(names books/library/.within)" "" "which is in nothing"
	is "$(readlink "$similar/books/book/.within/099_library")" \
		../../../../books/library "by a relative link"
}

test_contains() {
	is "$(targets books/library/.contains | sort)" "books/book
chapter" "what a file contains"
	is "$(targets books/book/.contains)" chapter "a book a chapter"
	is "$(names chapter/.contains)" "" "which contains nothing"
	is "$(names other/file/.contains)$(names other/file/.within)" "" \
		"what is alone has nothing in any view"
}

test_directories() {
	is "$(targets one/.dirs)" old/two/sub \
		"a directory with nearly the same files, the innermost"
	between "$(names one/.dirs | cut -c 1-3)" 90 99 \
		"nearly all: one of eight files was edited a little"
	is "$(targets old/.dirs)" one/sub "seen from the other side too"
	is "$(readlink "$similar/one/sub/.dirs"/*)" \
		../../../../old/two/sub "by a relative link"
	is "$(names other/.dirs)" "" "one that is like none"
	is "$(names .dirs)" "" "the root neither"
	cp -r "$mnt/one/sub" "$mnt/copy"
	wait_idle "$mnt"
	is "$(names one/sub/.dirs | head -n 1)" 100_copy \
		"with the same files: 100"
}

test_current() {
	mv "$mnt/copy" "$mnt/moved"
	is "$(targets one/sub/.dirs | head -n 1)" moved \
		"a directory that moved is listed where it is"
	mv "$src/moved" "$src/behind"
	is "$(targets one/sub/.dirs | grep -e copy -e moved)" "" \
		"one that was moved behind the mount's back is not"
	rm -r "$src/behind"
	rescan "$mnt"
	is "$(targets one/sub/.dirs)" old/two/sub "a removed one is gone"
	cp "$mnt/books/book" "$mnt/second"
	getx "$mnt/second" user.xxh128 >/dev/null
	is "$(targets chapter/.within | sort)" "books/book
books/library
second" "a new file is in the views at once"
	rm "$src/second"
	is "$(targets chapter/.within | grep second)" "" \
		"and no longer when it is removed behind the mount's back"
	rescan "$mnt"
}

test_hidden() {
	is "$(find "$similar" -name '.*' -mindepth 1)" "" \
		"find does not see the views"
	is "$(names "books/book" | grep '^\.')" "" "nor does ls"
	is "$(find "$mnt" -name '.query' -o -name '.dirs')" "" \
		"nor anybody in the mount itself"
	not_ok "there is no .within of a directory" \
		test -e "$similar/books/.within"
	not_ok "nor .dirs of a file" test -e "$similar/chapter/.dirs"
	not_ok "nor .query below the top" test -e "$similar/books/.query"
	not_ok "nor a view in a view" test -e "$similar/chapter/.within/.within"
}

test_stat() {
	is "$(stat -c '%F %a %h' "$similar/chapter/.within" \
		"$similar/chapter/.contains" "$similar/books/.dirs" |
		sort -u)" "directory 555 1" "views are directories"
	is "$(stat -c '%F %a' "$similar/chapter/.within"/*book)" \
		"symbolic link 777" "with links"
	is "$(stat -c '%F %a %h %s' "$similar/.query")" \
		"regular empty file 666 1 0" ".query is a file for everybody"
	is "$(stat -c %i "$similar/chapter" "$similar/chapter/.within" \
		"$similar/chapter/.contains" "$similar/.query" "$similar/.dirs" |
		sort | uniq -d)" "" "each has a number of its own"
	is "$(find -L "$similar/chapter/.within" "$similar/one/.dirs" \
		-maxdepth 1 -type l)" "" "no link is broken"
}

read_only() { # NAME COMMAND...
	local name=$1
	shift
	refused "EROFS: $name" "Read-only file system" "$@"
}

test_read_only() {
	local view
	for view in chapter/.within chapter/.contains books/.dirs; do
		read_only "a new file in $view" touch "$similar/$view/new"
		read_only "mkdir in $view" mkdir "$similar/$view/new"
		read_only "rmdir $view" rmdir "$similar/$view"
		read_only "chmod $view" chmod 700 "$similar/$view"
	done
	read_only "removing a link" rm "$similar/chapter/.within/099_book"
	read_only "removing .query" rm "$similar/.query"
	read_only "chmod .query" chmod 600 "$similar/.query"
	read_only "renaming .query" mv "$similar/.query" "$similar/other"
	read_only "renaming to .query" mv "$mnt/chapter" "$similar/.query"
}

test_cut() {
	like "$(state "$similar/chapter/.within")" '^complete' \
		"a view says that it is complete"
	unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o limit=1
	wait_idle "$mnt"
	is "$(names chapter/.within | wc -l)" 1 "limit=1 leaves one"
	like "$(state "$similar/chapter/.within")" '^cut' "and says so"
	unmount "$mnt"
}

# ---- other users ----

nobody_sees() { # PATH below .similar
	as_nobody ls -U "$similar/$1" 2>&1 | cut -d_ -f 2- | sort | tr '\n' ' '
}

test_users() {
	chmod 700 "$src/old/two/sub"
	chmod 600 "$src/books/library"
	mount_kinfs "$src" "$mnt" -o allow_other
	wait_idle "$mnt"
	is "$(targets chapter/.within | wc -l)" 2 "root sees both books"
	is "$(nobody_sees chapter/.within)" "book " \
		"nobody only the one that it can read"
	is "$(nobody_sees books/book/.contains)" "chapter " \
		"what it may see it sees"
	is "$(targets one/.dirs)" old/two/sub "root sees the directory"
	is "$(nobody_sees one/.dirs)" "" "nobody does not: it is closed"
	not_ok "nor asks what is like it" as_nobody ls "$similar/old/two/sub/.dirs"
	not_ok "nor finds a link by its name" as_nobody \
		test -L "$similar/chapter/.within/099_library"
	ok "where root does" test -L "$similar/chapter/.within/099_library"
	not_ok "a file that it cannot read has no views" as_nobody \
		ls "$similar/books/library/.contains"
	chmod 755 "$mnt/old/two/sub"
	chmod 600 "$mnt"/old/two/sub/*
	is "$(nobody_sees one/.dirs)" "" \
		"a directory whose files it cannot read is like none"
	chmod 644 "$mnt"/old/two/sub/*
	is "$(nobody_sees one/.dirs)" "sub " "open ones it sees"
}

# What leaks shows where the sanitizer looks.
test_open_at_the_end() {
	local pid status=0
	pid=$(daemon_pid "$mnt")
	exec 7<"$similar" 8<"$similar/books/book/.within" 9<>"$similar/.query"
	kill "$pid"
	ok "the daemon ends while views are open" poll 20 gone "$pid"
	wait "$pid" || status=$?
	is "$status" 0 "with success"
	is "$(daemon_log "$mnt")" "" "and without a word"
	exec 7<&- 8<&- 9<&-
}

make_tree
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
test_within
test_contains
test_directories
test_current
test_hidden
test_stat
test_read_only
test_cut
test_users
ok "the daemon is alive" alive "$mnt"
test_open_at_the_end
finish
