#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin export, kin missing and kin similar --in: what is known about a tree is
# taken elsewhere, and compared there.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
open_fuse_to_all
share_programs
chmod 711 "$T"

src=$T/src
mnt=$T/mnt
old=$T/old
oldmnt=$T/oldmnt
lines() { # FILE: without compression
	zstd -dc "$1"
}
export_to() { # MOUNT FILE
	"$KIN" export "$1" >"$2" 2>"$T/errors"
}
missing() { # ARGUMENT...: in order, without titles, sizes and dates
	"$KIN" missing "$@" 2>"$T/errors" |
		sed -E "1d; s#^ *([0-9-]+) +([0-9-]+) +[0-9.]+K? +[0-9-]+ +($mnt/)?#\1 \2 #
			s#  ~  $oldmnt/#  ~  #"
}

mkdir -p "$src/dir" "$old"
gen_text 300 1 >"$src/both"
cp "$src/both" "$src/dir/copy"
gen_text 300 2 >"$src/changed"
edit_text 2 7 <"$src/changed" >"$old/before"
gen_text 200 3 >"$src/new"
cp "$src/new" "$src/dir/new too"
: >"$src/empty"
printf 'a name' >"$src/"$'\xff\n'
cp "$src/both" "$old/renamed"
gen_text 100 9 >"$old/gone"
mount_kinfs "$src" "$mnt" -o allow_other
mount_kinfs "$old" "$oldmnt"
wait_idle "$mnt"
wait_idle "$oldmnt"

# ---- the file ----

ok "a mount is exported" export_to "$mnt" "$T/src.kin"
ok "another one" export_to "$oldmnt" "$T/old.kin"
is "$(lines "$T/src.kin" | wc -l)" 7 "a line for each content, and two"
is "$(lines "$T/src.kin" | jq -r '.kinfs_export, .root' 2>/dev/null |
	grep -v null)" "4
$mnt" "the first one has the version and the root"
is "$(lines "$T/src.kin" | jq -r '.totals | select(.) | "\(.groups) \(.files) \(.complete)"')" \
	"5 7 true" "the last one has the totals"
is "$(lines "$T/src.kin" | jq -r '.members[]?.xxh128')" \
	"$(lines "$T/src.kin" | jq -r '.members[]?.xxh128' | sort)" \
	"in the order of XXH128"
is "$(lines "$T/src.kin" | jq -r '.members[]? | select(any(.files[]; .path == "new")) | "\(.size) \(.xxh128)"')" \
	"$(stat -c %s "$src/new") $(getfattr --only-values -n user.xxh128 "$mnt/new")" \
	"size and XXH128 are those of the file"
is "$(lines "$T/src.kin" | jq -r '.members[]? | select(any(.files[]; .path == "new")) | .digests.sif')" \
	"$(getfattr --only-values -n user.sif "$mnt/new")" "the sketch, too"
is "$(lines "$T/src.kin" | jq -r '.members[]?.files[] | select(.path_hex) | .path_hex')" \
	ff0a "a name that is not UTF-8"
is "$(lines "$T/src.kin" | jq '.members[]?.files[] | select(.path_hex) | .path == "\ufffd\n"')" \
	true "has a path, too"
"$KIN" export --plain "$mnt" 2>"$T/errors" >"$T/plain"
is "$(tail -n +2 "$T/plain")" "$(lines "$T/src.kin" | tail -n +2)" \
	"--plain is the same without compression"

# ---- who may know what ----

chmod 600 "$src/new" "$src/dir/new too"
export_as_nobody() {
	as_nobody "$T/bin/kin" export --plain "$mnt" 2>"$T/errors"
}
is "$(export_as_nobody | grep -c 'new')" 0 \
	"files that cannot be read are left out"
is "$(export_as_nobody | grep -c 'both')" 1 "others are there"
chmod 644 "$src/new" "$src/dir/new too"
rescan "$mnt" # these two are to be looked at again

