#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Different kinds of work on one mount at the same time: processes that are
# compared with a plain directory, fio, which reads again what it wrote, and
# in turn all that stress-ng does to filesystems.
# shellcheck source=tests/stress/lib.sh disable=SC1091
. tests/stress/lib.sh

# All that work on a plain directory, but for those that sync or watch every
# filesystem there is.
stressors=(access aio chattr chdir chmod chown copy-file dentry dir dirdeep
	dirmany dnotify dup fallocate fcntl fiemap file-ioctl filename flock
	fpunch fsize fstat getdent handle hdd inode-flags inotify iomix lease
	link locka lockf lockofd mknod mmap open readahead rename revio seek
	sendfile splice symlink sync-file touch utime xattr)
at_once=3

shuffled() {
	printf '%s\n' "${stressors[@]}" |
		shuf --random-source=<(gen 100000 "$1")
}

stressed() { # DIRECTORY SECONDS
	local end=$((SECONDS + $2)) round=0 group name options
	while :; do
		round=$((round + 1))
		while mapfile -t -n "$at_once" group && [ "${#group[@]}" -gt 0 ]; do
			[ "$SECONDS" -lt "$end" ] || return 0
			options=()
			for name in "${group[@]}"; do
				options+=("--$name" 1)
			done
			echo "${group[*]}"
			timeout 300 stress-ng "${options[@]}" --temp-path "$1" \
				--timeout 6 --verify --oomable \
				--metrics-brief --hdd-bytes 8m \
				--mmap-file --mmap-bytes 8m --iomix-bytes 8m \
				--dirdeep-inodes 2000 2>&1 || {
				echo "failed: $?: ${group[*]}"
				return 1
			}
		done < <(shuffled "$((seed * 1000 + round))")
	done
}

bogo_operations() { # LOG
	awk '/bogo ops/ { in_table = 1 }
		in_table && $5 ~ /^[0-9]+$/ { sum += $5 } END { print sum + 0 }' \
		"$1"
}

verified() { # DIRECTORY SECONDS
	fio --directory="$1" --time_based --runtime="$2" --size=4m \
		--rw=randrw --bsrange=512-32k --verify=crc32c \
		--verify_fatal=1 --verify_backlog=50 \
		--verify_state_save=0 --rate=4m \
		--randseed="$seed" --output-format=terse \
		--terse-version=3 --name=written --ioengine=psync \
		--name=mapped --ioengine=mmap \
		--name=direct --ioengine=psync --direct=1 --bsrange=4k-32k 2>&1
}

fio_kilobytes() { # LOG: read and written
	awk -F';' '$1 == 3 { sum += $6 + $47 } END { print sum + 0 }' "$1"
}

test_crowd() {
	local stressing verifying
	mount_kinfs "$src" "$mnt"
	mkdir "$mnt/ng" "$mnt/fio"
	stressed "$mnt/ng" "$seconds" >"$T/ng.log" &
	stressing=$!
	verified "$mnt/fio" "$seconds" >"$T/fio.log" &
	verifying=$!
	pids+=("$stressing" "$verifying")
	passes "mount and twin are the same" run_stress "$seed" "$seconds"
	ok "stress-ng is content" wait "$stressing" ||
		diag "$(grep -v metrc "$T/ng.log" | tail)"
	ok "fio reads what it wrote" wait "$verifying" ||
		diag "$(tail "$T/fio.log")"
	diag "$(bogo_operations "$T/ng.log") operations of stress-ng," \
		"$(fio_kilobytes "$T/fio.log") KiB read and written by fio"
	ok "catalog and files agree" catalog_agrees
	is "$(daemon_log "$mnt")" "" "the daemon had nothing to say"
	ok "unmount" unmount "$mnt"
}

test_crowd
finish
