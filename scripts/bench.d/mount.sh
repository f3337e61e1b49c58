# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# The mount: the same work on a plain directory, through bindfs, perhaps
# another peer, and through kinfs, which is mounted in up to three ways.  Part
# of scripts/bench, which reads this file.

can_drop=
[ -w /proc/sys/vm/drop_caches ] && can_drop=1

# The work of a row is row_NAME DIRECTORY; what comes before it and does not
# count is before_NAME, if there is anything.  What writes begins with nothing
# left to write by others: the disk's share of one column would be counted in
# the next.

# What is measured; mount_all() leaves out what is not there.
columns=(native bindfs ${BENCH_PEER:+peer} kinfs no-hash no-pass)

settle()
{
	local name

	for name in kinfs no-hash no-pass; do
		"$kin" wait "$top/$name" >/dev/null 2>&1
	done
}

drop_caches()
{
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

warm()
{
	cat "$1/big" >/dev/null
}

# fio says itself how long the transfer took; its start does not count.
fio_us()
{
	local out

	out=$(fio --name=b --filename="$1/big" --minimal --ioengine=psync \
		--fallocate=none --invalidate=0 --size="${mib}M" \
		"${@:2}" 2>"$top/stderr") || return 1
	# Fields 9 and 50: run time of reads and of writes in milliseconds.
	echo "$out" | awk -F';' '{ print ($9 + $50) * 1000 }'
}

overwrite() # all|some DIRECTORY SIZE BLOCK BYTES
{
	timed "$programs/overwrite" "$1" "$2/big" "${@:3}"
}

dd_us()
{
	timed dd status=none bs=1M "${@}"
}

attributes()
{
	timed find "$2" -type f -exec getfattr --absolute-names -n "$1" {} +
}

# What was there stays, under another name: ext4 looks long for inodes that were
# not freed a moment ago.  But it goes from the caches: some peers keep a
# descriptor for each file in them.
fresh()
{
	[ ! -e "$1" ] || mv "$1" "$1.$((++spare))" || return
	mkdir "$1" && sync || return
	[ -z "$can_drop" ] || echo 2 >/proc/sys/vm/drop_caches
}
spare=0

before_seq_write() { rm -f "$1/big" && sync; }
before_seq_read() { [ -z "$can_drop" ] || drop_caches; warm "$1"; }
before_rand_read() { warm "$1"; }
before_rand_write() { warm "$1" && sync; }
before_cold_read() { drop_caches; }
before_rand_cold() { drop_caches; }
before_mmap() { warm "$1"; }
before_stat_cold() { drop_caches; }
before_create() { fresh "$1/new"; }
before_unlink() { before_create "$1" && row_create "$1" >/dev/null && sync; }
before_rm() { before_untar "$1" && row_untar "$1" >/dev/null && sync; }
before_untar() { fresh "$1/untar"; }
before_git() { git_tree "$1"; }
before_git_later() { git_tree "$1" && row_git "$1" >/dev/null && sleep 2; }
before_git_cold() { git_tree "$1" && drop_caches; }
before_build() { rm -rf "$1/build" && make_project "$1/build"; }

# These are done once more before they count, when all that the kernel was told
# a second ago or earlier, and may have to ask for again, is too old anyway.
again=" stat_warm du tar open git getxattr digests "

do_again() # ROW DIRECTORY
{
	sleep 1.1
	"row_$1" "$2" >/dev/null
}

if command -v fio >/dev/null; then
	row_seq_read() { fio_us "$1" --rw=read --bs=1M; }
	row_cold_read() { fio_us "$1" --rw=read --bs=1M; }
	row_rand_read() { fio_us "$@" --rw=randread --bs=4k --io_size=32M; }
	row_rand_cold() { fio_us "$1" --rw=randread --bs=4k --io_size=8M; }
	row_mmap() { row_rand_read "$1" --ioengine=mmap; }
else
	row_seq_read() { dd_us if="$1/big" of=/dev/null; }
	row_cold_read() { dd_us if="$1/big" of=/dev/null; }
fi
row_seq_write() { overwrite all "$1" $((mib << 20)) 1048576 $((mib << 20)); }
row_rand_write() { overwrite some "$1" $((mib << 20)) 4096 $((32 << 20)); }
row_stat_warm() { timed find "$1/small" -printf '%s\n'; }
row_stat_cold() { timed find "$1/small" -printf '%s\n'; }
row_create() { timed split -a 4 -b 4096 "$top/blocks" "$1/new/"; }
row_unlink() { timed rm -rf "$1/new"; }
row_untar() { timed tar -xf "$top/small.tar" -C "$1/untar"; }
# tar reads no file when it sees that its output is /dev/null.
row_tar() { timed bash -c 'tar -C "$0" -cf - small | cat' "$1"; }
row_open() { timed find "$1/small" -type f -exec cat {} +; }
row_rm() { timed rm -rf "$1/untar"; }
row_du() { timed du -s "$1/small"; }
row_git_cold() { row_git "$1"; }
row_git_later() { row_git "$1"; }
row_git() { timed git -C "$1/git" status --short; }
row_build() { timed make -s -j"$(nproc)" -C "$1/build"; }
row_getxattr() { attributes user.bench "$1/small"; }
row_digests() { attributes user.simhash "$1/small"; }

rows=(
	'seq_write  sequential write, 1 MiB'
	'seq_read   sequential read, warm'
	'cold_read  sequential read, cold'
	'rand_read  random 4 KiB read, warm'
	'rand_cold  random 4 KiB read, cold'
	'mmap       random 4 KiB read by mmap'
	'rand_write random 4 KiB write'
	'stat_warm  stat, warm'
	'stat_cold  stat, cold'
	'create     create 4 KiB files'
	'untar      untar'
	'unlink     unlink 4 KiB files'
	'rm         rm -rf of that tree'
	'open       open, read, close'
	'tar        tar of the tree, warm'
	'du         du, warm'
	'git        git status, warm'
	'git_later  git status, two seconds later'
	'git_cold   git status, cold'
	'build      parallel build, 60 files'
	'getxattr   getxattr of a real attribute'
	'digests    getxattr of user.simhash'
)

# Distinct lines of words; the same on every machine.
make_text()
{
	awk -v bytes="$1" -v seed="$2" 'BEGIN {
		srand(seed)
		for (i = 0; i < 4000; i++) {
			w = ""
			for (n = 2 + int(rand() * 8); n > 0; n--)
				w = w sprintf("%c", 97 + int(rand() * 26))
			word[i] = w
		}
		while (bytes > 0) {
			line = word[int(rand() * 4000)]
			while (length(line) < 66)
				line = line " " word[int(rand() * 4000)]
			print line
			bytes -= length(line) + 1
		}
	}'
}

