#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin groups: the files of a mount in groups of near-duplicates, in every form
# of output; what the groups promise; which files count.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
odd=$(printf 'odd\xff\nname, "quoted"')

groups() { # ARGUMENT...
	"$KIN" groups "$@"
}

# One line a group: its head, then the scores and names of all files.
brief() { # ARGUMENT...
	groups --json "$@" | perl -MJSON::PP -ne '
		my $g = decode_json($_);
		next if $g->{totals};
		binmode STDOUT, ":utf8";
		print join(" ", map {
			my $m = $_;
			map { ($m->{head} ? "head" : $m->{score} >= 60) .
				":$_->{path}" . ($_->{keep} ? ":keep" : "") }
				@{$m->{files}}
		} @{$g->{members}}) =~ s/[^ -~]/?/gr, "\n"'
}

field() { # JSON_LINE EXPRESSION
	perl -MJSON::PP -e 'my $o = decode_json($ARGV[0]);
		print eval($ARGV[1])' "$1" "$2"
}

mkdir -p "$src"/{docs,old,reference,small}
gen_text 300 1 >"$src/docs/report"
edit_text 3 7 <"$src/docs/report" >"$src/old/draft"
cp "$src/docs/report" "$src/old/report"
cp "$src/docs/report" "$src/reference/report"
gen 200000 5 >"$src/$odd"
cp "$src/$odd" "$src/docs/big"
echo 'a few words, twice the same' >"$src/small/one"
cp "$src/small/one" "$src/small/two"
gen_text 200 9 >"$src/docs/alone"
: >"$src/docs/empty"
: >"$src/old/empty"
ln "$src/docs/alone" "$src/docs/alone-too"
find "$src" -type f -exec touch -d @1700000000 {} +
touch -d @1600000000 "$src/old/report"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"

disk() { # FILE: bytes on disk
	echo $(($(stat -c '%b * %B' "$src/$1")))
}

# ---- groups ----

is "$(brief "$mnt" | grep -c .)" 3 "three groups: most bytes first"
like "$(brief "$mnt" | sed -n 1p)" "^head:docs/big head:odd..name" \
	"the largest copies are the first"
like "$(brief "$mnt" | sed -n 2p)" \
	"docs/report.*old/report.*reference/report" "versions are one group"
like "$(brief "$mnt" | sed -n 2p)" "old/draft" "with the near-duplicate"
unlike "$(brief "$mnt" | sed -n 2p)" " :" "which is alike enough with the head"
is "$(brief "$mnt" | sed -n 3p)" "head:small/one head:small/two" \
	"small files have exact copies"
unlike "$(brief "$mnt")" "empty|alone" \
	"empty files and names of one file are no group"
is "$(brief --exact "$mnt" | tr '\n' '|')" \
	"$(brief --exact "$mnt" | sed -n 1p)|head:docs/report head:old/report \
head:reference/report|head:small/one head:small/two|" "exact copies alone"
is "$(brief "$mnt")" "$(brief "$mnt")" "twice the same answer"

line=$(groups --json "$mnt" | sed -n 1p)
is "$(field "$line" '$o->{saved_exact}')" "$(disk docs/big)" \
	"bytes on disk that could be saved"
is "$(field "$line" '$o->{saved_near}')" 0 "none in near copies"
is "$(field "$line" '$o->{threshold}')" 60 "the threshold is the mount's"
is "$(field "$line" '$o->{members}[0]{files}[1]{path_hex}' |
	perl -pe '$_ = pack("H*", $_)')" "$odd" "a path that is no text in hex"
is "$(field "$line" '$o->{members}[0]{xxh128}')" \
	"$(getx "$mnt/docs/big" user.xxh128)" "and the digest"
total=$(groups --json "$mnt" | tail -n 1)
is "$(field "$total" '$o->{totals}{groups} . "," . $o->{totals}{files}')" 3,8 \
	"totals: groups and files"
is "$(field "$total" '$o->{totals}{exact_bytes}')" \
	$(($(disk docs/big) + 2 * $(disk docs/report) + $(disk small/one))) \
	"bytes in exact copies"
is "$(field "$total" '$o->{totals}{near_bytes}')" "$(disk old/draft)" \
	"and in near copies"
is "$(field "$total" '$o->{totals}{complete}')" 1 "and that it is complete"

# ---- which files ----

