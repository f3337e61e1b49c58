# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# What somebody who works in the mount feels of a scan that hashes many files:
# the same work while nothing is hashed, while everything is, and while that
# is limited.  Every run mounts anew, without a catalog, and does the work
# three times.  Part of scripts/bench, which reads this file.

scan_columns=(off scan rate)
scan_options=("exclude=*" similar=hide rate=5)
scan_rows=(git untar)

# make_bulk DIRECTORY FILES: of some 3 KiB, a thousand to a directory, no two
# alike.
make_bulk()
{
	mkdir -p "$1" && cd "$1" || return
	seq -f %03.0f 0 $((($2 - 1) / 1000)) | xargs mkdir
	awk -v files="$2" 'BEGIN {
		srand(1)
		for (i = 0; i < 4096; i++) {
			w = ""
			for (n = 2 + int(rand() * 8); n > 0; n--)
				w = w sprintf("%c", 97 + int(rand() * 26))
			word[i] = w
		}
		for (i = 0; i < files; i++) {
			name = sprintf("%03d/%03d", i / 1000, i % 1000)
			for (n = 0; n < 60; n++) {
				line = ""
				for (k = 0; k < 9; k++)
					line = line word[int(rand() * 4096)] " "
				print line >name
			}
			close(name)
		}
	}' || return
	cd "$top" || exit 1
}

make_scan_tree()
{
	mkdir -p scan/source/git scan/off scan/scan scan/rate
	if ! { make_bulk "$top/scan/source/bulk" "$scan_files" &&
		make_bulk "$top/scan/source/git/files" 3000 &&
		tar -cf scan/small.tar -C scan/source/git files &&
		git -C scan/source/git init -q &&
		git -C scan/source/git add .; }; then
		die "cannot make the files to be scanned"
	fi
}

# hashed MOUNT: files so far, since it was mounted
hashed()
{
	"$kin" status --json "$1" |
		sed -n 's/.*"hashed": {[^}]*"files": \([0-9]*\).*/\1/p'
}

# Not of what the kernel remembers of the last time: longer than -o timeout.
scan_git()
{
	sleep 1.1
	timed git -C "$1/git" status --short
}

scan_untar()
{
	local to

	to=$(mktemp -d "$1/untar/XXXXXX") || return
	timed tar -xf "$top/scan/small.tar" -C "$to"
}

# scan_run COLUMN OPTION: both rows in one mount.  Work that ends when
# everything is hashed says nothing and does not count.
scan_run()
{
	local at=$top/scan/$1 row us before daemon

	rm -rf scan/catalog scan/source/untar
	mkdir scan/source/untar
	"$kinfs" -f scan/source "$at" -o "db=$top/scan/catalog,$2" &
	daemon=$!
	until mountpoint -q "$at"; do
		kill -0 "$daemon" 2>/dev/null || die "kinfs failed"
		sleep 0.02
	done
	[ "$1" != off ] || "$kin" wait "$at" >/dev/null
	git -C "$at/git" status --short >/dev/null
	before=$(hashed "$at")
	for row in "${scan_rows[@]}" "${scan_rows[@]}" "${scan_rows[@]}"; do
		us=$("scan_$row" "$at") || continue
		[ "$(hashed "$at")" -lt "$scan_files" ] || continue
		echo "$us" >>"scan/figures.$row.$1"
	done
	echo $(($(hashed "$at") - before)) >>"scan/figures.hashed.$1"
	fusermount3 -u "$at" || die "$at: cannot unmount"
	wait "$daemon"
}

print_scan_row()
{
	local column us figures=()

	for column in "${scan_columns[@]}"; do
		[ -s "scan/figures.$1.$column" ] ||
			die "$1: all was hashed too soon: raise BENCH_SCAN"
		us=$(median <"scan/figures.$1.$column")
		figures+=("$us")
		note scan "$1" "$column" "$us" \
			"$([ "$1" = hashed ] && echo files || echo us)"
	done
	if [ "$1" = hashed ]; then
		printf '%-28s %9s %9s %9s\n' "files hashed meanwhile" \
			"${figures[@]}"
		return
	fi
	echo "${figures[@]}" | awk -v title="$2" '{
		printf "%-28s %9.1f %9.2f %9.2f\n", title, $1 / 1e3,
			$2 / $1, $3 / $1 }'
}

bench_scan()
{
	local run i

	[ -e /dev/fuse ] || die "/dev/fuse is missing"
	make_scan_tree
	for ((run = 0; run < runs; run++)); do
		for i in "${!scan_columns[@]}"; do
			scan_run "${scan_columns[i]}" "${scan_options[i]}"
		done
	done
	printf '\n%d files being hashed, median of up to 3 x %d; %s\n' \
		"$scan_files" "$runs" "off in ms, the others as multiples of it"
	printf '%-28s %9s %9s %9s\n' '' "${scan_columns[@]}"
	print_scan_row git 'git status, 3000 files'
	print_scan_row untar 'untar of 3000 files'
	print_scan_row hashed
}
