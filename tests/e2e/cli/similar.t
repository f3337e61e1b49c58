#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin similar: files, files from elsewhere, directories; and the file of
# questions behind it.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
query=$mnt/.similar/.query

similar() { # ARGUMENTS...: "SCORE PATH" of every hit, below the mount
	timeout 600 "$KIN" similar "$@" 2>"$T/err" |
		sed -n "s#^ *\([0-9-]*\) .*  $mnt/#\1 #p"
}

similar_why() { # RELATION FILE FILE
	"$KIN" similar --json --why --relation "$1" "$mnt/$2" "$mnt/$3" |
		perl -MJSON::PP -0e 'my $reason = decode_json(<STDIN>)->{reason};
			print $reason eq "listed" ? "" : "not listed ", $reason'
}

json() { # PROGRAM ARGUMENTS...: what the program prints of the items @i and
	# the totals $t
	local program=$1
	shift
	timeout 600 "$KIN" similar --json "$@" 2>"$T/err" |
		perl -MJSON::PP -e '@i = map { decode_json $_ } <STDIN>;
			$t = (pop @i)->{totals};'"$program"
}

make_tree() {
	local n
	mkdir -p "$src/a/sub" "$src/b" "$src/far"
	gen_text 300 1 >"$src/chapter"
	{ gen_text 900 2; cat "$src/chapter"; } >"$src/book"
	for n in 1 2 3 4 5 6 7 8; do
		gen_text 200 "1$n" >"$src/a/f$n"
	done
	cp "$src/a"/f[1-5] "$src/b"
	cp "$src/a/f6" "$src/b/renamed"
	edit_text 5 1 <"$src/a/f7" >"$src/b/f7"
	mv "$src/a/f8" "$src/a/sub"
	gen_text 50 30 >"$src/b/new"
	: >"$src/a/empty"
	: >"$src/b/nothing"
	gen_text 50 40 >"$src/far/file"
	gen_text 30 50 >"$src/line
break"
}

test_file() {
	is "$(similar "$mnt/a/f7" | cut -d' ' -f2)" b/f7 "what is like a file"
	is "$(similar "$mnt/chapter")" "99 book" "what contains it is listed, too"
	is "$(similar --relation within "$mnt/chapter")" "99 book" \
		"--relation within: that alone"
	is "$(similar --relation contains "$mnt/book")" "99 chapter" \
		"--relation contains: what it contains"
	is "$(similar --relation version "$mnt/chapter")" "" \
		"--relation version: nothing is like the chapter"
	is "$(json 'print "$i[0]{relation} $i[0]{score} $t->{files}"' \
		"$mnt/chapter")" "within 99 1" "--json says which"
}

# All relations that one file can have, in one list.
test_relations() {
	mkdir "$src/all"
	gen_text 3000 60 >"$src/all/file"
	cp "$src/all/file" "$src/all/copy"
	edit_text 30 61 <"$src/all/file" >"$src/all/version"
	head -n 600 "$src/all/file" >"$src/all/part"
	{ gen_text 9000 62; cat "$src/all/file"; } >"$src/all/whole"
	{ gen_text 9000 63; sed -n 1000,1600p "$src/all/file"
		gen_text 9000 64; } >"$src/all/quoting"
	rescan "$mnt"
	is "$(timeout 600 "$KIN" similar "$mnt/all/file" | awk 'NR > 1 {
		sub(".*/", "", $5); print $2, $5 }')" "copy copy
version version
within whole
contains part
shares quoting" "one list has all relations, the nearest first"
	is "$(timeout 600 "$KIN" similar -0 "$mnt/all/file" | tr '\0' '\n' |
		sed "s,$mnt/all/,,")" "copy
version
whole
part
quoting" "-0: the paths"
	is "$(similar --limit 2 "$mnt/all/file" | cut -d/ -f2)" "copy
version" "--limit"
	is "$(similar --exclude 'p*' --exclude copy --min-size 40k \
		"$mnt/all/file" | cut -d/ -f2)" "version
whole
quoting" "--exclude, --min-size"
	is "$(similar --include 'all/[cv]*' "$mnt/all/file" | cut -d/ -f2)" \
		"copy
