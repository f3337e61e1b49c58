#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every digest read through the mount is the one kin works out without it, and
# the identity is what xxhsum prints.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt

copy_some() { # DIRECTORY COUNT TO: files spread evenly over the tree
	find "$1" -type f -readable -size -2000k 2>/dev/null | sort |
		awk -v want="$2" '{ file[NR] = $0 }
			END { step = NR > want ? NR / want : 1
			for (i = 1; i <= NR; i += step) print file[int(i)] }' |
		tar -cf - -T - 2>/dev/null | tar -xf - -C "$3"
}

make_tree() {
	local n
	mkdir -p "$src/sizes"
	copy_some /usr/share/doc 200 "$src"
	copy_some /usr/include 200 "$src"
	for n in 0 1 2 6 7 8 15 16 17 191 192 193 1023 4096 65536 1048577; do
		gen "$n" "$n" >"$src/sizes/random-$n"
		head -c "$n" /dev/zero >"$src/sizes/zero-$n"
	done
	: >"$src/sizes/empty"
	echo "an odd name" >"$src/sizes/a \"b\" \$c"
}

# Lines "value  path" of one attribute, sorted by path.
through_mount() { # NAME
	(cd "$mnt" && find . -type f -exec getfattr -n "$1" -- {} +) |
		perl -0777 -ne 'for (split /\n\n/) {
			my ($file, $value) =
				/^# file: (.*)\n.*?="(.*)"\s*$/s or next;
			$file =~ s/\\([0-7]{3})/chr oct $1/ge;
			print "$value  $file\n" }' | sort -k 2
}

without_mount() { # NAME
	(cd "$src" && find . -type f -exec "$KIN" digest -a "$1" -- {} + 2>/dev/null) |
		sed 's#  \./#  #' | sort -k 2
}

without_xxhsum() {
	(cd "$src" && find . -type f -exec xxhsum -H2 {} + 2>/dev/null) |
		sed 's#  \./#  #' | sort -k 2
}

make_tree
mount_kinfs "$src" "$mnt"
default_attributes
files=$(find "$src" -type f | wc -l)
between "$files" 150 2000 "the tree has some hundred files"

for name in user.sise user.simhash user.rdc.traits user.sif \
	user.ssdeep user.xxh128; do
	like " ${ATTRIBUTES//$'\n'/ } " " $name " "$name is of the default set"
done

for name in $ATTRIBUTES; do
	through_mount "$name" >"$T/have"
	without_mount "$name" >"$T/want"
	is "$(wc -l <"$T/have")" "$files" "$name is there for every file"
	same "$name is what kin digest prints" "$T/have" "$T/want"
done

through_mount user.xxh128 >"$T/have"
without_xxhsum >"$T/want"
same "user.xxh128 is what xxhsum -H2 prints" "$T/have" "$T/want"

wait_idle "$mnt"
is "$(names "$mnt/sizes/random-4096")" "$(sort <<<"$ATTRIBUTES")" \
	"the attributes listed are exactly the default set"
setfattr -n user.real -v 1 "$src/sizes/random-4096"
is "$(names "$mnt/sizes/random-4096")" "$(
	printf '%s\nuser.real\n' "$ATTRIBUTES" | sort
)" "and those the file really has"
is "$(names "$mnt/sizes/empty")" "$(sort <<<"$ATTRIBUTES")" \
	"an empty file has them too"
is "$(getx "$mnt/sizes/empty" user.xxh128)" \
	99aa06d3014798d86001c324468d497f "of nothing"

like "$(getx "$mnt/sizes/random-65536" user.simhash)" '^[0-9a-f]{16}$' \
	"user.simhash is 16 lower-case hex digits"
like "$(getx "$mnt/sizes/random-65536" user.rdc.traits)" '^[0-9a-f]{32}$' \
	"user.rdc.traits is 32 lower-case hex digits"
like "$(getx "$mnt/sizes/random-65536" user.sise)" \
	'^[0-9]+\([0-9]+\):[A-Za-z0-9+/]+::[0-9]+\([0-9]+\):[A-Za-z0-9+/]+$' \
	"user.sise has its two parts"
is "$(getfattr --absolute-names --only-values -n user.xxh128 \
	"$mnt/sizes/empty" | wc -c)" 32 "no NUL and no newline at the end"
is "$(errno_of getx-short "$mnt/sizes/empty" user.xxh128)" ERANGE \
	"a buffer that is too small gets ERANGE"
is "$(errno_of getx "$mnt/sizes" user.xxh128)" ENODATA \
	"a directory has no digest"
is "$(names "$mnt/sizes")" "" "and lists none"
is "$(errno_of getx "$mnt/sizes/empty" user.nosuch)" ENODATA \
	"an attribute that is not there is ENODATA"

# ---- a large file, and one of several that are digested side by side ----

gen $((70 << 20)) 70 >"$mnt/large"
for name in $ATTRIBUTES; do
	is "$(getx "$mnt/large" "$name")" \
		"$("$KIN" digest -j 1 -a "$name" - <"$src/large" |
			sed 's/  -$//')" "$name of a large file"
done
"$KIN" digest -j 1 "$src/large" "$src/sizes"/* >"$T/want"
"$KIN" digest -j 4 "$src/large" "$src/sizes"/* >"$T/have"
same "several threads say what one says" "$T/have" "$T/want"
rm "$mnt/large"

finish
