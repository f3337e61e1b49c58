#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every command that the README prints works as it is printed, in that order,
# for an ordinary user; so do those that "make mount" prints.  The lines that
# remove duplicates leave one copy of everything.
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2016
. tests/e2e/lib.sh
private_namespace
open_fuse_to_all
share_programs

# shellcheck source=tests/e2e/helper/share.sh disable=SC1091
. tests/e2e/helper/share.sh

home=$T/home

user() { # COMMAND...
	as_nobody env -u XDG_STATE_HOME -u XDG_RUNTIME_DIR HOME="$home" \
		PATH="$T/bin:$PATH" "$@"
}

make_home() {
	local n doc=$home/Documents
	mkdir -p "$doc/archive" "$doc/project/src" "$home/Downloads"
	gen_text 500 1 | sed '7s/^/Quijote /' >"$doc/report.txt"
	edit_text 1 2 <"$doc/report.txt" >"$doc/report-draft.txt"
	cp "$doc/report.txt" "$doc/archive/report-2019.txt"
	head -n 350 "$doc/report.txt" >"$doc/archive/summary.txt"
	{ cat "$doc/report.txt" "$doc/report-draft.txt" && gen_text 300 5; } \
		>"$doc/all-reports.txt"
	edit_text 9 3 <"$doc/report.txt" >"$home/Downloads/attachment.txt"
	for n in 1 2 3 4; do
		gen_text 100 "1$n" >"$doc/project/src/part$n.c"
	done
	cp -r "$doc/project" "$doc/project-old"
	gen_text 20 20 >"$doc/project-old/src/todo.txt"
	chown -R 65534:65534 "$home"
}

# What comes after "$ " in the README, a command a line; unmounting is last.
readme_commands() {
	sed -n 's/^    \$ //p' README.md | grep -v '^fusermount3'
	sed -n 's/^    \$ //p' README.md | grep '^fusermount3'
}

test_session() {
	local command
	while IFS= read -r command; do
		ok "$command" user timeout 600 bash -c "cd && $command"
		[ -s "$T/output" ] || diag "prints nothing"
		case $command in
		"ls -lr "*)
			like "$(grep -v total "$T/output" | head -n 1)" \
				' 100_' "the best is first" ;;
		"find -L"*)
			like "$(cat "$T/output")" 'report-2019' \
				"a family is found" ;;
		"kin groups kin")
			like "$(cat "$T/output")" '100 .*report-draft.txt' \
				"with the head first" ;;
		"kin groups --exact --across"*)
			is "$(cat "$T/output")" "" "no copy is outside" ;;
		*"jq "*)
			like "$(cat "$T/output")" '^report.txt' \
				"the newest of the family" ;;
		*"kin dedup -")
			like "$(tail -n 1 "$T/output")" '^4 files would be' \
				"four copies could go" ;;
		"ls -lrtL "*)
			like "$(tail -n 1 "$T/output")" 'report.txt$' \
				"the newest is the last" ;;
		"find "*)
			is "$(wc -l <"$T/output")" 10 \
				"two names for each of five pairs" ;;
		"kin-share --db "*)
			ok "... which answers soon" poll 60 user \
				timeout 60 "$KIN" similar --everywhere \
				"$home/kin/report.txt" ;;
		"kin similar --in "*)
			like "$(cat "$T/output")" '100 +copy .* report.txt' \
				"the file itself is in the export" ;;
		"kin similar "*)
			like "$(cat "$T/output")" '[0-9] .* (kin|/.*/kin)/' \
				"something is similar" ;;
		esac
	done < <(readme_commands)
	unlike "$(user mount)" " $home/kin " "nothing is mounted in the end"
}