version" "--include"
	similar --exclude copy --exclude 'copy*' --exclude cpoy \
		"$mnt/all/file" >"$T/output"
	like "$(cat "$T/err")" "^[^'*]*--exclude 'cpoy'[^'*]*$" \
		"a glob that matches nothing is named, and no other"
	is "$(similar --relation version --threshold 99 "$mnt/all/file")" "" \
		"--threshold, above the mount's"
	is "$(cd "$mnt/all" && timeout 600 "$KIN" similar file ../all/part |
		awk 'NF != 5 || $1 != "SCORE" { print $NF }')" "file:
copy
version
whole
part
quoting

../all/part:
copy
file
whole
version" "several operands; what is asked by a relative path is answered by one"
	like "$("$KIN" similar --why --relation copy "$mnt/all/file" \
		"$mnt/all/version")" '^not listed: .*relation; score [6-9]' \
		"--why --relation copy: a version is none"
	is "$(similar_why within all/part all/file)" listed \
		"--why --relation within: the smaller one is"
	is "$(similar_why within all/file all/part)" "not listed below" \
		"... and the larger one is not"
	like "$(similar_why within all/file all/version
		similar_why within all/version all/file)" "not listed relation" \
		"... though both may be alike"
	ok "ignored" "$KIN" ignore "$mnt/all/file" "$mnt/all/part"
	is "$(similar_why within all/part all/file)" "not listed ignored" \
		"... nor the smaller one when the pair is ignored"
	ok "not ignored" "$KIN" ignore --forget "$mnt/all/file" "$mnt/all/part"
	is "$(json 'print join " ", map "$_->{root}|$_->{path}|$_->{size}",
		@i[0]' "$mnt/all/file")" \
		"$mnt|all/copy|$(stat -c %s "$src/all/file")" \
		"--json: paths below a root"
	rm -r "$src/all"
	rescan "$mnt"
}

# Nothing is found: what is near, and what hides it.
test_near() {
	mkdir "$src/near"
	gen_text 300 70 >"$src/near/a"
	{ head -n 120 "$src/near/a"; gen_text 180 71; } >"$src/near/b"
	gen_text 40 72 >"$src/near/alone"
	{ gen_text 200 73; sed -n 200,212p "$src/near/a"
		gen_text 200 74; } >"$src/near/quoting"
	rescan "$mnt"
	is "$(similar --threshold 70 "$mnt/near/a")" "" "nothing is near enough"
	like "$(<"$T/err")" "near/a: nothing here is 70 % alike; the nearest, $mnt/near/b, is [34][0-9] % \(--threshold [34][0-9] lists it\)" \
		"the nearest and the threshold that hides it are told"
	like "$(similar --threshold "$(sed 's/.*--threshold \([0-9]*\).*/\1/' \
		"$T/err")" "$mnt/near/a")" "near/b" "... and lists it"
	similar "$mnt/near/quoting" >/dev/null
	like "$(<"$T/err")" \
		"longest passage in common has [0-9.]+K?, --share-min is 16K: $mnt/near/a" \
		"the longest passage, too"
	like "$(similar --share-min 500 "$mnt/near/quoting")" near/a \
		"a quotation of 800 bytes is found"
	similar "$mnt/near/alone" >/dev/null
	like "$(<"$T/err")" "nothing here resembles it; no passage of [0-9.]+ (bytes|KiB) or more" \
		"of a file on its own, what its sketch would have told"
	is "$(json 'print "$t->{files} $t->{complete}"' "$mnt/near/alone")" \
		"0 1" "--json: no item and totals"
	rm -r "$src/near"
	rescan "$mnt"
}