# ---- missing ----

have=$(missing "$T/src.kin" "$T/old.kin")
is "$(printf '%s\n' "$have" | sed 's/^9[0-9]/9x/')" "9x - changed  ~  before
- - dir/new too
- - empty
- - new
- - \\377\\012" "what the old tree has not, or in another version, by path"
is "$(missing "$mnt" "$oldmnt")" "$have" "the same of mounts"
is "$(missing "$T/plain" "$oldmnt")" "$have" "and of a file and a mount"
is "$("$KIN" missing "$mnt" "$oldmnt" 2>"$T/errors" | sed -n 's/.*  ~  //p')" \
	"$oldmnt/before" "the other version is named as it can be opened"
is "$(cd "$T" && "$KIN" missing mnt oldmnt 2>"$T/errors" |
	sed -n 's/.*mnt.changed  ~  //p')" oldmnt/before "... from where the user is"
is "$(missing --exact "$T/src.kin" "$T/old.kin" | grep -c '^- - changed$')" 1 \
	"--exact: a version counts as missing"
is "$(missing --threshold 100 "$T/src.kin" "$T/old.kin" | grep -c '~')" 0 \
	"--threshold"
is "$(missing "$T/old.kin" "$T/src.kin" | sed 's/^9[0-9]/9x/')" \
	"9x - before  ~  changed
- - gone" "the other way round"
is "$("$KIN" missing -0 "$T/old.kin" "$mnt" | tr '\0' '\n' | sort)" \
	"before
gone" "-0: paths"
is "$("$KIN" missing --json "$T/old.kin" "$mnt" 2>"$T/errors" |
	jq -r '"\(.root) \(.path) \(.relation)", .totals.files' |
	grep -v '^null')" "$oldmnt before version
$oldmnt gone null
2" "--json: an object a line, and totals"
is "$(missing "$mnt" "$T/src.kin")" "" "a tree lacks nothing of itself"
is "$(cat "$T/errors")" \
	"0 files, 0, not in $T/src.kin" "which is said"

# ---- filters, and whole directories ----

mkdir -p "$src/lost/deep"
for n in 1 2 3; do gen_text 40 "5$n" >"$src/lost/deep/$n"; done
cp "$src/both" "$src/lost/beside"
rescan "$mnt"
is "$("$KIN" missing "$mnt/lost" "$oldmnt" 2>"$T/errors" |
	awk 'NR > 1 { print $2, $NF }')" "3 $mnt/lost/deep/" \
	"of a directory; one of which nothing is there is one line"
is "$("$KIN" missing -0 "$mnt/lost" "$oldmnt" 2>"$T/errors" | tr '\0' '\n')" \
	"$mnt/lost/deep/1
$mnt/lost/deep/2
$mnt/lost/deep/3" "-0: all its files"
is "$(missing --exclude 2 --include lost "$mnt" "$oldmnt")" "- - lost/deep/1
- - lost/deep/3" "--include and --exclude; what is left out may be there"
is "$(missing --limit 1 "$mnt" "$T/old.kin" | wc -l)" 1 "--limit"
is "$(missing --min-size 100k "$mnt" "$T/old.kin")" "" "--min-size"
is "$(cd "$mnt/lost" && "$KIN" missing --include 3 . "$oldmnt" 2>"$T/errors" |
	awk 'NR > 1 { print $NF }')" deep/3 "relative to where it is asked"
rm -r "$src/lost"
rescan "$mnt"

# ---- kin similar --in ----

is "$("$KIN" similar --in "$T/src.kin" "$old/renamed" |
	awk '{print $1, $2, $NF}')" "SCORE RELATION PATH
100 copy both
100 copy dir/copy" "the copies of a file in an export"
is "$("$KIN" similar --json --in "$T/src.kin" "$old/before" |
	jq -r 'select(.path).path')" changed "and its near-duplicates"