is "$(brief "$mnt" "$mnt/docs" "$mnt/old" | grep -c .)" 1 "of two directories"
unlike "$(brief "$mnt/docs" "$mnt/old")" "reference" "only what is below them"
is "$(brief "$mnt/small")" "head:small/one head:small/two" "of one directory"
is "$(brief --min-size 1k "$mnt" | grep -c small)" 0 "of some size"
for size in 9223372036854775807 18446744073709551615; do
	is "$(groups --min-size "$size" "$mnt" 2>&1 | tail -n 1 |
		cut -d, -f1)" "0 groups" "of $size bytes"
done
is "$(brief --threshold 99 "$mnt" | grep -c draft)" 0 \
	"a threshold of the caller's own"
is "$(brief --across "$mnt/old" --across "$mnt/reference" "$mnt" |
	grep -c .)" 1 "groups across directories"
is "$(brief --across "$mnt/small" --across "$mnt/reference" "$mnt")" "" \
	"or none"
is "$(brief --across "$mnt" --across "$mnt/reference" "$mnt" | grep -c .)" 1 \
	"a directory and what is outside of it"
is "$(brief --across "$mnt" --across "$mnt/small" "$mnt")" "" \
	"nothing, where all is inside"
like "$(brief --keep "$mnt/reference" "$mnt")" "reference/report:keep" \
	"what is to be kept is marked"

# ---- which is the newest ----