# The verdict is told as it was made, by whatever asks for it.
test_verdict() {
	local score
	mkdir "$src/verdict" "$src/verdict/.git"
	gen_text 20000 80 >"$src/verdict/program"
	sed -n 7000,7040p "$src/verdict/program" >"$src/verdict/scrap"
	edit_text 10 81 <"$src/a/f1" >"$src/verdict/f1"
	cp "$src/a/f1" "$src/verdict/.git/f1"
	rescan "$mnt"
	is "$(similar_why within verdict/scrap verdict/program)" \
		"not listed uncertain" "--why: too little is known of a scrap"
	like "$("$KIN" similar --why "$mnt/a/empty" "$mnt/b/nothing"
		"$KIN" similar --why "$mnt/a/f1" "$mnt/a/empty")" \
		'^not listed: .*below.*score 0.*not listed: .*below' \
		"--why of an empty file"
	like "$("$KIN" similar --why "$mnt/verdict/scrap" "$mnt/verdict/program")" \
		'^not listed: too little .*; score 99, ' "... in words, too"
	cp "$src/a/f1" "$T/f1"
	cp "$src/verdict/f1" "$T/f2"
	is "$("$KIN" similar --why "$T/f1" "$T/f2")" \
		"$("$KIN" similar --why "$mnt/a/f1" "$mnt/verdict/f1" |
			sed 's/, distinctive [0-9]*//')" \
		"--why of files that are in no mount says what a mount says"
	is "$(json 'print map "$_->{reason} $_->{by} $_->{shared}\n",
		grep $_->{path} eq "verdict/f1", @i' "$mnt/a/f1" | tr 1-9 0)" \
		"listed bytes 0000" "--json of a list has all of the verdict"
	unlike "$(similar "$mnt/a/f1")" '\.git' \
		"a copy in .git is left out, as in the listing"
	score=$(find "$mnt/.similar/a/.dirs/" -name '*_b' -printf %f)
	is "$(similar "$mnt/a" "$mnt/b" | head -n 1)" "$((10#${score%_b})) b" \
		"of two directories the score of .dirs"
	rm -r "$src/verdict"
	rescan "$mnt"
}

test_of() {
	cp "$src/a/f7" "$T/elsewhere"
	is "$(similar --of "$T/elsewhere" "$mnt" | head -n 1)" "100 a/f7" \
		"--of finds the copy in the mount"
	is "$(similar --of "$T/elsewhere" "$mnt" | tail -n +2)" \
		"$(similar "$mnt/a/f7")" "and what is like it"
	is "$(similar --of - "$mnt" <"$T/elsewhere")" \
		"$(similar --of "$T/elsewhere" "$mnt")" "- is standard input"
	is "$(similar --of "$T/elsewhere" "$mnt/far/file")" \
		"$(similar --of "$T/elsewhere" "$mnt")" \
		"any path leads to its mount"
	is "$(similar --of "$T/elsewhere" "$mnt/a")" "100 a/f7" \
		"of a directory only what is below it"
	is "$(similar --relation within --of "$src/chapter" "$mnt")" "99 book" \
		"with --relation within"
	is "$(similar --relation contains --of "$src/book" "$mnt")" \
		"99 chapter" "with --relation contains"
	gen_text 100 99 >"$T/alone"
	is "$(similar --of "$T/alone" "$mnt")" "" "nothing is like others"
	is "$(similar --of /dev/null "$mnt")$(similar --of - "$mnt" </dev/null)" \
		"" "nor like nothing"
	is "$(json 'print "$i[0]{of} $i[0]{path}"' \
		--of "$T/elsewhere" "$mnt")" "$T/elsewhere a/f7" "--json"
	is "$(json 'print $i[0]{path}' --of "$src/line
break" "$mnt")" "line
break" "a name with a line break"
}

test_directories() {
	is "$(similar "$mnt/a" | cut -d' ' -f2)" b "a directory like another"
	is "$(similar --threshold 100 "$mnt/a")$(similar --exclude b "$mnt/a")" "" \
		"... which the filters leave out"
	is "$(json 'print "$i[0]{relation} $i[0]{path} $t->{files}"' "$mnt/a")" \
		"version b 1" "... as --json says"
	like "$(timeout 600 "$KIN" similar "$mnt/a" "$mnt/b")" \
		' 7 +[0-9.]+K +1 +[0-9.]+K +1 +[0-9.]+K +1 +[0-9.]+K  /' \
		"six and an empty one the same, one similar, one on each side"
	is "$(timeout 600 "$KIN" similar "$mnt/a" "$mnt/b" | tail -n +3 |
		sed 's/ [0-9.]*K / /; s/  */ /g; s/~ [89]./~ NN/')" " ~ NN f7
 < sub/f8
 > new" "two directories: which files are similar, or on one side only"
	is "$(json 'print join " ", map $i[0]{$_},
		qw(same similar only_here only_there)' "$mnt/a" "$mnt/b")" \
		"7 1 1 1" \
		"--json counts"
	is "$(json 'print join " ", map "$_->{here}:$_->{there}", @i[1 .. $#i]' \
		"$mnt/a" "$mnt/b")" \
		"f7:f7 sub/f8: :new" "and names the differences"
	is "$(json 'print $i[0]{same_bytes}' "$mnt/a" "$mnt/b")" \
		"$(cat "$src"/a/f[1-6] | wc -c)" "and bytes"
	is "$(similar "$mnt/far" "$mnt/b")" "0 b" \
		"two that are not alike have nothing in common"
}

