#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Sparse files: holes are not read, and have the digests of the zeros that a
# reader gets.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt

put() { # FILE OFFSET BYTES SEED: some data there
	gen "$3" "$4" | dd of="$1" bs=64K oflag=seek_bytes seek="$2" \
		conv=notrunc status=none
}

make_layouts() {
	mkdir -p "$src"
	truncate -s 40M "$src/nothing"
	truncate -s 30M "$src/front"
	put "$src/front" 0 100000 1
	truncate -s 30M "$src/back"
	put "$src/back" 31000000 457280 2
	truncate -s 100M "$src/islands"
	put "$src/islands" 4096 4096 3
	put "$src/islands" 3000000 700000 4
	put "$src/islands" 90001000 5 5
	truncate -s 100000007 "$src/comb"
	local at
	for at in {0..63}; do
		put "$src/comb" $((at * 400000)) 4096 "$at"
	done
	put "$src/comb" 99999999 8 99
}

kin_agrees() { # FILE
	diff <("$KIN" digest "$1" | tail -n +2) \
		<("$KIN" digest - <"$1" | tail -n +2) &&
		diff <("$KIN" digest "$1" | tail -n +2) \
			<(tail -c +1 "$1" | "$KIN" digest - | tail -n +2)
}

test_layouts() {
	local name
	for name in nothing front back islands comb; do
		ok "$name: the digests are those of what cat gives" \
			digests_match "$mnt/$name"
		ok "$name: kin digest says so too" kin_agrees "$src/$name"
	done
	truncate -s 50M "$src/part"
	put "$src/part" 20000000 5 6
	is "$({ head -c 1000 >"$T/head"; "$KIN" digest -a xxh128 -; } \
		<"$src/part")" \
		"$(tail -c +1001 "$src/part" | "$KIN" digest -a xxh128 -)" \
		"kin digest goes on from where its input stands"
}

bytes_read() { # PID: by it and its children that have ended
	sed -n 's/^rchar: //p' "/proc/$1/io"
}

# In a shell of its own, which counts what kin reads.
bytes_read_by_kin() { # FILE
	KIN=$KIN FILE=$1 bash -c '"$KIN" digest "$FILE" >/dev/null
		sed -n "s/^rchar: //p" /proc/$$/io'
}

test_nothing_is_read() {
	local before pid
	pid=$(daemon_pid "$mnt")
	truncate -s 20G "$src/huge"
	between "$(bytes_read_by_kin "$src/huge")" 0 4000000 \
		"kin digest does not read 20 GB of nothing"
	before=$(bytes_read "$pid")
	is "$(getx "$mnt/huge" user.xxh128)" adb9ddc6b487a54317ee85ea4e3d73df \
		"they have a digest in the mount"
	between $(($(bytes_read "$pid") - before)) 0 40000000 \
		"and the daemon has not read them"
	ok "kin check --read" "$KIN" check --read "$mnt"
	between $(($(bytes_read "$pid") - before)) 0 1000000000 \
		"does not read them either"
}

status_shows() { # REGEX
	timeout 20 "$KIN" status "$mnt" | grep -qE "$1"
}

test_progress() {
	truncate -s 8T "$src/endless"
	getfattr --absolute-names -n user.xxh128 "$mnt/endless" \
		>/dev/null 2>&1 &
	local pid=$!
	pids+=("$pid")
	ok "kin status shows how far a large file is, how fast, and until when" \
		poll 60 status_shows \
		'^reading +[0-9.]+[MGT] of 8\.0T, [0-9.]+[KMG]/s, [0-9]+ (s|min|h|days) left$'
	is "$(timeout 20 "$KIN" wait --timeout 0 "$mnt" 2>/dev/null |
		grep -cE ', [0-9.]+[MGT] of 8\.0T, [^,]*, .* left\)$')" 1 \
		"and so does kin wait"
	kill "$pid"
	wait "$pid" 2>/dev/null
}

make_layouts
mount_kinfs "$src" "$mnt"
test_layouts
test_nothing_is_read
test_progress
ok "unmount" unmount "$mnt"
finish