git_tree()
{
	[ ! -e "$1/git/.git" ] || return 0
	git -C "$1/git" init -q && git -C "$1/git" add .
}

# C files that include each other's headers.
make_project()
{
	local i

	mkdir "$1" || return
	for i in {1..60}; do
		echo "int f$i(int x);" >"$1/f$i.h"
		printf '#include "%s"\n' stdio.h stdlib.h string.h \
			"f$i.h" "f$((i % 60 + 1)).h" >"$1/f$i.c"
		echo "int f$i(int x) { return printf(\"%d\", x) + $i; }" \
			>>"$1/f$i.c"
	done
	# shellcheck disable=SC2016 # for make
	echo 'libf.a: $(patsubst %.c,%.o,$(wildcard *.c)); $(AR) rc $@ $^' \
		>"$1/Makefile"
}

make_small()
{
	local i

	mkdir -p "$1"
	make_text $((files * 2048)) 1 |
		split -a 5 -d -b 2048 - "$1/"
	# A hundred to a directory.
	for i in "$1"/?????; do
		[ -d "${i%??}" ] || mkdir "${i%??}"
		mv "$i" "${i%??}/"
	done
}

# One directory after the other, so that the files of no column lie in a better
# place of the disk.
copy_small()
{
	local name dir tree

	for name in "${columns[@]}"; do
		mkdir -p "tree/$name"/{small,git}
	done
	for dir in made/*/; do
		for tree in small git; do
			for name in "${columns[@]}"; do
				cp -a "$dir" "tree/$name/$tree/"
			done
		done
	done
	rm -r made
	mv tree/native/{small,git} native/
}

mount_all()
{
	local name

	mkdir -p native "${columns[@]:1}" "${columns[@]/#/tree/}"
	make_small made
	find made -type f -exec setfattr -n user.bench -v 1 {} + ||
		die "no extended attributes in $top: set BENCH_DIR"
	copy_small
	tar -cf small.tar -C native small
	head -c $((4096 * 4096)) /dev/urandom >blocks
	bindfs tree/bindfs bindfs || die "bindfs failed"
	[ -z "${BENCH_PEER-}" ] || mount_peer
	mount_one kinfs similar=hide
	mount_one no-hash "exclude=*"
	if getfattr -n user.kinfs.status kinfs 2>/dev/null |
		grep -q 'passthrough\\": true'; then
		mount_one no-pass passthrough=no
	else
		unset 'columns[-1]'
	fi
	settle
}

mount_peer()
{
	# It is a command with its options.
	# shellcheck disable=SC2086
	$BENCH_PEER "$top/tree/peer" "$top/peer" && mountpoint -q peer && return
	die "BENCH_PEER: $BENCH_PEER mounts nothing"
}

mount_one() # NAME OPTION
{
	"$kinfs" "tree/$1" "$1" -o "db=$top/catalog-$1,$2" ||
		die "kinfs failed"
}

# One row: a run of each column in turn, beginning with another one each time,
# so that drift of the machine and what the last one left hit all alike.
measure_row()
{
	local row=$1 run turn name us count=${#columns[@]}

	for name in "${columns[@]}"; do
		: >"figures.$name"
	done
	for ((run = 0; run < runs; run++)); do
		for ((turn = run; turn < run + count; turn++)); do
			name=${columns[turn % count]}
			[ "$row" != digests ] || [ "$name" = kinfs ] ||
				[ "$name" = no-pass ] || continue
			! declare -F "before_$row" >/dev/null ||
				"before_$row" "$top/$name"
			settle
			[[ $again != *" $row "* ]] ||
				do_again "$row" "$top/$name"
			us=$("row_$row" "$top/$name") || continue
			echo "$us" >>"figures.$name"
		done
	done
}

print_row()
{
	local name us figures=()

	for name in "${columns[@]}"; do
		if [ -s "figures.$name" ]; then
			us=$(median <"figures.$name")
			figures+=("$us")
			note mount "$1" "$name" "$us" us
		else
			figures+=(-)
		fi
	done
	echo "${figures[@]}" | awk -v title="$1" '
		function ratio(v) {
			if (v == "-" || $1 == "-")
				return "-"
			return sprintf("%.2f", v / $1)
		}
		function ms(v) { return v == "-" ? "-" : sprintf("%.1f", v / 1e3) }
		{
			for (first = 1; first < NF && $first == "-";)
				first++
			printf "%-28s %9s", title, ms($first)
			for (i = 2; i <= NF; i++)
				printf " %9s", ratio($i)
			print ""
		}'
}

bench_mount()
{
	local line row title

	[ -e /dev/fuse ] || die "/dev/fuse is missing"
	need bindfs getfattr git
	mount_all
	printf '\n%d MiB, %d small files, median of %d; %s\n' \
		"$mib" "$files" "$runs" \
		"native in ms, the others as multiples of it"
	printf '%-28s' ''
	printf ' %9s' "${columns[@]}"
	printf '\n'
	for line in "${rows[@]}"; do
		read -r row title <<<"$line"
		[ -z "${BENCH_ROWS-}" ] ||
			[[ " $BENCH_ROWS " = *" $row "* ]] || continue
		case $row in
		*cold*) [ -n "$can_drop" ] || {
			echo "$title: only root can drop caches"
			continue
		} ;;
		esac
		declare -F "row_$row" >/dev/null || {
			echo "$title: needs fio"
			continue
		}
		measure_row "$row"
		print_row "$title"
	done
}