# What a file was: the path tells it first, then the content.
test_paths() {
	local old=$mnt/tree/old new=$mnt/tree/new
	mkdir -p "$old" "$new"
	gen_text 200 41 >"$old/rewritten"
	gen_text 200 42 >"$new/rewritten"
	gen_text 200 41 | edit_text 5 1 >"$new/like-rewritten"
	gen_text 200 43 >"$old/kept"
	cp "$old/kept" "$new/copy-of-kept"
	gen_text 200 44 >"$new/kept"
	gen_text 200 45 >"$old/moved"
	edit_text 5 2 <"$old/moved" >"$new/moved-and-changed"
	edit_text 40 3 <"$old/moved" >"$new/less-like-it"
	: >"$old/empty"
	cp "$old/empty" "$new/empty-too"
	: >"$old/filled"
	gen_text 200 46 >"$new/filled"
	wait_idle "$mnt"
	timeout 600 "$KIN" similar "$mnt/tree/old" "$mnt/tree/new" >"$T/out"
	is "$(tail -n +3 "$T/out" | sed 's/ [0-9.]*K / /; s/  */ /g
		s/~ 9./~ 9x/; s/~ [0-9] /~ x /')" \
		" ~ 9x moved -> moved-and-changed
 ~ x rewritten
 ~ - filled
 ~ x kept
 > less-like-it
 > like-rewritten" "one path is a file that changed, whatever else is like it"
	is "$(json 'print join " ", map "$_->{here}:$_->{there}", @i[1 .. $#i]' \
		"$mnt/tree/old" "$mnt/tree/new")" \
		"moved:moved-and-changed rewritten:rewritten filled:filled kept:kept :less-like-it :like-rewritten" \
		"--json says the same"
	is "$(json 'print join " ", map "$_->{here}:$_->{there}", @i[1 .. $#i]' \
		--threshold 99 "$mnt/tree/old" "$mnt/tree/new")" \
		"rewritten:rewritten filled:filled kept:kept moved: :less-like-it :like-rewritten :moved-and-changed" \
		"--threshold: the least score of a pair that has two paths"
}

test_errors() {
	refused "a directory has no --relation" "directory" \
		"$KIN" similar --relation within "$mnt/a"
	refused "a directory is not sought on other hosts" "everywhere" \
		"$KIN" similar --everywhere "$mnt/a"
	refused "a relation that there is not" "shares" \
		"$KIN" similar --relation like "$mnt/book"
	refused "--json and -0" "exclude" "$KIN" similar --json -0 "$mnt/book"
	refused "no limit" "number from 1" "$KIN" similar --limit 0 "$mnt/book"
	refused "no mount" "not in a kinfs mount.*--of FILE DIRECTORY" \
		"$KIN" similar "$T/elsewhere"
	refused "--of without a mount" "which mount" \
		"$KIN" similar --of "$T/elsewhere"
	refused "--of with a file in no mount" "not in a kinfs mount" \
		"$KIN" similar --of "$T/elsewhere" "$T/elsewhere"
	refused "--of what is not there" "No such file" \
		"$KIN" similar --of "$T/nosuch" "$mnt"
	refused "--of a directory" "directory" "$KIN" similar --of "$src" "$mnt"
	refused "the root" "whole mount" "$KIN" similar "$mnt"
	refused "one directory inside of the other" "inside" \
		"$KIN" similar "$mnt/a" "$mnt/a/sub"
	refused "a directory of elsewhere" "not in the mount" \
		"$KIN" similar "$mnt/a" "$src/b"
	refused "a directory and a file" "not a directory" \
		"$KIN" similar "$mnt/a" "$mnt/b/f1"
}

# ---- the file of questions itself ----

ask_lines() { # writes stdin in one piece, prints the answer
	perl -e 'local $/; my $q = <STDIN>;
		open my $f, "+<", $ARGV[0] or die "open: $!\n";
		defined syswrite $f, $q or die "write: $!\n";
		while (1) {
			my $n = sysread $f, my $piece, 5;
			die "read: $!\n" unless defined $n;
			last unless $n;
			print $piece;
		}' "$query"
}