# The names tell the opposite of the times.
mkdir "$src/plans"
versions=(plan_old "plan draft" plan "plan (1)" plan_v2 plan_v10 plan_final)
for ((i = 0; i < ${#versions[@]}; i++)); do
	{
		echo "version $i"
		gen_text 60 77
	} >"$src/plans/${versions[i]}.txt"
	touch -d "@$((1600000000 - i))" "$src/plans/${versions[i]}.txt"
done
"$KIN" rescan "$mnt" >/dev/null
wait_idle "$mnt"
newest=$(for ((i = ${#versions[@]} - 1; i >= 0; i--)); do
	echo "${versions[i]}.txt"
done)
sorted() { # PATH: names in the order of kin groups, then what it says
	groups --json "$1" | perl -MJSON::PP -ne '
		my $g = decode_json($_);
		next if $g->{totals};
		print map({ my $m = $_; map {
			substr($_->{path}, rindex($_->{path}, "/") + 1) . "\n"
		} @{$m->{files}} } @{$g->{members}}), "by $g->{order}\n"'
}
is "$(sorted "$mnt/plans")" "$newest"$'\n'"by name" \
	"versions come from new to old by their names"
like "$(groups "$mnt/plans" | sed -n 3p)" "in near copies; newest first, by name" \
	"which the text says"
is "$(groups "$mnt/plans" | sed -n 's,.*/\(plan.*\),\1,p')" "$newest" \
	"in the same order"
is "$(groups --json "$mnt/plans" | grep -o '"head": *true' | wc -l)" 1 \
	"one of them is the head"
is "$(find "$mnt/.similar/plans/.groups" -type l -name '100_*' -printf '%f\n')" \
	"100_$(field "$(groups --json "$mnt/plans" | sed -n 1p)" '
		my ($head) = grep { $_->{head} } @{$o->{members}};
		$head->{files}[0]{path} =~ s,.*/,,r')" \
	"the same one as in the mount"
groups --json "$mnt/plans" >"$T/plans"
shares() { # GROUPS: what would share blocks with the head, or cannot here
	"$KIN" dedup --blocks "$1" 2>&1 | grep "$mnt/plans/" | sort
}
is "$(shares "$T/plans")" "$(shares "$mnt/plans")" \
	"and for kin dedup, which reads either"
mv "$src/plans/plan draft.txt" "$src/plans/other words.txt"
"$KIN" rescan "$mnt" >/dev/null
wait_idle "$mnt"
is "$(sorted "$mnt/plans" | sed -n '1p;$p' | tr '\n' ' ')" \
	"plan_old.txt by mtime " "other names leave it to the time of change"
unlike "$(groups --exact "$mnt")" "newest" "exact copies are as new as another"
rm -r "$src/plans"
"$KIN" rescan "$mnt" >/dev/null
wait_idle "$mnt"

# ---- other forms ----

paths() {
	groups -0 "$@" | tr '\n\0' '?\n'
}
copies_are() { # NAME_OF_BIG REPORT REPORT SMALL: sorted names
	printf '%s\n' "${@//$'\n'/?}" | sort | tr '\n' ' '
}
leaving() { # ARGUMENT...
	paths --exact "$@" "$mnt" | sed "s,$mnt/,," | sort | tr '\n' ' '
}
is "$(leaving)" "$(copies_are "$odd" docs/report reference/report small/two)" \
	"-0: all copies but the oldest, of equal ones the shortest path"
is "$(leaving --keep newest)" \
	"$(copies_are "$odd" old/report reference/report small/two)" \
	"or but the newest"
is "$(leaving --keep shortest)" \
	"$(copies_are "$odd" docs/report reference/report small/two)" \
	"or but the one with the shortest path"
is "$(paths --keep "$mnt/reference" "$mnt/docs" "$mnt/reference" |
	sed "s,$mnt/,,")" docs/report "or but those to be kept"
like "$(groups "$mnt" | sed -n 3p)" "^1  2 files, 196K in exact copies" \
	"text for people"
like "$(groups "$mnt" | tail -n 1)" "3 groups, 8 files: 240K in exact copies" \
	"with totals"
unlike "$(groups "$mnt")" $'\033' "and no colours in a pipe"
ok "kin dedup reads it" bash -c "'$KIN' groups --json '$mnt' |
	'$KIN' dedup --min-size 1k - >'$T/plan'"
is "$(grep -c '^ *hardlink' "$T/plan")" 3 "as it is"

# ---- states and errors ----

echo more >>"$mnt/docs/report"
wait_idle "$mnt"
is "$(brief --exact "$mnt" | grep -c docs/report)" 0 "a changed file moves out"
"$KIN" pause "$mnt" >/dev/null
gen_text 10 33 >"$src/new"
"$KIN" rescan "$mnt" >/dev/null
scan_ended() {
	[ "$(status_field "$mnt" scan.running)" != 1 ] &&
		[ "$(status_field "$mnt" stalled)" = 1 ]
}
ok "a file is to be hashed" poll 60 scan_ended
groups "$mnt" >/dev/null 2>"$T/said"
is $? 3 "then the exit status is 3"
like "$(cat "$T/said")" "not complete" "which is said"
is "$(field "$(groups --json "$mnt" 2>/dev/null | tail -n 1)" \
	'$o->{totals}{reason}')" incomplete "also in JSON"
"$KIN" resume "$mnt" >/dev/null
wait_idle "$mnt"
groups "$mnt" >/dev/null
is $? 0 "and passes"
refused "no mount" "usage" groups
refused "not a mount" "not in a kinfs mount" groups "$PWD/Makefile"
refused "a threshold of 0" "threshold" groups --threshold 0 "$mnt"
refused "a size that is none" "min-size" groups --min-size x "$mnt"
refused "two forms at once" "exclude" groups --json -0 "$mnt"
refused "across one directory" "two" groups --across "$mnt/old" "$mnt"
refused "a path that is not there" "No such" groups "$mnt" "$mnt/none"
refused "a path of elsewhere" "not in" groups "$mnt" "$src"
groups --threshold 0 "$mnt" >/dev/null 2>&1
is $? 2 "usage is exit status 2"

# The daemon works for nobody any more, and for the next one.
for ((i = 0; i < 20; i++)); do
	groups --json "$mnt" 2>/dev/null | head -c 1 >/dev/null
done
is "$(brief "$mnt" | grep -c .)" 3 "readers that go away leave no trace"
ok "it unmounts" unmount "$mnt"
mount_kinfs "$src" "$mnt" -o ro
wait_idle "$mnt"
is "$(brief "$mnt" | grep -c .)" 3 "a mount that is read-only answers too"
ok "it unmounts" unmount "$mnt"

# Files that have changed are left out, and the answer says that some may be
# missing.
mount_kinfs "$src" "$mnt" -o watch=no
wait_idle "$mnt"
find "$src" -type f -exec chmod o+x {} + # their ctime, and nothing else
groups --json "$mnt" >"$T/changed" 2>/dev/null
is $? 3 "files that changed behind the mount are missed"
is "$(field "$(tail -n 1 "$T/changed")" '$o->{totals}{reason}')" incomplete \
	"... which is said"
ok "it unmounts" unmount "$mnt"
finish
