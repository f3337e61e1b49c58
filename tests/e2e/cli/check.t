#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin check: counts what a catalog has, and finds wrong digests and nothing else.
# What is wrong is good again when the data file was removed and the tree
# mounted.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src mnt=$T/mnt
db=$(catalog_of "$mnt")

check() { # OPTIONS...: its words in $T/out, its exit status as its own
	timeout 600 "$KIN" check --db "$db" "$@" >"$T/out" 2>"$T/err"
}

checked() { # STATUS NAME OPTIONS...
	local want=$1 name=$2 status=0
	shift 2
	check "$@" || status=$?
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
	rm "$db/data.mdb"
	hash_tree
	checked 0 "... which makes it good" --read --json
}

hash_tree() { # mounts, hashes, unmounts
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	unmount "$mnt"
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
	like "$(cat "$T/out")" '10 files: 10 fresh' "... and counts the files"
	like "$(cat "$T/out")" 'In order' "... and says so"
	checked 0 "... by the source, too" "$src"
	checked 0 "... and every digest is right" --read --json "$src"
	is "$(json totals.read)" 10 "... of every file"
	is "$(json totals.findings)" 0 "... found: 0"
	is "$(json totals.catalog)" "$db" "... and the catalog is told"
}

test_default_place() {
	local status=0
	[ "$(id -u)" -eq 0 ] || {
		XDG_STATE_HOME=$T/state "$KIN" check "$src" 2>"$T/err"
		like "$(cat "$T/err")" "$T/state/kinfs/src-" \
			"without --db it is where the mount keeps it"
		return
	}
	"$KIN" check "$src" >"$T/out" 2>"$T/err" || status=$?
	is "$status" 1 "a source that was never mounted has no catalog"
	like "$(cat "$T/err")" '/var/lib/kinfs/src-[0-9a-f]{16}: no catalog' \
		"... where the mount would keep it"
}

# The catalog at the usual place is that of an earlier mount.
test_other_catalog() {
	local source=$T/elsewhere point=$T/point
	mkdir "$source" "$point"
	echo text >"$source/file"
	"$KINFS" "$source" "$point" -o "db=$T/db1"
	wait_idle "$point"
	refused "a source that is mounted with another catalog is refused" \
		"mounted at $point with another catalog" "$KIN" check "$source"
	ok "... and the mount is checked by its path" timeout 600 "$KIN" check "$point"
	umount "$point"
	timeout 600 "$KIN" check --db "$T/db1" "$source" >"$T/out"
	like "$(cat "$T/out")" "Catalog $T/db1, written 20[0-9-]+ [0-9:]+" \
		"which catalog was checked, and of when it is"
}

test_refusals() {
	local status=0
	"$KIN" check 2>/dev/null || status=$?
	is "$status" 2 "nothing to check is a usage error"
	status=0
	"$KIN" check --wrong "$src" 2>/dev/null || status=$?
	is "$status" 2 "so is an unknown option"
	mkdir "$T/nothing"
	refused "no catalog is refused" 'no catalog' \
		"$KIN" check --db "$T/nothing" "$src"
	is "$(ls -A "$T/nothing")" "" "... and nothing is made there"
	mkdir "$T/other"
	refused "a catalog of another source is refused" "is of $src" \
		"$KIN" check --db "$db" "$T/other"
	refused "a missing source is refused" 'No such file' \
		"$KIN" check --db "$db" "$T/none"
}

# An empty directory where a disk should be must not empty the catalog.
test_disk_not_there() {
	mv "$src" "$T/away"
	mkdir "$src"
	refused "another directory in its place is refused" 'disk' \
		"$KIN" check --read --db "$db" "$src"
	rmdir "$src"
	mv "$T/away" "$src"
	checked 0 "... and the catalog was left alone" --json
	is "$(json totals.fresh)" 10 "... with all its files"
}

test_news() {
	echo more >>"$src/docs/file2"
	echo new >"$src/new"
	mkdir "$src/folder"
	echo new >"$src/folder/new"
	rm "$src/docs/file3"
	checked 0 "what changed since is no finding" --read --json
	is "$(json totals.unknown)" 3 "... the changed file and the new ones are counted"
	is "$(json totals.read)" 8 "... and the rest is right"
	checked 0 "... in words" --read "$src"
	like "$(cat "$T/out")" '8 read again; 3 new or changed, 0 could not' \
		"... as well"
	hash_tree
}