head -n 250 "$src/changed" >"$T/most"
is "$("$KIN" similar --in "$T/src.kin" "$T/most" | awk 'NR > 1 { print $2, $NF }')" \
	"version changed" "a part that is most of it is a version"
head -n 60 "$src/changed" >"$T/most"
is "$("$KIN" similar --in "$T/src.kin" "$T/most" | awk 'NR > 1 { print $2, $NF }')" \
	"within changed" "a smaller one is within it"
is "$("$KIN" similar --in "$T/src.kin" --threshold 100 --share-min 1M \
	"$old/before" 2>"$T/errors")" "" "--threshold"
like "$(cat "$T/errors")" "nothing here is 100 % alike; the nearest, changed, is 9[0-9] %" \
	"the nearest is told"

# ---- bad input ----

head -c 300 "$T/src.kin" >"$T/cut.kin"
refused "a file that was cut" "cut.kin: .*(cut|damaged)" \
	"$KIN" missing "$T/cut.kin" "$T/old.kin"
refused "the other one, too" "cut.kin: .*(cut|damaged)" \
	"$KIN" missing "$T/old.kin" "$T/cut.kin"
lines "$T/src.kin" | head -n -1 >"$T/short"
refused "one without its last line" "short: .*no end" \
	"$KIN" missing "$T/short" "$T/old.kin"
lines "$T/src.kin" | sed 3d >"$T/fewer"
refused "one that lacks a line" "fewer: line 6 is damaged" \
	"$KIN" missing "$T/fewer" "$T/old.kin"
sed 's/"kinfs_export":4/"kinfs_export":3/' "$T/plain" >"$T/older"
refused "one of another version" "older: .*another version" \
	"$KIN" missing "$T/old.kin" "$T/older"
refused "what is no export" "not a file as kin export" \
	"$KIN" missing "$src/both" "$T/old.kin"
sed '3s/"size":[0-9]*/"size":"x"/' "$T/plain" >"$T/wrong"
refused "a damaged line" "wrong: line 3 is damaged" \
	"$KIN" similar --in "$T/wrong" "$src/new"
sed 's/"size":[0-9]*/"size":9223372036854775807/' "$T/plain" >"$T/huge"
printf '{"kinfs_export":4}\n{"totals":{"groups":0,"files":0}}\n' >"$T/none"
is "$("$KIN" missing --json "$T/huge" "$T/none" 2>"$T/errors" |
	sed -n 's/.*"bytes": *\([0-9-]*\).*/\1/p')" 9223372036854775807 \
	"sizes that have no sum"
sed '3s/sif5:/sif4:/' "$T/plain" >"$T/sketch"
refused "a sketch of another form" "sketch: line 3 is damaged" \
	"$KIN" missing "$T/sketch" "$T/old.kin"
refused "... in the other export" "sketch: line 3 is damaged" \
	"$KIN" missing "$T/old.kin" "$T/sketch"
is "$("$KIN" similar --in "$T/plain" - <"$src/new")" \
	"$("$KIN" similar --in "$T/plain" "$src/new")" \
	"--in FILE -: the standard input"
refused "a file that is no export" "" "$KIN" missing "$src/new" "$T/old.kin"
is "$("$KIN" export --plain "$mnt/dir" | jq -r '.members[]?.files[].path' |
	sort)" "dir/copy
dir/new too" "a directory of a mount is exported alone"
for name in both dir; do
	is "$("$KIN" export --plain --exclude "$name" "$mnt" |
		jq -r '.members[]? | select(.size > 0) | .digests.sif[:5]' |
		sort | uniq -c | tr -s ' ')" " 4 sif5:" \
		"without $name every content has its digests"
done
is "$("$KIN" export --plain --exclude dir --include 'n*' "$mnt" |
	jq -r '.members[]?.files[].path')" new "with filters"
for form in "" --plain; do
	refused "a full disk $form" "standard output: No space" \
		sh -c "\"$KIN\" export $form \"$mnt\" >/dev/full"
done

finish