# The first example of kinfs(8).
test_manual() {
	local command
	rmdir "$home/kin"
	while IFS= read -r command; do
		ok "kinfs(8): $command" user timeout 600 \
			bash -c "cd && $command"
	done < <(sed -n '/^Mount, look, unmount:$/,/^\.Ed$/ s/^\([^.].*[^:]\)$/\1/p' \
		fs/kinfs.8)
	unlike "$(user mount)" " $home/kin " "nothing is mounted in the end"
}

# The lines that "make mount" prints, with a file for FILE.
test_make_mount() {
	local command
	user env SRC="$home/Documents" MNT="$home/my kin" KINFS="$KINFS" \
		KIN="$KIN" scripts/mount >"$T/says" || bail "make mount"
	while IFS= read -r command; do
		ok "$command" user timeout 600 \
			bash -c "cd && ${command/FILE/report.txt}"
	done < <(sed -n 's/^  //p' "$T/says")
}

# ---- removing duplicates ----

# The block of the README that begins with the line given, without its margin.
readme_block() { # FIRST-LINE
	sed -n "/^    ${1//\//\\/}\$/,/^\$/ s/^    //p" README.md
}

tree=$home/Documents

make_duplicates() {
	rm -r "$tree"
	mkdir -p "$tree/with blank" "$tree/two
lines" "$tree/100_dir" "$tree/dots.." "$tree/-dash"
	gen_text 100 1 >"$tree/a b"
	cp "$tree/a b" "$tree/with blank/it's"
	cp "$tree/a b" "$tree/two
lines/\"quoted\" \\ back
"
	cp "$tree/a b" "$tree/dots../-rf"
	cp "$tree/a b" "$tree/100_dir/100_100_x[0] ]"
	cp "$tree/a b" "$tree/-dash/\$(touch x)"
	gen_text 100 2 >"$tree/original"
	ln "$tree/original" "$tree/hard link"
	gen_text 100 3 >"$tree/one"
	ln "$tree/one" "$tree/one hard"
	cp "$tree/one" "$tree/two
"
	gen_text 100 4 >"$tree/draft"
	edit_text 2 5 <"$tree/draft" >"$tree/draft 2"
	chown -R 65534:65534 "$tree"
}

contents() { # each once
	find "$tree" -type f -print0 | xargs -0 sha256sum -z | cut -z -c 1-64 |
		tr '\0' '\n' | sort "$@"
}

everything() {
	find "$tree" -type f -printf '%P\0' | sort -z | tr '\0\n' '\n|'
}

test_duplicates() {
	local before names block
	make_duplicates
	before=$(contents -u)
	names=$(everything)
	user timeout 600 "$KINFS" "$tree" "$home/kin" || bail "mount"
	user timeout 600 "$KIN" wait "$home/kin" >"$T/output"
	block=$(readme_block 'cd ~/kin')
	like "$block" 'cmp -s' "the README has lines that remove duplicates"
	user timeout 600 bash -c "$block" >"$T/plan" 2>"$T/errors"
	is "$(everything)" "$names" "echo removes nothing"
	is "$(grep -c '^rm ' "$T/plan")" 6 "and prints what would be"
	user timeout 600 bash -c "${block/echo rm/rm}" >"$T/output" 2>&1
	is "$(cat "$T/errors" "$T/output")" "" "there are no errors"
	is "$(contents -u)" "$before" "no content is lost"
	is "$(find "$tree" -type f | grep -v hard | sed 's#.*/##' | wc -l)" \
		5 "one copy of each is left"
	ok "hard links are left" test "$tree/original" -ef "$tree/hard link"
	ok "near-duplicates are left" test -e "$tree/draft" -a \
		-e "$tree/draft 2"
	user timeout 600 bash -c "${block/echo rm/rm}"
	is "$(contents -u)" "$before" "and once more does nothing"
	user fusermount3 -u "$home/kin"
}

make_home
start_server a
printf '[kin]\nhost=%s\nuser=postgres\ndbname=postgres\n' "$T/pg-a" \
	>"$home/.pg_service.conf"
test_session
test_manual
test_make_mount
test_duplicates
stop_servers
finish
