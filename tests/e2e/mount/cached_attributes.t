#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the kernel remembers of a file, here for an hour, is not what was true
# before a change through the mount.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
point= # of the mount in use

# A program asks for the mode alone; the kernel, which knows that the times
# have changed, then answers from its memory.
mode_of() { # FILE
	stat -c %a "$1"
}

# A setuid file that the kernel has heard of.
setuid_file() { # NAME
	rm -f "$point/$1"
	head -c 8192 /bin/true >"$point/$1"
	chmod 6777 "$point/$1"
	[ "$(mode_of "$point/$1")" = 6777 ]
}

is_cleared() { # NAME HOW: what is below was made so by the lower filesystem
	is "$(mode_of "$src/$1")" 777 "$2 by another user clears setuid bits"
	is "$(mode_of "$point/$1")" 777 "and that is seen at once"
}

test_setuid() {
	local file=$point/s how
	local -A command=(
		[append]="echo more >>'$file'"
		[overwriting]="echo more 1<>'$file'"
		[emptying]=": >'$file'"
		[truncation]="truncate -s 10 '$file'"
		[O_DIRECT]="dd if=/dev/zero of='$file' bs=4096 count=1 \
			oflag=direct conv=notrunc"
	)
	for how in "${!command[@]}"; do
		setuid_file s || bail "a setuid file" "$(ls -l "$file")"
		as_nobody sh -c "${command[$how]}" 2>/dev/null
		is_cleared s "$how"
	done
}

# The bits come when the file has been open for a while.
test_setuid_later() {
	local flags
	for flags in ">>" "<>"; do
		rm -f "$point/l"
		head -c 8192 /bin/true >"$point/l"
		chmod 777 "$point/l"
		setsid setpriv --reuid=65534 --regid=65534 --clear-groups -- \
			bash -c "exec 5$flags'$point/l'; echo; read -r _ &&
				echo more >&5; echo; read -r _" \
			<"$T/in" >"$T/out" &
		exec 6>"$T/in" 7<"$T/out"
		read -r -t 600 _ <&7
		chmod 6777 "$point/l"
		mode_of "$point/l" >/dev/null
		echo >&6
		read -r -t 600 _ <&7
		is_cleared l "a write to a file opened before with $flags"
		exec 6>&- 7<&-
		wait "$!"
	done
}

times_of() { # FILE
	stat -c '%y %z' "$1"
}

store() { # TEXT: through the mapping of the coprocess
	local answer
	printf '%s\n' "$1" >&"${STORE[1]}"
	read -r -t 600 answer <&"${STORE[0]}" && [ "$answer" = stored ]
}

# An old file whose times the kernel has heard of, and which is then mapped.
map_old_file() {
	gen_text 100 5 >"$point/m"
	touch -d 2020-01-01 "$point/m"
	times_of "$point/m" >/dev/null
	coproc STORE { exec "$(helper mapstore)" "$point/m"; }
}

unmap() {
	local pid=$STORE_PID
	eval "exec ${STORE[1]}>&-"
	wait "$pid"
}

test_mapping() {
	map_old_file
	ok "a store to a mapped file" store first
	unmap
	unlike "$(times_of "$src/m")" ^2020 "has moved its times when it ends"
	is "$(times_of "$point/m")" "$(times_of "$src/m")" \
		"and that is seen at once"
}

# The file below is mapped, whose times move with the store.
test_mapping_open() {
	map_old_file
	store first || bail "a store through the mapping" "failed"
	unlike "$(times_of "$src/m")" ^2020 "a store moves the times below"
	is "$(times_of "$point/m")" "$(times_of "$src/m")" \
		"they are seen while it is mapped"
	unmap
}

test_new_file() {
	: >"$point/n"
	exec 5<>"$point/n"
	chmod 6777 "$point/n"
	mode_of "$point/n" >/dev/null
	as_nobody sh -c "echo >>'$point/n'"
	is_cleared n "an append, while its owner has it open,"
	exec 5<&-
	as_nobody sh -c "cat '$point/n' >/dev/null"
	chmod 755 "$point/n"
	is "$(mode_of "$point/n")" 755 "a change of the mode is seen at once"
}

test_all() { # PASSTHROUGH
	point=$T/mnt-$1
	mount_kinfs "$src" "$point" \
		-o "allow_other,timeout=3600,passthrough=$1"
	diag "passthrough=$1"
	test_setuid
	test_setuid_later
	test_new_file
	test_mapping
	[[ $(status_json "$point") != *'"passthrough": true'* ]] ||
		test_mapping_open
	ok "unmount" unmount "$point"
}

mkfifo -m 666 "$T/in" "$T/out"
test_all auto
test_all no
finish
