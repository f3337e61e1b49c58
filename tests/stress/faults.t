#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A disk below that fails: its errors are passed on as they are, no digest is
# wrong, what was known stays known, and all is well again when the disk is.
# shellcheck source=tests/stress/lib.sh disable=SC1091
. tests/stress/lib.sh

disk=$T/disk     # what the disk has
faults=$T/faults # the calls that fail, with a comma behind each
size=300000

make_faulty() {
	mkdir "$disk" "$disk/dir"
	gen "$size" 1 >"$disk/file"
	gen "$size" 2 >"$disk/dir/other"
	cp "$disk/file" "$disk/dir/copy"
	mount_faulty "$disk" "$src"
}

fail() { # CALLS...: at no moment none
	printf '%s,' "$@" >"$faults.new"
	mv "$faults.new" "$faults"
}

works_again() {
	rm -f "$faults"
}

# The command, in the mount and in what is below it, says the same.
fails_alike() { # CALL COMMAND...
	local where said=()
	fail "$1"
	for where in "$src" "$mnt"; do
		said+=("$(cd "$where" && "${@:2}" 2>&1 >"$T/sink" |
			grep -o 'Input/output error' | head -n 1)")
	done
	works_again
	is "${said[1]} above" "Input/output error above" "$1 fails: ${*:2}"
	is "${said[0]}" "${said[1]}" "$1 fails as below"
}

test_errors() {
	fails_alike read cat file
	fails_alike write dd if=/dev/zero of=dir/other bs=4k count=1 conv=notrunc
	fails_alike fsync sync dir/other
	fails_alike open cat file
	fails_alike getattr stat file
	fails_alike readdir ls dir
	fails_alike unlink rm dir/copy
	ok "the daemon is alive" alive "$mnt"
	ok "the file is as it was" cmp "$mnt/file" "$disk/file"
	ok "with its digests" digests_match "$mnt/file"
	ok "and so is the other" cmp "$mnt/dir/other" "$disk/dir/other"
	ok "with its own" digests_match "$mnt/dir/other"
}

has_state() { # FILE STATE
	[ "$(state "$1")" = "$2" ]
}

# What cannot be read has no digest, and gets it when it can.
test_hashing() {
	fail read
	gen "$size" 3 >"$mnt/dir/other"
	ok "written, and cannot be read" \
		poll 20 has_state "$mnt/dir/other" error:EIO
	is "$(getx "$mnt/dir/other" user.xxh128)" "" "it has no digest"
	fail open
	gen "$size" 4 >"$disk/dir/copy"
	ok "changed, and cannot be opened" rescan "$mnt"
	ok "that is an error, too" \
		poll 20 has_state "$mnt/dir/copy" error:EIO
	is "$(status_field "$mnt" failed)" 2 "which the status counts" ||
		diag "$(status_json "$mnt")"
	works_again
	ok "the next scan, which can" rescan "$mnt"
	ok "has the digests of the one" digests_match "$mnt/dir/other"
	ok "and of the other" digests_match "$mnt/dir/copy"
	is "$(status_field "$mnt" failed)" 0 "and no failure is left"
}

# What the scan cannot see now is not gone.
test_scan() { # CALL
	local hashed
	hashed=$(status_field "$mnt" hashed.files)
	fail "$1"
	ok "$1 fails while it is scanned" rescan "$mnt"
	works_again
	is "$(status_field "$mnt" files)" 3 "all files are known after that"
	ok "with their digests" digests_match "$mnt/dir/other"
	ok "scanned once more" rescan "$mnt"
	is "$(status_field "$mnt" hashed.files)" "$hashed" \
		"and no file had to be read again"
}

# Nor is what a worker cannot find now.
test_worker() {
	timeout 600 "$KIN" pause "$mnt" >"$T/sink"
	gen "$size" 5 >"$mnt/dir/other"
	fail getattr
	timeout 600 "$KIN" resume "$mnt" >"$T/sink"
	wait_idle "$mnt"
	is "$(status_field "$mnt" files)" 3 \
		"a changed file that cannot be looked at is not gone"
	works_again
	ok "and has its digests when it can" digests_match "$mnt/dir/other"
}

# The clock was an hour ahead when the files were changed.
test_clock_set_back() {
	fail future
	ok "files of the future are scanned" rescan "$mnt"
	ok "and have digests" digests_match "$mnt/dir/copy"
	gen "$size" 6 >"$mnt/dir/copy"
	ok "those of what is written now" digests_match "$mnt/dir/copy"
	works_again
	ok "as when they have other times again" digests_match "$mnt/dir/copy"
}

make_faulty || bail "a filesystem that fails" "$(cat "$T/output")"
mount_kinfs "$src" "$mnt" -o timeout=0
wait_idle "$mnt"
test_errors
test_hashing
test_scan getattr
test_scan readdir
test_scan open
test_worker
test_clock_set_back
ok "catalog and files agree" catalog_agrees
ok "unmount" unmount "$mnt"
finish