ask() { # the same, as SCORE/PATH
	ask_lines | perl -MJSON::PP -ne 'print, next unless /^{/;
		my $o = decode_json $_;
		print "$o->{score}/$o->{path}\n" unless $o->{end}'
}

put_pieces() { # BYTES COUNT: by ioctl(); prints why one is refused
	perl -e 'open my $f, "<", $ARGV[0] or die "open: $!\n";
		my $piece = "x" x $ARGV[1];
		my $command = 1 << 30 | $ARGV[1] << 16 | ord("k") << 8 | 1;
		for (1 .. $ARGV[2]) {
			defined ioctl $f, $command, $piece or print("$!"), last
		}' "$query" "$1" "$2"
}

question() { # FILE [FIELD]
	printf '{"size":%s,%s"digests":{"xxh128":"%s","sif":"%s"}}\n' \
		"$(stat -c %s "$1")" "${2:+$2,}" \
		"$("$KIN" digest -a xxh128 - <"$1" | cut -d' ' -f1)" \
		"$("$KIN" digest -a sif - <"$1" | cut -d' ' -f1)"
}

nonsense() { # NAME QUESTION
	is "$(printf '%b' "$2" | ask_lines 2>&1)" "read: Invalid argument" \
		"EINVAL: $1"
}

test_query() {
	local simhash='"digests":{"simhash":"0123456789abcdef"}'
	is "$(question "$src/a/f6" | ask)" "100/a/f6
100/b/renamed" "digests in, scores and paths out"
	is "$(question "$src/a/f6" | ask_lines | tail -n 1)" \
		'{"end":true,"cut":false,"complete":true}' "and an end"
	is "$(question "$src/chapter" '"relation":"within"' | ask)" 99/book \
		"with a relation"
	is "$(echo '{"path":"a/f6"}' | ask)" 100/b/renamed \
		"by a path, without the file itself"
	like "$(echo '{"path":"chapter","relation":"within","with":"a/f6"}' |
		ask_lines)" '"score":0,"distinctive":0,"reason":"below".*"a/f6"' \
		"the verdict of a pair, whatever it is"
	like "$(echo '{"relation":"directories","path":"a"}' | ask)" '^[0-9]*/b$' \
		"directories"
	is "$(question "$src/b/f7" '"relation":"base","with":"a/f1"' | ask)" \
		100/b/f7 "a base"
	refused "a path that is not there" "No such file" \
		bash -c 'echo "{\"path\":\"nosuch\"}" | "$@"' - perl -e 'my $q = <STDIN>;
			open my $f, "+<", $ARGV[0] or die; syswrite $f, $q;
			defined sysread $f, my $piece, 5 or die "$!\n"' "$query"
	nonsense "a path and a size" "{\"path\":\"a\",\"size\":12,$simhash}"
	nonsense "a path that leads out" '{"path":"../a"}'
	nonsense "directories of a content" \
		"{\"relation\":\"directories\",\"size\":12,$simhash}"
	is "$(printf '{"size":%s,"digests":{"sif":"%s"}}' \
		"$(stat -c %s "$src/a/f7")" \
		"$("$KIN" digest -a sif - <"$src/a/f7" | cut -d' ' -f1)" |
		ask | sed 's#^[0-9]*/##' | sort)" "a/f7
b/f7" "one digest is enough, and no line break at the end"
	nonsense "nothing" ''
	nonsense "no JSON" 'size=12\nsimhash=0123456789abcdef\n'
	nonsense "no object" '[]\n'
	nonsense "no size" "{$simhash}"
	nonsense "no digest" '{"size":12}'
	nonsense "no number" "{\"size\":\"x\",$simhash}"
	nonsense "malformed digest" '{"size":12,"digests":{"simhash":"0123"}}'
	nonsense "unknown digest" '{"size":12,"digests":{"foo":"0123"}}'
	nonsense "twice" "{\"size\":12,\"size\":12,$simhash}"
	nonsense "no such relation" "{\"relation\":\"x\",\"size\":12,$simhash}"
	nonsense "no such key" "{\"wish\":1,\"size\":12,$simhash}"
	nonsense "a NUL" "{\"size\":12,$simhash}"'\0'
	is "$(head -c 131073 /dev/zero | ask_lines 2>&1)" \
		"write: File too large" "EFBIG: more than 128 KiB"
	is "$(head -c 131072 /dev/zero | ask_lines 2>&1)" \
		"read: Invalid argument" "128 KiB are accepted"
	refused "reading alone" "Invalid argument" cat "$query"
	refused "writing alone" "Invalid argument" \
		bash -c 'echo {} >>"$1"' - "$query"
}

