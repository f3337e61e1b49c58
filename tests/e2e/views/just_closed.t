#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Read your writes: an answer includes every file that was closed before the
# question, or says that it is not complete.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
rounds=12

# Asks right after a copy is closed.  What is asked may take its time on a busy
# machine, but then it says so.
missed() { # COMMAND...: prints the other copies; how many answers lack one
	local i missed=0 out
	for ((i = 0; i < rounds; i++)); do
		cp "$mnt/doc" "$mnt/new/copy$i"
		out=$("$@" 2>&1)
		[[ $out == *copy$i* || $out == *incomplete* ]] ||
			missed=$((missed + 1))
		rm "$mnt/new/copy$i"
	done
	echo "$missed"
}

listing() { # VIEW
	ls "$mnt/.similar/$1"
	getfattr --only-values --absolute-names -n user.kinfs.state \
		"$mnt/.similar/$1"
}

listing_as_bob() {
	as_bob ls "$mnt/.similar/doc"
	as_bob getfattr --only-values --absolute-names -n user.kinfs.state \
		"$mnt/.similar/doc"
}

groups_listed() {
	ls "$mnt"/.similar/.groups/*
	getfattr --only-values --absolute-names -n user.kinfs.state \
		"$mnt/.similar/.groups"
}

exported() {
	"$KIN" export "$mnt" 2>&1 | zstd -dcf
}

share_programs
mkdir -p "$src/new" "$src/private"
chmod 700 "$src/private"
gen_text 60 1 >"$src/doc"
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"
is "$(missed listing doc)" 0 "listings have what was just closed"
is "$(missed listing_as_bob)" 0 "and those of other users"
is "$(missed groups_listed)" 0 "and groups"
rounds=5
is "$(missed "$KIN" groups --exact --json "$mnt")" 0 "and kin groups"
is "$(missed "$KIN" similar "$mnt/doc")" 0 "and kin similar"
is "$(missed "$KIN" similar --of "$src/doc" "$mnt")" 0 \
	"and of a file that is not mounted"
is "$(missed exported)" 0 "and kin export"
cp "$mnt/doc" "$mnt/new/browsed"
like "$(ls "$mnt/.similar/new")" browsed "a directory shows it"

# What cannot be had in half a second, which is a large file.
truncate -s 3T "$mnt/new/large"
like "$(listing doc)" incomplete "an answer without a large file says so"
like "$(as_bob "$KIN" groups "$mnt" 2>&1 >/dev/null)" "not complete" \
	"to all that can read it"
chmod 700 "$mnt/new"
like "$(listing_as_bob)" "^complete$" "and to nobody else"
rm "$mnt/new/large"

ok "it unmounts" unmount "$mnt"

mount_kinfs "$src" "$mnt" -o wait=0
wait_idle "$mnt"
truncate -s 3T "$mnt/new/large"
like "$(listing doc)" incomplete "without wait= no answer waits"
ok "it unmounts" unmount "$mnt"
finish