# spoil_digest FILES OFFSET: in the digests of a content that so many files in
# docs have, and no other file.
spoil_digest() {
	local n
	for n in $(seq 0 10); do
		spoil contents "$n" "$2"
		check --read --json
		[ "$(json totals.findings)" = "$1" ] &&
			[[ $(json items.0.path) == docs/* ]] && return
		spoil contents "$n" "$2"
	done
	bail "spoil_digest" "no content has $1 files"
}

# A byte of the SimHash, which only reading the file can tell.
test_wrong_digest() {
	spoil_digest 1 12
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

# A record that is not what was written, in whichever table.
test_sum() { # TABLE
	spoil "$1" 0 -1
	checked 1 "a record with a wrong sum in $1 is a finding" --json
	is "$(json items.0.kind)" catalog "... of the whole catalog"
	hash_tree
	checked 0 "... and the next mount makes a new one" --read --json
	is "$(json totals.fresh)" 11 "... with all files"
}

test_damaged() {
	local file=$db/data.mdb
	gen "$(stat -c %s "$file")" 9 >"$T/garbage"
	cat "$T/garbage" >"$file"
	checked 1 "a damaged catalog is a finding" --json
	is "$(json items.0.kind)" catalog "... of its own"
	ok "... and left where it is" cmp "$file" "$T/garbage"
	checked 1 "... in words" "$src"
	like "$(cat "$T/out")" 'next mount sets the catalog aside' \
		"... with what will be done"
	hash_tree
	# shellcheck disable=SC2012 # the newest
	ok "the next mount sets it aside, whole" \
		cmp "$(ls -t "$file".damaged-* | head -n 1)" "$T/garbage"
	checked 0 "... and makes a new one" --read --json
	is "$(json totals.fresh)" 11 "... which hashes all"
}

some_pending() {
	[ "$(status_field "$mnt" hashed.files)" -gt 0 ]
}

# What a kill leaves is never wrong, whenever it comes.
test_killed() {
	local round bad=0
	rm -rf "$db"
	mkdir "$src/many"
	gen $((2000 * 8192)) 11 | split -b 8192 -a 4 - "$src/many/"
	for round in $(seq 20); do
		mount_kinfs "$src" "$mnt" -o wait=0,workers=1
		poll 20 some_pending
		mv "$src/many/aaaa" "$mnt/renamed-$round"
		cp "$mnt/renamed-$round" "$mnt/many/aaaa"
		rm "$mnt/renamed-$round"
		kill_daemon "$mnt"
		check --read || {
			bad=$((bad + 1))
			diag "round $round: $(cat "$T/out" "$T/err")"
		}
	done
	is "$bad" 0 "killed while hashing, 20 times: no finding"
	hash_tree
	checked 0 "... and none in the end" --read --json
	is "$(json totals.pending)" 0 "... when all is hashed"
}

live() { # STATUS NAME OPTIONS...: the same of the mount
	local want=$1 name=$2 status=0
	shift 2
	timeout 600 "$KIN" check "$@" "$mnt" >"$T/out" 2>"$T/err" || status=$?
	is "$status" "$want" "$name" || diag "$(cat "$T/out" "$T/err")"
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
		[ "$busy" -lt 20 ] || break
	done
	: >"$T/stop"
	wait "$pid"
	is "$busy" 20 "... while it is checked 20 times"
	is "$bad" 0 "... and nothing is found"
	rm -r "$mnt/busy"
	wait_idle "$mnt"
	live 0 "... nor in the end" --read
}

# The mount is asked for the file, opens it, and reads it.
test_changed_meanwhile() { # open|read: what comes after the change
	local pid status=0
	"$T/meddle" "$1" "$src/docs/file5" >"$T/meddled" 2>&1 &
	pid=$!
	pids+=("$pid")
	poll 60 test -s "$T/meddled"
	live 0 "a file that changes before the $1 is no finding" --read --json
	[ "$(cat "$T/meddled")" = ready ] && end_process "$pid"
	wait "$pid" || status=$?
	if [ "$status" -eq 77 ]; then
		skip "... when it changed" "$(cat "$T/meddled")"
		return
	fi
	is "$(cat "$T/meddled")" ready$'\n'changed "... when it changed"
	is "$(json totals.read)" 10 "... but was not read to the end"
	rescan "$mnt"
	live 0 "... and then its digests are right" --read --json
	is "$(json totals.read)" 11 "... with those of all files"
}

test_mounted() {
	local status=0
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	live 0 "mounted: in order" --read --json
	is "$(json totals.read)" 11 "... and all files were read"
	refused "the source is the daemon's as long as it is mounted" \
		'kin check MOUNT' "$KIN" check --db "$db" "$src"
	"$KIN" check --db "$db" "$mnt" >"$T/out" 2>&1 || status=$?
	is "$status" 2 "--db and a mount do not go together"
	test_churn
	cp "$(helper meddle)" "$T/meddle" || bail "meddle compiles" ""
	test_changed_meanwhile open
	test_changed_meanwhile read
	ok "unmount" unmount "$mnt"
}

test_mounted_wrong_digest() {
	local path
	spoil_digest 1 24
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	live 0 "mounted: a wrong digest is not seen without reading"
	live 1 "... and is with --read" --read --json
	is "$(json totals.findings)" 1 "... as a finding"
	path=$(json items.0.path)
	like "$path" '^docs/file' "... at its file"
	ok "unmount" unmount "$mnt"
	checked 1 "... which it stays" --read
	begin_anew
}

make_tree
hash_tree
test_in_order
test_default_place
test_other_catalog
test_refusals
test_disk_not_there
test_news
test_wrong_digest
test_wrong_copies
for table in files names links contents identities copies sise sif; do
	test_sum "$table"
done
test_mounted
test_mounted_wrong_digest
test_damaged
test_killed
finish
