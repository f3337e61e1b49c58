#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# That an answer is not complete because of files that are still to be hashed is
# told of the files that the caller can read, and of no others.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

scan_ended() { # poll calls it
	# shellcheck disable=SC2317
	[ "$(status_field "$mnt" scan.running)" != 1 ] &&
		[ "$(status_field "$mnt" stalled)" = 1 ]
}

# While the hashing is paused, the scan finds another file.
scan_finds() { # OWNER FILE
	gen 3000 "${#2}" >"$src/$2"
	chown "$1" "$src/$2"
	chmod 600 "$src/$2"
	"$KIN" rescan "$mnt"
	ok "the scan finds $2" poll 60 scan_ended
}

# A listing is kept for a moment, so each is asked for once.
asked() { # FILE USER
	local view of=$1
	shift
	for view in "$of" "$of/.all" "$of/.within"; do
		"$@" getfattr --only-values --absolute-names \
			-n user.kinfs.state "$mnt/.similar/$view"
		echo -n ' '
	done
	"$@" "$KIN" similar --of "$T/doc" "$mnt" >"$T/said" 2>&1
	echo -n "$? "
	"$@" "$KIN" groups "$mnt" >"$T/said" 2>&1
	echo -n "$? "
	"$@" "$KIN" groups "$mnt/bob" >"$T/said" 2>&1
	echo "$?"
}

share_programs
mkdir -p "$src/ada" "$src/bob" "$src/bobs"
gen_text 100 1 >"$src/bob/doc"
for ((i = 0; i < 6; i++)); do
	cp "$src/bob/doc" "$src/bob/copy$i"
done
cp "$src/bob/doc" "$T/doc"
chmod 644 "$T/doc"
chown "$ada" "$src/ada" && chmod 700 "$src/ada"
chown -R "$bob" "$src/bob" "$src/bobs"
mount_kinfs "$src" "$mnt" -o allow_other,watch=no,wait=1
wait_idle "$mnt"
yes="complete complete complete 0 0 0"
no="incomplete incomplete incomplete 3 3"
is "$(asked bob/copy0 as_bob)" "$yes" "everything is hashed"
"$KIN" pause "$mnt"
scan_finds "$ada" ada/found
is "$(asked bob/copy1 env)" "$no 3" "to root a file of ada is missing"
is "$(asked bob/copy2 as_bob)" "$yes" "to bob it is not"
as_bob cp "$mnt/bob/doc" "$mnt/bobs/closed"
is "$(asked bob/copy3 as_bob)" "$yes" "nor is a file that bob has just closed"
scan_finds "$bob" bobs/found
is "$(asked bob/copy4 as_bob)" "$no 0" \
	"a file of bob is, but of groups of other directories"
"$KIN" resume "$mnt"
wait_idle "$mnt"
is "$(asked bob/copy5 as_bob)" "$yes" "and then hashed"
ok "it unmounts" unmount "$mnt"
finish
