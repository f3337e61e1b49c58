#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin check: counts the files of a mount, and finds wrong digests and nothing
# else.  What is wrong is good again when the data file was removed and the tree
# mounted; a damaged catalog is found by the mount.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
open_fuse_to_all
share_programs

src=$T/src mnt=$T/mnt
db=$(catalog_of "$mnt")

checked() { # STATUS NAME OPTIONS...: its words in $T/out
	local want=$1 name=$2 status=0
	shift 2
	timeout 600 "$KIN" check "$@" "$mnt" >"$T/out" 2>"$T/err" || status=$?
	is "$status" "$want" "$name" || diag "$(cat "$T/out" "$T/err")"
}

spoil() { # see helper/spoil.c
	[ -x "$T/spoil" ] ||
		"$CC" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -o "$T/spoil" \
			"$HELPERS/spoil.c" -llmdb -lxxhash || bail "spoil compiles" ""
	"$T/spoil" "$db" "$@" || bail "spoil $*" "it could not"
}

# What the manual says to do when there are findings.
begin_anew() {
	like "$(cat "$T/out")" "unmount, remove $db/data.mdb and mount" \
		"... with what to do"
	unmount "$mnt"
	rm "$db/data.mdb"
	hash_tree
	checked 0 "... which makes it good" --read --json
}

hash_tree() { # mounts
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
}

json() { # PATH: "totals.fresh", "items.0.path" of the last answer
	perl -MJSON::PP -e '
		my @lines = map { decode_json $_ } <STDIN>;
		my $o = { totals => (pop @lines)->{totals}, items => \@lines };
		$o = /^\d+$/ ? $o->[$_] : $o->{$_} for split /\./, $ARGV[0];
		print $o' "$1" <"$T/out"
}

make_tree() {
	local i
	mkdir -p "$src/docs/deep"
	for i in 1 2 3 4 5 6 7 8; do
		gen_text 100 "$i" >"$src/docs/file$i"
	done
	cp "$src/docs/file1" "$src/docs/deep/copy"
	: >"$src/empty"
	ln -s docs "$src/link"
}

test_in_order() {
	checked 0 "a new catalog is in order"
	like "$(cat "$T/out")" "Catalog $db" "... and told"
	like "$(cat "$T/out")" '10 files: 10 fresh' "... and counts the files"
	like "$(cat "$T/out")" 'In order' "... and says so"
	checked 0 "... and every digest is right" --read --json
	is "$(json totals.read)" 10 "... of every file"
	is "$(json totals.findings)" 0 "... found: 0"
	is "$(json totals.catalog)" "$db" "... and the catalog is told"
	ok "a path in the mount stands for it" "$KIN" check "$mnt/docs"
}

test_refusals() {
	local status=0
	"$KIN" check 2>/dev/null || status=$?
	is "$status" 2 "nothing to check is a usage error"
	status=0
	"$KIN" check --wrong "$mnt" 2>/dev/null || status=$?
	is "$status" 2 "so is an unknown option"
	refused "what is not mounted is refused" 'not in a kinfs mount' \
		"$KIN" check "$T"
	refused "a missing path is refused" 'No such file' "$KIN" check "$T/none"
}

test_news() {
	"$KIN" pause "$mnt"
	echo more >>"$mnt/docs/file2"
	echo new >"$mnt/new"
	mkdir "$mnt/folder"
	echo new >"$mnt/folder/new"
	rm "$mnt/docs/file3"
	checked 0 "what is not hashed is no finding" --read --json
	is "$(json totals.unknown)" 3 "... the changed file and the new ones are counted"
	is "$(json totals.read)" 8 "... and the rest is right"
	checked 0 "... in words" --read
	like "$(cat "$T/out")" '8 read again; 3 new or changed, 0 could not' \
		"... as well"
	"$KIN" resume "$mnt"
	wait_idle "$mnt"
}

