#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Many more files than the daemon may have descriptors, which it may not raise,
# and also without the right to open files by their handles: every file is
# still found, read and known while others come and go.
# shellcheck source=tests/stress/lib.sh disable=SC1091
. tests/stress/lib.sh

files=$((seconds < 60 ? 10000 : 200000))
each=500 # to a directory
limit=1024

make_files() { # DIRECTORY: the content is the name
	awk -v files="$files" -v each="$each" -v top="$1" 'BEGIN {
		for (i = 0; i < files; i++) {
			if (i % each == 0)
				system("mkdir -p " top "/" int(i / each))
			file = top "/" int(i / each) "/" i
			print i > file
			close(file)
		}
	}'
}

# Every file has its size and its content, as four processes see it at once;
# others are made and removed meanwhile.
storm() {
	local pid result=0 pids=()
	(
		cd "$mnt" || exit
		for ((i = 0; i < files / 20; i++)); do
			echo "$i" >"new-$((i % 700))"
			[ $((i % 3)) -gt 0 ] || mv "new-$((i % 700))" "moved"
			[ $((i % 700)) -gt 0 ] || rm -f new-*
		done
		rm -f new-* moved
	) 2>&1 &
	pids+=("$!")
	for i in 1 2 3; do
		find "$mnt" -mindepth 2 -type f -printf '%s %f\n' \
			>"$T/found-$i" 2>&1 &
		pids+=("$!")
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || result=1
	done
	for i in 1 2 3; do
		[ "$(sort -u "$T/found-$i" | wc -l)" -eq "$files" ] && continue
		echo "found: $(sort -u "$T/found-$i" | wc -l) of $files"
		grep -m 3 find: "$T/found-$i"
		result=1
	done
	return "$result"
}

contents() {
	(cd "$mnt" && find . -mindepth 2 -type f -print0 | shuf -z \
		--random-source="$KINFS" | xargs -0 grep -H .) |
		awk -F '[/:]' '$3 == $4 { good++ }
			END { print good + 0 }'
}

held_open() { # COUNT: so many files are open at the same time
	# shellcheck disable=SC2016 # it is perl's
	perl -e 'for my $i (0 .. $ARGV[1] - 1) {
			my $path = "$ARGV[0]/" . int($i / $ARGV[2]) . "/$i";
			open($open[$i], "+<", $path) or die "$path: $!\n"
		}
		for my $i (0 .. $ARGV[1] - 1) {
			my $line = readline($open[$i]);
			$line eq "$i\n" or die "$i has: $line\n"
		}' "$mnt" "$1" "$each"
}

forget() { # of the kernel's own accord, as when memory is short
	[ "$seconds" -lt 60 ] || echo 2 >/proc/sys/vm/drop_caches
}

test_many() { # NAME PRIVILEGES
	mkdir -p "$T/db-mnt"
	KINFS=$(limited_daemon "$limit" "$2") \
		mount_kinfs "$src" "$mnt" -o wait=120
	is "$(awk '/Max open files/ { print $4 }' \
		"/proc/$(daemon_pid "$mnt")/limits")" "$limit" \
		"$1: the daemon is limited"
	ok "$1: lookups, new files and removals" storm
	forget
	ok "$1: and once more" storm
	is "$(contents)" "$files" "$1: every file has its content"
	ok "$1: $((limit / 4)) files are open at once" held_open $((limit / 4))
	forget
	is "$(contents)" "$files" "$1: in another order again"
	ok "$1: catalog and files agree" catalog_agrees
	ok "$1: no want of descriptors" no_complaint
	ok "$1: unmount" unmount "$mnt"
}

make_files "$src"
test_many "few descriptors" "$(without -sys_resource)"
test_many "and no handles" "$(without -sys_resource,-dac_read_search)"
finish
