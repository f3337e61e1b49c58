#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A listing that is empty because its file is not hashed says so, and so does
# an answer while files that a scan found are still to be hashed.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
similar=$mnt/.similar

make_tree() {
	mkdir "$src"
	gen_text 200 1 >"$src/first"
	cp "$src/first" "$src/second"
	cp "$src/first" "$src/skipped.o"
	cp "$src/first" "$src/held"
}

# The kernel hears nothing of a state, so the views are asked each on its own.
state_is() { # FILE STATE NAME
	is "$(state "$similar/$1")" "$2" "$3"
	is "$(state "$similar/$1/.within")" "$2" "$3: .within"
	is "$(state "$similar/$1/.contains")" "$2" "$3: .contains"
}

test_busy() {
	state_is held complete "before it is written to"
	ls "$similar/held" >/dev/null
	exec {held}>>"$mnt/held"
	echo more >&"$held"
	state_is held busy "written to and open"
	is "$(ls "$similar/held")" "" "it lists nothing"
	exec {held}>&-
	wait_idle "$mnt"
	state_is held complete "closed and hashed"
}

test_pending() {
	"$KIN" pause "$mnt"
	cp "$src/first" "$mnt/new"
	state_is new pending "not hashed in time"
	state_is first incomplete "a file that was just closed may be like it"
	"$KIN" resume "$mnt"
	wait_idle "$mnt"
	state_is new complete "hashed"
	state_is first complete "which the others' listings have then"
	like "$(ls "$similar/new")" 100_first "and listed"
}

scan_ended() {
	[ "$(status_field "$mnt" scan.running)" != 1 ] &&
		[ "$(status_field "$mnt" stalled)" = 1 ]
}

# What the scan found waits for the end of the pause.
test_incomplete() {
	"$KIN" pause "$mnt"
	cp "$src/first" "$src/behind"
	"$KIN" rescan "$mnt" >/dev/null
	ok "the scan ends" poll 60 scan_ended
	state_is first incomplete "a file that the scan found is not hashed"
	"$KIN" similar --of "$src/first" "$mnt" >"$T/out" 2>"$T/err"
	is "$?" 3 "and a question about a content elsewhere is not complete"
	is "$(state "$similar/.dirs")" incomplete "nor are directories"
	"$KIN" resume "$mnt"
	wait_idle "$mnt"
	state_is first complete "hashed, too"
	"$KIN" similar --of "$src/first" "$mnt" >"$T/out" 2>"$T/err"
	is "$?" 0 "and then it is"
}

make_tree
mount_kinfs "$src" "$mnt" -o "wait=0,exclude=*.o"
wait_idle "$mnt"
state_is first complete "a file that is hashed"
state_is skipped.o skipped:exclude "a file that is skipped"
test_busy
test_pending
test_incomplete
ok "unmount" unmount "$mnt"
finish