# spoil_digest FILES OFFSET: in the digests of a content that so many files in
# docs have, and no other file.  Mounts.
spoil_digest() {
	local n
	for n in $(seq 0 10); do
		unmount "$mnt"
		spoil contents "$n" "$2"
		hash_tree
		"$KIN" check --read --json "$mnt" >"$T/out"
		[ "$(json totals.findings)" = "$1" ] &&
			[[ $(json items.0.path) == docs/* ]] && return
		unmount "$mnt"
		spoil contents "$n" "$2"
		hash_tree
	done
	bail "spoil_digest" "no content has $1 files"
}

# A byte of the SimHash, which only reading the file can tell.
test_wrong_digest() {
	spoil_digest 1 28
	checked 0 "a wrong digest is not seen without reading"
	checked 1 "a wrong digest is a finding of --read" --read --json
	is "$(json totals.findings)" 1 "... one"
	like "$(json items.0.path)" '^docs/file' "... at its file"
	like "$(json items.0.reason)" 'differing: simhash$' "... by its name"
	checked 1 "... in words" --read
	begin_anew
	is "$(json totals.fresh)" 11 "... and all are fresh"
}

test_wrong_copies() {
	spoil_digest 2 32
	is "$(json totals.findings)" 2 "a wrong digest of two equal files is two findings"
	checked 1 "... in words" --read
	begin_anew
}

set_aside() {
	find "$db" -name '*.damaged-*' | wc -l
}

# A record that is not what was written, in whichever table, and a file of
# garbage: nothing is left for kin check to find.
test_damaged() { # NAME COMMAND...
	unmount "$mnt"
	"${@:2}"
	hash_tree
	is "$(set_aside)" 1 "$1: the mount sets the catalog aside"
	checked 0 "... and makes a new one" --read --json
	is "$(json totals.fresh)" 11 "... with all files"
}

garbage() {
	local file=$db/data.mdb
	gen "$(stat -c %s "$file")" 9 >"$T/garbage"
	cat "$T/garbage" >"$file"
}

more_hashed() { # THAN
	[ "$(status_field "$mnt" hashed.files)" -gt "$1" ] ||
		[ "$(status_field "$mnt" pending)" -eq 0 ]
}

catalog_is_open() {
	status_json "$mnt" | grep -q '"open": true'
}

# Names can be listed in a directory, but nothing in it can be looked at.
test_unread() {
	local home=$T/home mnt=$T/home/mnt
	mkdir -p "$home/docs/listed" "$mnt"
	echo seen >"$home/docs/seen"
	echo unseen >"$home/docs/listed/unseen"
	chmod 644 "$home/docs/listed"
	chown -R 65534:65534 "$home"
	as_nobody env -u XDG_RUNTIME_DIR HOME="$home" \
		"$KINFS" "$home/docs" "$mnt" -o "db=$home/db" || bail "mount"
	as_nobody timeout 600 "$KIN" wait "$mnt" >"$T/out" 2>&1
	as_nobody timeout 600 "$KIN" check --read --json "$mnt" >"$T/out"
	is "$(json totals.read)" 1 "a user's files are read"
	is "$(json totals.unread)" 1 "... and those counted that cannot be looked at"
	isnt "$(json totals.complete)" 1 "... so not all is known to be in order"
	poll 10 as_nobody fusermount3 -u "$mnt"
}

# What a kill leaves is never wrong, whenever it comes.
test_killed() {
	local round bad=0 before
	unmount "$mnt"
	rm -rf "$db"
	mkdir "$src/many"
	gen $((800 * 8192)) 11 | split -b 8192 -a 4 - "$src/many/"
	for round in {1..8}; do
		mount_kinfs "$src" "$mnt" -o wait=0,workers=1
		"$KIN" pause "$mnt"
		poll 20 catalog_is_open
		"$KIN" check --read "$mnt" >"$T/out" 2>&1 || {
			bad=$((bad + 1))
			diag "round $round: $(cat "$T/out")"
		}
		before=$(status_field "$mnt" hashed.files)
		"$KIN" resume "$mnt"
		poll 20 more_hashed "$before"
		mv "$mnt/many/aaaa" "$mnt/renamed-$round"
		cp "$mnt/renamed-$round" "$mnt/many/aaaa"
		rm "$mnt/renamed-$round"
		kill_daemon "$mnt"
	done
	is "$bad" 0 "killed while hashing, 8 times: no finding"
	hash_tree
	checked 0 "... and none in the end" --read --json
	is "$(json totals.pending)" 0 "... when all is hashed"
	is "$(json totals.read)" 811 "... and no file left out"
	is "$(set_aside)" 0 "... by the catalog that was begun with"
}

# Files get content and names, and lose them, until $T/stop is there; how many
# there were says $T/churned.
churn() { # DIRECTORY
	perl -e 'my ($top, $stop, $count) = @ARGV;
		open(my $counted, ">", $count) or die;
		for (my $i = 1; !-e $stop; $i++) {
			my $dir = "$top/new-$i";
			my $old = "$top/old-" . ($i - 20);
			mkdir $dir or die;
			for my $name ("a", "b") {
				open(my $f, ">", "$dir/$name") or die;
				print $f ("$name $i\n") x 400;
			}
			rename "$dir/b", "$dir/c";
			link "$dir/c", "$dir/d";
			rename $dir, "$top/old-$i";
			unlink "$old/$_" for "a", "c", "d";
			rmdir $old;
			seek($counted, 0, 0);
			syswrite($counted, sprintf("%09d", $i));
		}' "$1" "$T/stop" "$T/churned"
}

test_churn() {
	local before tries pid bad=0 busy=0
	mkdir "$mnt/busy"
	churn "$mnt/busy" &
	pid=$!
	pids+=("$pid")
	ok "files come and go" poll 60 test -s "$T/churned"
	for tries in $(seq 200); do
		before=$(cat "$T/churned")
		timeout 600 "$KIN" check --read "$mnt" >"$T/out" 2>&1 || {
			bad=$((bad + 1))
			diag "check $tries: $(head -n 5 "$T/out")"
		}
		[ "$before" = "$(cat "$T/churned")" ] || busy=$((busy + 1))
		[ "$busy" -lt 6 ] || break
	done
	: >"$T/stop"
	wait "$pid"
	is "$busy" 6 "... while it is checked 6 times"
	is "$bad" 0 "... and nothing is found"
	rm -r "$mnt/busy"
	wait_idle "$mnt"
	checked 0 "... nor in the end" --read
}

# The mount is asked for the file, opens it, and reads it.
test_changed_meanwhile() { # open|read: what comes after the change
	local pid status=0
	"$T/meddle" "$1" "$src/docs/file5" >"$T/meddled" 2>&1 &
	pid=$!
	pids+=("$pid")
	poll 60 test -s "$T/meddled"
	checked 0 "a file that changes before the $1 is no finding" --read --json
	[ "$(cat "$T/meddled")" = ready ] && end_process "$pid"
	wait "$pid" || status=$?
	if [ "$status" -eq 77 ]; then
		skip "... when it changed" "$(cat "$T/meddled")"
		return
	fi
	is "$(cat "$T/meddled")" ready$'\n'changed "... when it changed"
	is "$(json totals.read)" 10 "... but was not read to the end"
	rescan "$mnt"
	checked 0 "... and then its digests are right" --read --json
	is "$(json totals.read)" 11 "... with those of all files"
}

make_tree
hash_tree
test_in_order
test_refusals
test_news
test_wrong_digest
test_wrong_copies
for table in files names links contents identities copies digests sketches; do
	test_damaged "a wrong sum in $table" spoil "$table" 0 -1
	rm "$db"/*.damaged-*
done
test_damaged "garbage" garbage
ok "... whole" cmp "$db/data.mdb".damaged-* "$T/garbage"
test_churn
cp "$(helper meddle)" "$T/meddle" || bail "meddle compiles" ""
test_changed_meanwhile open
test_changed_meanwhile read
test_unread
test_killed
finish