test_users() {
	unmount "$mnt"
	chmod 600 "$src/b/renamed"
	mount_kinfs "$src" "$mnt" -o allow_other,limit=1
	wait_idle "$mnt"
	share_programs
	is "$(as_nobody "$KIN" similar --of - "$mnt" <"$src/a/f6" |
		sed -n "s#^ *100 .*$mnt/##p")" a/f6 \
		"nobody is told only of what it may read"
	is "$(similar --of "$src/a/f6" "$mnt")" "100 a/f6
100 b/renamed" "root of both"
	cp "$src/b/f7" "$src/b/f7-2"
	edit_text 3 9 <"$src/b/f7" >"$src/b/f7-3"
	rescan "$mnt"
	similar --of "$src/a/f7" "$mnt" >/dev/null
	like "$(cat "$T/err")" limit "a listing that was cut says so"
	is "$(similar --limit 18446744073709551615 --of "$src/a/f7" "$mnt")" \
		"$(similar --limit 100 --of "$src/a/f7" "$mnt")" \
		"no limit is too large"
	unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o ro
	wait_idle "$mnt"
	is "$(similar --of "$src/a/f6" "$mnt")" "100 a/f6
100 b/renamed" "a mount that is read-only is asked, too"
	is "$(put_pieces 8192 17)" "File too large" \
		"with a question of 128 KiB at most"
	is "$(put_pieces 16000 1)" "Inappropriate ioctl for device" \
		"in pieces of no more than 8 KiB"
	refused "and is not written to" "Read-only" bash -c ': >>"$1"' - "$query"
	unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o "db=$T/no-sketches,digests=simhash"
	wait_idle "$mnt"
	like "$(timeout 600 "$KIN" similar "$mnt/tree/old" "$mnt/tree/new")" \
		'~  - .* rewritten' "files without sketches have no score"
	unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o similar=off
	refused "-o similar=off neither" "without listings" \
		"$KIN" similar --of "$src/a/f6" "$mnt"
}

# How many a user can have open is told by security/open_files.t.
test_open_questions() {
	unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o allow_other
	wait_idle "$mnt"
	setpriv --reuid=65534 --regid=65534 --clear-groups -- perl -e '$| = 1; for (1 .. 500) {
		open my $f, "+<", $ARGV[0] or die; push @all, $f }
		print "open\n"; sleep' "$query" >"$T/opened" &
	pids+=($!)
	ok "500 questions are open" poll 20 grep -q open "$T/opened"
	is "$(question "$src/a/f6" | ask | head -n 1)" 100/a/f6 \
		"and do no harm"
	kill "${pids[-1]}"
}

# A path may be longer than what a system call takes, and than a link.
make_deep() { # FILE
	local name i
	name=$(printf 'd%.0s' {1..250})
	(
		cd "$src/deep" || exit
		for ((i = 0; i < 17; i++)); do
			mkdir "$name" && cd -P "./$name" || exit
		done
		cp "$1" .
	)
}

test_deep() {
	mkdir "$src/deep"
	gen_text 100 40 >"$src/deep/shallow"
	make_deep "$src/deep/shallow"
	"$KIN" rescan "$mnt" && wait_idle "$mnt"
	like "$(similar "$mnt/deep/shallow")" "100 deep/d.*/shallow" \
		"a hit whose path is too long for a link is listed"
	is "$(json 'print length $i[0]{path}' "$mnt/deep/shallow")" \
		"$((5 + 17 * 251 + 7))" "also in JSON"
	rm -r "$src/deep"
	"$KIN" rescan "$mnt" && wait_idle "$mnt"
}

make_tree
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
test_file
test_relations
test_near
test_verdict
test_deep
test_of
test_directories
test_paths
test_errors
test_query
test_users
test_open_questions
ok "the daemon is alive" alive "$mnt"
finish
