#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The kernel remembers very many files, the daemon may have 1024 descriptors:
# every file is found and opened, with and without handles, what a file costs
# the daemon is bounded, and so is what is left when the kernel forgets.  A
# million files when the test may take ten minutes.
# shellcheck source=tests/stress/lib.sh disable=SC1091
. tests/stress/lib.sh

limit=1024
each=10000 # to a directory
bytes=700  # of the daemon's memory for a file, and what it has anyway
slack=8192 # KiB

make_files() { # COUNT
	mount -t tmpfs -o "nr_inodes=$(($1 * 2 + 10000))" tmpfs "$src" || return
	# shellcheck disable=SC2016 # it is perl's
	perl -e 'for my $i (0 .. $ARGV[1] - 1) {
			my $dir = "$ARGV[0]/" . int($i / $ARGV[2]);
			mkdir $dir if $i % $ARGV[2] == 0;
			open(my $file, ">", "$dir/$i") or die "$!\n"
		}' "$src" "$1" "$each"
}

count_files() {
	find "$mnt" -mindepth 2 -type f -printf '%s\n' | grep -c '^0$'
}

open_all() {
	find "$mnt" -mindepth 2 -type f -print0 | xargs -0 -P 2 cat
}

# Renames, removes and makes files until it is ended, and then ends with all
# there.
shuffle() {
	# shellcheck disable=SC2016 # it is perl's
	exec perl -e 'my $end; $SIG{TERM} = sub { $end = 1 };
		srand($ARGV[2]); while (!$end) {
			my $i = int(rand($ARGV[1]));
			my $path = "$ARGV[0]/" . int($i / $ARGV[3]) . "/$i";
			if (rand() < 0.5) {
				rename($path, "$path-") and
					rename("$path-", $path) or die "$!\n"
			} else {
				unlink($path) or die "$!\n";
				open(my $file, ">", $path) or die "$!\n"
			}
		}' "$mnt" "$1" "$seed" "$each"
}

has_at_most() { # PID KiB
	[ "$(own_memory "$1")" -le "$2" ]
}

forget() { # of the kernel's own accord, as when memory is short
	[ "$seconds" -lt 60 ] || echo 2 >/proc/sys/vm/drop_caches
}

# Three look at everything, one changes names, and the kernel forgets.
storm() { # FILES
	local i pid lookers=() result=0
	shuffle "$1" &
	pids+=("$!")
	for i in 1 2 3; do
		find "$mnt" -mindepth 2 -type f -name '*7' \
			-exec stat -c %s {} + >"$T/seen-$i" 2>"$T/errors-$i" &
		lookers+=("$!")
	done
	for i in 1 2 3 4 5 6; do
		forget
		stat "$mnt/$((i % 2))/"*3 >"$T/seen" 2>"$T/errors-$i"
	done
	# Names go between readdir and stat; nothing else may fail.
	wait "${lookers[@]}"
	gone "${pids[-1]}" && result=1
	end_process "${pids[-1]}"
	for i in 1 2 3 4 5 6; do
		! grep -v 'No such file' "$T/errors-$i" || result=1
	done
	return "$result"
}

test_inodes() { # NAME FILES PRIVILEGES
	local pid first
	make_files "$2" || bail "$2 files" "they cannot be made"
	mkdir -p "$T/db-mnt"
	KINFS=$(limited_daemon "$limit" "$3") \
		mount_kinfs "$src" "$mnt" -o min_size=1
	pid=$(daemon_pid "$mnt")
	wait_idle "$mnt"
	is "$(count_files)" "$2" "$1: all $2 files are there"
	first=$(own_memory "$pid")
	diag "$first KiB"
	is_sanitized || between "$first" 0 $((slack + $2 * bytes / 1024)) \
		"$1: at most $bytes bytes for each"
	ok "$1: all are opened" open_all
	ok "$1: found while names change and the kernel forgets" storm "$2"
	is "$(count_files)" "$2" "$1: all are there after that"
	diag "$(own_memory "$pid") KiB"
	is_sanitized || between "$(own_memory "$pid")" 0 $((first * 3 / 2 + slack)) \
		"$1: in little more memory"
	if [ "$seconds" -ge 60 ] && ! is_sanitized; then
		forget
		ok "$1: what is forgotten takes no memory" \
			poll 30 has_at_most "$pid" $((first / 2 + slack))
	fi
	ok "$1: no want of descriptors" no_complaint
	ok "$1: unmount" unmount "$mnt"
	umount "$src"
}

most=$((seconds < 60 ? 20000 : seconds < 600 ? 200000 : 1000000))
test_inodes "few descriptors" "$most" "$(without -sys_resource)"
test_inodes "and no handles" $((most > 200000 ? 200000 : most)) \
	"$(without -sys_resource,-dac_read_search)"
finish
