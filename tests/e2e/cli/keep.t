#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What kin groups -0 lists is what kin dedup would take away, with the same
# options: two clones of a tree are not taken apart by using both.  Nothing is
# proposed in the store of a version control system, nor in a cache.  Savings
# are bytes on disk.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

make_clones() {
	local clone
	for clone in one two; do
		mkdir -p "$src/$clone/lib" "$src/$clone/.git/hooks" \
			"$src/$clone/.cache"
		gen 40000 1 >"$src/$clone/lib/a"
		gen 30000 2 >"$src/$clone/b"
		gen 20000 3 >"$src/$clone/.git/hooks/sample"
		gen 10000 4 >"$src/$clone/.cache/page"
	done
	cp "$src/one/b" "$src/one/.git/b"
	find "$src" -type f -exec touch -d @1700000000 {} +
	touch -d @1600000000 "$src/two/lib/a" "$src/one/.git/b"
	truncate -s 50M "$src/hole1"
	gen 5000 5 >>"$src/hole1"
	cp --sparse=always "$src/hole1" "$src/hole2"
}

listed() { # OPTION...
	"$KIN" groups --exact -0 "$@" "$mnt" | tr '\0' '\n' | sort
}

planned() { # OPTION...
	"$KIN" dedup --how remove --json "$@" "$mnt" |
		perl -MJSON::PP -ne 'my $o = decode_json($_);
			print "$o->{path}\n" if exists $o->{path}' | sort
}

agree() { # NAME OPTION...
	isnt "$(listed "${@:2}")" "" "$1: there are copies"
	is "$(listed "${@:2}")" "$(planned "${@:2}")" "$1: both take the same"
}

test_rule() {
	agree "no options"
	is "$(listed | sed "s,$mnt/,," | tr '\n' ' ')" "hole2 one/lib/a two/b " \
		"all but the oldest, then the shortest, then the first"
	agree "the newest" --keep newest
	agree "the shortest" --keep shortest
	agree "a directory" --keep "$mnt/two"
	agree "a directory and a rule" --keep "$mnt/two" --keep newest
}

test_internal() {
	unlike "$(listed; planned)" "\.git|\.cache" \
		"nothing is proposed of a store or a cache"
	unlike "$("$KIN" groups --json "$mnt")" "\.git|\.cache" "nor listed"
	agree "unless it is asked for" --vcs
	like "$(listed --vcs)" "two/.git/hooks/sample.*two/b" "then it is"
	is "$("$KIN" groups --exact --vcs --json "$mnt" | "$KIN" dedup --json - |
		grep -c '\.git')" 0 "of a list of groups it is asked for again"
}

# The head of these near-duplicates is left out, by the mount or by a filter.
test_head() {
	mkdir "$src/.hg"
	gen_text 300 8 >"$src/.hg/head"
	head -n 290 "$src/.hg/head" >"$src/version1"
	head -n 280 "$src/.hg/head" >"$src/version2"
	cp "$src/version2" "$src/version3"
	"$KIN" rescan "$mnt" && wait_idle "$mnt"
	is "$("$KIN" groups --json "$mnt" | grep version1 | grep -c version3)" 1 \
		"what is in a store is no head"
	"$KIN" groups --json --vcs --exclude .hg "$mnt" >"$T/groups"
	is "$?" 0 "without its head a group is complete all the same"
	is "$(grep -c version1 "$T/groups") $(grep -c version3 "$T/groups")" \
		"0 1" "the copies of each member are a group"
}

test_disk() {
	local want=$(($(stat -c '%b * %B' "$src/hole2")))
	is "$("$KIN" groups --exact --json "$mnt" | perl -MJSON::PP -ne '
		print decode_json($_)->{saved_exact} if /hole1/')" "$want" \
		"holes take nothing that could be saved"
	is "$("$KIN" dedup --json "$mnt" | perl -MJSON::PP -ne '
		my $o = decode_json($_);
		print $o->{bytes} if ($o->{path} // "") =~ /hole2/')" "$want" \
		"and kin dedup says the same"
	is "$("$KIN" groups --exact --json "$mnt" | tail -n 1 |
		perl -MJSON::PP -ne 'print
		decode_json($_)->{totals}{exact_bytes}')" \
		"$("$KIN" dedup --json "$mnt" | tail -n 1 | perl -MJSON::PP -ne '
		print decode_json($_)->{totals}{bytes}')" "of all copies, too"
}

make_clones
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
test_rule
test_internal
test_disk
test_head
ok "it unmounts" unmount "$mnt"
finish
