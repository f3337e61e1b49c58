#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Where the kernel reads and writes the files below by itself, the daemon does
# not hear of it: digests are right all the same, and nothing else changes.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt

passes() { # MOUNTPOINT
	[ "$(status_json "$1" | grep -o '"passthrough": [a-z]*')" = \
		'"passthrough": true' ]
}

newer_kernel() { # VERSION
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]
}

# Bytes that the daemon has read and written so far.
daemon_bytes() {
	awk '/^[rw]char/ { n += $2 } END { print n }' \
		"/proc/$(daemon_pid "$mnt")/io"
}

test_bypass() {
	local before after
	gen 33554432 1 >"$T/big"
	before=$(daemon_bytes)
	cat "$T/big" >"$mnt/big"
	cat "$mnt/big" >"$T/copy"
	after=$(daemon_bytes)
	dd if="$mnt/big" of="$T/direct" bs=1M iflag=direct status=none
	between $((after - before)) 0 4000000 \
		"64 MiB go back and forth, none through the daemon"
	ok "what was written is below" cmp "$T/big" "$src/big"
	ok "and is read" cmp "$T/big" "$T/copy"
	ok "with O_DIRECT too" cmp "$T/big" "$T/direct"
}

# The daemon keeps a descriptor of each file, and another one where it reads; to
# hash it, it has one more for a moment.
has_descriptors() { # FILE COUNT
	[ "$(find "/proc/$(daemon_pid "$mnt")/fd" -lname "$1" | wc -l)" = "$2" ]
}

# To open them below takes longer than to read them.
test_small() {
	gen 60000 4 >"$src/small"
	exec 5<"$mnt/small" 6<"$mnt/big"
	ok "a small file is read through the daemon" \
		poll 10 has_descriptors "$src/small" 2
	ok "a big one is not" poll 10 has_descriptors "$src/big" 1
	ok "it is read" cmp "$src/small" /proc/self/fd/5
	dd if="$T/big" of="$mnt/small" bs=100 count=3 conv=notrunc status=none
	ok "written while it is open: who reads it sees that" \
		cmp -n 300 "$T/big" /dev/fd/5
	exec 5<&- 6<&-
	ok "and it has its digest" digests_match "$mnt/small"
}

direct_write() {
	# The last block is not a whole one: dd switches O_DIRECT off for it.
	head -c 1000001 "$T/big" |
		dd of="$1" bs=64K iflag=fullblock oflag=direct conv=notrunc \
			status=none
}

test_writes() {
	cp "$T/big" "$mnt/w"
	ok "a new file has its digest" digests_match "$mnt/w"
	echo more >>"$mnt/w"
	ok "after an append" digests_match "$mnt/w"
	is "$(stat -c %s "$mnt/w")" 33554437 "whose size is seen at once"
	truncate -s 1000 "$mnt/w"
	ok "after truncation" digests_match "$mnt/w"
	gen_text 40 2 | dd of="$mnt/w" conv=notrunc status=none
	ok "overwritten in place" digests_match "$mnt/w"
	direct_write "$mnt/w"
	ok "with O_DIRECT" digests_match "$mnt/w"
	fallocate -p -o 4096 -l 8192 "$mnt/w"
	ok "after a hole was punched" digests_match "$mnt/w"
}

# Every version has the same size.  What a reader gets is the digest of one
# that was there between the start and the end of the question.
read_versions() { # STOP
	local from have to i
	until [ -e "$1" ]; do
		from=$(cat "$T/written")
		have=$(getx "$mnt/v" user.xxh128)
		to=$(cat "$T/begun")
		[ -n "$have" ] || continue
		for ((i = from; i <= to; i++)); do
			[ "$have" != "${version[i]}" ] || break
		done
		[ "$i" -le "$to" ] || {
			echo "$have is not of versions $from to $to"
			return 1
		}
		echo "$have" >>"$T/seen"
	done
}

