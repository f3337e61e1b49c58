# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# All listings of a tree that is there anyhow, and the names of its largest
# directory.  Every run mounts anew, with the catalog of the first.  Part of
# scripts/bench, which reads this file.

similar_rows=(find again ls)

# similar_cpu PID: microseconds
similar_cpu()
{
	awk -v tick="$(getconf CLK_TCK)" '{
		sub(/.*\) /, "")
		printf "%.0f", ($12 + $13) * 1e6 / tick
	}' "/proc/$1/stat"
}

# similar_time ROW PID COMMAND...: what it takes, here and in the daemon
similar_time()
{
	local row=$1 pid=$2 before us

	shift 2
	before=$(similar_cpu "$pid")
	us=$(timed "$@") || die "similar: $row failed"
	echo "$us" >>"similar/$row.s"
	echo $(($(similar_cpu "$pid") - before)) >>"similar/$row.cpu"
}

# similar_run DIRECTORY: in the tree
similar_run()
{
	local daemon links

	"$kinfs" -f "$similar_tree" "$top/kinfs" -o "db=$top/similar/catalog" &
	daemon=$!
	until mountpoint -q kinfs; do
		kill -0 "$daemon" 2>/dev/null || die "kinfs failed"
		sleep 0.1
	done
	"$kin" wait kinfs >/dev/null || die "kin wait failed"
	similar_time ls "$daemon" ls "kinfs/.similar/$1"
	similar_time find "$daemon" find kinfs/.similar
	similar_time again "$daemon" find kinfs/.similar
	links=$(find kinfs/.similar -type l | wc -l)
	echo "$links" >similar/links
	awk '$1 == "VmHWM:" { print $2 / 1024 }' "/proc/$daemon/status" \
		>>similar/memory
	fusermount3 -u kinfs
	wait "$daemon"
}

bench_similar()
{
	local directory files i row s cpu

	[ -e /dev/fuse ] || return 0
	mkdir -p kinfs similar
	files=$(find "$similar_tree" -xdev -type f | wc -l)
	directory=$(find "$similar_tree" -xdev -type f -printf '%P\n' |
		sed -n 's|/[^/]*$||p' | sort | uniq -c | sort -rn |
		sed -n '1s/^ *[0-9]* //p')
	for ((i = 0; i < runs; i++)); do
		similar_run "$directory"
	done
	printf '\nlistings of %s: %d files, %d links; ls: %s\n' \
		"$similar_tree" "$files" "$(<similar/links)" "$directory"
	printf '%-8s %10s %10s\n' '' s 'daemon s'
	for row in "${similar_rows[@]}"; do
		s=$(median <"similar/$row.s")
		cpu=$(median <"similar/$row.cpu")
		awk -v r="$row" -v s="$s" -v c="$cpu" \
			'BEGIN { printf "%-8s %10.2f %10.2f\n", r, s / 1e6, c / 1e6 }'
		note similar "$row" time "$s" us
		note similar "$row" daemon "$cpu" us
	done
	s=$(median <similar/memory)
	printf '%-8s %10.1f MiB\n' memory "$s"
	note similar memory peak "$s" MiB
}