write_versions() {
	local i
	for ((i = 1; i < ${#version[@]}; i++)); do
		echo "$i" >"$T/begun.new" && mv "$T/begun.new" "$T/begun"
		dd if="$T/v.$i" of="$mnt/v" conv=notrunc status=none || return
		echo "$i" >"$T/written.new" &&
			mv "$T/written.new" "$T/written"
		[ $((i % 4)) -ne 0 ] || getx "$mnt/v" user.xxh128 >/dev/null
	done
}

test_versions() {
	local i reader result=0
	version=()
	for i in {0..40}; do
		gen 20000 $((100 + i)) >"$T/v.$i"
		version[i]=$(xxhsum -H2 <"$T/v.$i" | cut -d' ' -f1)
	done
	cp "$T/v.0" "$mnt/v"
	echo 0 | tee "$T/begun" >"$T/written"
	read_versions "$T/stop" >"$T/reader" &
	reader=$!
	ok "a file is written again and again" write_versions
	poll 60 test -s "$T/seen"
	touch "$T/stop"
	wait "$reader" || result=1
	report "$result" "meanwhile no reader gets a stale digest" ||
		diag "$(cat "$T/reader")"
	is "$(getx "$mnt/v" user.xxh128)" "${version[40]}" \
		"and in the end everybody gets the last one"
}

store() { # TEXT: through the mapping of the coprocess
	local answer
	printf '%s\n' "$1" >&"${STORE[1]}"
	read -r -t 600 answer <&"${STORE[0]}" && [ "$answer" = stored ]
}

# The daemon hears of the close, which comes first, and of nothing after.
test_mapping() {
	local i pid mapstore
	mapstore=$(helper mapstore)
	gen_text 100 5 >"$mnt/mapped"
	coproc STORE { exec "$mapstore" "$mnt/mapped"; }
	pid=$!
	for i in 1 2 3 4; do
		store "store $i" || bail "a store through the mapping" "failed"
		ok "store $i through a mapping: the digest follows" \
			digests_match "$mnt/mapped"
	done
	eval "exec ${STORE[1]}>&-"
	wait "$pid"
	ok "unmapped: the digest stays right" digests_match "$mnt/mapped"
}

# What is asked of a descriptor that the daemon did not need so far.
test_read_only() {
	truncate -s 1M "$mnt/sparse"
	echo end >>"$mnt/sparse"
	cp --sparse=always "$mnt/sparse" "$mnt/sparse2"
	ok "SEEK_HOLE and copies" cmp "$src/sparse" "$src/sparse2"
	is "$(stat -c %b "$src/sparse2")" 8 "holes are kept"
	ok "flock of a file open for reading" flock -s "$mnt/sparse" true
	ok "fsync of it" sync "$mnt/sparse"
	exec 7<"$mnt/sparse"
	rm "$mnt/sparse"
	is "$(tail -c 4 <&7)" end "a deleted file is read on"
	exec 7<&-
}

# A user who may write to the file before it becomes setuid.
write_later() {
	{
		read -r _
		echo evil >&6
	} 6>>"$mnt/setid" <"$T/go"
}

is_open() { # PID FD
	[ -e "/proc/$1/fd/$2" ]
}

test_setid() {
	local pid
	mkfifo -m 666 "$T/go"
	cp /bin/true "$mnt/setid"
	chmod 666 "$mnt/setid"
	export mnt T
	export -f write_later
	(exec setpriv --reuid=65534 --regid=65534 --clear-groups -- \
		bash -c write_later) &
	pid=$!
	exec 5<>"$T/go"
	poll 10 is_open "$pid" 6 || bail "a user opens the file" "it failed"
	chmod 6777 "$mnt/setid"
	echo go >&5
	exec 5>&-
	wait "$pid"
	is "$(stat -c %a "$src/setid")" 777 \
		"a write clears setuid bits that came after the file was opened"
	chmod 6777 "$mnt/setid"
	echo x >>"$mnt/setid"
	is "$(stat -c %a "$src/setid")" 6777 "root's write keeps them"
	setpriv --bounding-set -fsetid --inh-caps -fsetid \
		bash -c "echo x >>'$mnt/setid'"
	is "$(stat -c %a "$src/setid")" 777 \
		"but not root's without CAP_FSETID"
	chmod 6777 "$mnt/setid"
	exec 5<"$mnt/setid"
	echo y >>"$mnt/setid"
	is "$(tail -n 1 "$mnt/setid")" y "such a file is read and written"
	exec 5<&-
}

test_behind() {
	gen_text 100 7 >"$mnt/behind"
	exec 5<"$mnt/behind"
	head -c 10 <&5 >/dev/null
	printf CHANGED | dd of="$src/behind" conv=notrunc status=none
	is "$(head -c 7 "/proc/self/fd/5")" CHANGED \
		"a change below is read at once"
	exec 5<&-
}

test_off() {
	mount_kinfs "$T/src2" "$T/mnt2" -o passthrough=no
	not_ok "passthrough=no: off" passes "$T/mnt2"
	echo something >"$T/mnt2/f"
	ok "and everything works" digests_match "$T/mnt2/f"
	mkdir "$T/src3"
	mount -t tmpfs tmpfs "$T/src3"
	mount_kinfs "$T/src3" "$T/mnt3"
	not_ok "off for files in memory" passes "$T/mnt3"
}

mount_kinfs "$src" "$mnt" -o exclude=big,allow_other
if ! passes "$mnt" && ! newer_kernel 6.9; then
	skip "the kernel reads and writes the files by itself" \
		"this kernel cannot"
	finish
fi
ok "the kernel reads and writes the files by itself" passes "$mnt"
test_bypass
test_small
test_writes
test_versions
test_mapping
test_read_only
test_setid
test_behind
test_off
ok "the daemon is alive" alive "$mnt"
finish
