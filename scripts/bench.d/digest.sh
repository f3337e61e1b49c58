# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# The digests, in memory and against other programs.  Part of scripts/bench,
# which reads this file.
#
# What a program takes is its CPU time, user and system: others on the machine
# disturb it little.  The clock counts where processors work side by side.

# Samples of a row: costs[TABLE/ROW] has a line "CPU CLOCK", microseconds, for
# each run.
declare -A costs

# sample TABLE ROW COMMAND...
sample()
{
	local table=$1 row=$2 cost
	shift 2

	cost=$("$programs/cputime" "$@" 2>"$top/stderr") || {
		echo "bench: failed: $*" >&2
		head -n 3 "$top/stderr" >&2
		return 1
	}
	costs[$table/$row]+="$cost"$'\n'
}

# cost TABLE ROW FIELD: the median; 1: CPU, 2: clock; 0 when there is none.
cost()
{
	[ -n "${costs[$1/$2]-}" ] || {
		echo 0
		return
	}
	printf '%s' "${costs[$1/$2]}" | awk -v field="$3" '{ print $field }' |
		median
}

# ratio A B: A / B, or 0.
ratio()
{
	awk -v a="$1" -v b="$2" 'BEGIN { print (b > 0 ? a / b : 0) }'
}

# ---- in memory ----

# run_core [PART...]: 64 MiB are enough.
run_core()
{
	"$programs/digests" --runs "$runs" --figures "$top/core" \
		--size "$((mib < 64 ? mib : 64))" "$@" ||
		die "the digests could not be measured"
}

bench_core()
{
	local table subject variant unit value

	run_core
	while read -r table subject variant unit value; do
		note "core $table" "$subject" "$variant" "$value" "$unit"
	done <"$top/core"
}

# core_figure TABLE SUBJECT VARIANT
core_figure()
{
	awk -v key="$1 $2 $3" '$1 " " $2 " " $3 == key { print $5 }' \
		"$top/core"
}

# ---- one big file ----

# The digests that kin makes by itself, by the names of their attributes
# without "user.", and the kernel variants that run here: the last is taken by
# itself.
digests=()
kernels=()

look_at_kin()
{
	echo probe >probe
	mapfile -t digests < <("$kin" digest probe |
		sed -n 's/^user\.\([^=]*\)=.*/\1/p')
	mapfile -t kernels < <(KINFS_KERNEL='?' "$kin" digest probe 2>&1 |
		sed -n 's/.*this machine runs //p' | sed 's/, /\n/g')
}

# A row is its title; row_command makes the command of it.
list_rows()
{
	local name

	rows_of_file=('kin digest')
	for name in "${kernels[@]:0:${#kernels[@]}-1}"; do
		rows_of_file+=("kin digest, $name")
	done
	for name in "${digests[@]}"; do
		rows_of_file+=("kin digest -a $name")
	done
	head -c 20000 random >probe
	! "$kin" digest --sdhash probe >/dev/null 2>&1 ||
		rows_of_file+=('kin digest -a sdhash')
	rows_of_file+=('kin digest -a tlsh')
	for name in 'ssdeep' 'tlsh -f' 'md5sum' 'sha256sum' 'xxhsum -H2'; do
		if command -v "${name%% *}" >/dev/null; then
			rows_of_file+=("$name")
		else
			echo "bench: ${name%% *} is not installed" >&2
		fi
	done
}

row_command()
{
	case $1 in
	'kin digest, '*)
		command=(env "KINFS_KERNEL=${1##* }" "$kin" digest -j 1)
		;;
	'kin digest -a '*) command=("$kin" digest -j 1 -a "user.${1##* }") ;;
	'kin digest'*) read -ra command <<<"$kin${1#kin} -j 1" ;;
	*) read -ra command <<<"$1" ;;
	esac
}

print_file_row()
{
	local file=$1 row=$2 bytes=$3 cpu peer peers=()

	cpu=$(cost "$file" "$row" 1)
	for peer in ssdeep md5sum sha256sum 'xxhsum -H2'; do
		peers+=("$(cost "$file" "$peer" 1)")
	done
	note "$file" "$row" CPU "$(ratio "$bytes" "$cpu")" MB/s
	echo "$cpu ${peers[*]}" | awk -v title="$row" -v bytes="$bytes" '
		function x(peer) {
			return !$1 || !peer ? "-" : sprintf("%.2f", peer / $1)
		}
		{
			printf "%-26s %8s %9s %9s %11s %9s\n", title,
				$1 ? sprintf("%.0f", bytes / $1) : "-",
				x($2), x($3), x($4), x($5)
		}'
}

digest_file()
{
	local file=$1 bytes row run command

	bytes=$(stat -c %s "$file")
	cat "$file" >/dev/null
	for ((run = 0; run < runs; run++)); do
		for row in "${rows_of_file[@]}"; do
			row_command "$row"
			sample "$file" "$row" taskset -c "${processors[0]}" \
				"${command[@]}" "$file"
		done
	done
	printf '\nOne %s file, %d MiB in the page cache, one thread\n' \
		"$file" $((bytes >> 20))
	printf '%-26s %8s %9s %9s %11s %9s\n' '' MB/s 'x ssdeep' 'x md5sum' \
		'x sha256sum' 'x xxhsum'
	for row in "${rows_of_file[@]}"; do
		print_file_row "$file" "$row" "$bytes"
	done
}

# ---- two processors ----

# Those this script may use.
list_processors()
{
	mapfile -t processors < <(taskset -cp $$ | sed 's/.*: //' |
		tr ',' '\n' | awk -F- '{
			for (i = $1; i <= $NF; i++)
				print i
		}')
}

# Two processes side by side; the later one says how long both took.
sample_two()
{
	local file=$1 a b

	"$programs/cputime" taskset -c "${processors[1]}" \
		"$kin" digest -j 1 "$file.copy" >"$top/other" &
	a=$("$programs/cputime" taskset -c "${processors[0]}" \
		"$kin" digest -j 1 "$file")
	wait $! && [ -n "$a" ] || return 1
	b=$(<"$top/other")
	costs[$file/two processes]+=$(echo "$a $b" | awk '{
		print ($1 + $4) / 2, ($2 > $5 ? $2 : $5) }')$'\n'
}

print_two_row()
{
	local file=$1 row=$2 count=$3 bytes cpu clock one_cpu one_clock

	bytes=$(stat -c %s "$file")
	cpu=$(cost "$file" "$row" 1)
	clock=$(cost "$file" "$row" 2)
	one_cpu=$(cost "$file" 'one process' 1)
	one_clock=$(cost "$file" 'one process' 2)
	note "$file" "$row" clock "$(ratio $((count * bytes)) "$clock")" MB/s
	echo "$cpu $clock $one_cpu $one_clock" |
		awk -v title="$file, $row" -v bytes="$((count * bytes))" \
			-v count="$count" '{
			printf "%-34s %8.0f %8.2f %10.2f %10.0f %%\n", title,
				bytes / $2, count * $4 / $2, count * $3 / $1,
				100 * $1 / $2
		}'
}

digest_two()
{
	local file=$1 run

	cp "$file" "$file.copy"
	cat "$file" "$file.copy" >/dev/null
	for ((run = 0; run < runs; run++)); do
		sample "$file" 'one process' taskset -c "${processors[0]}" \
			"$kin" digest -j 1 "$file"
		sample_two "$file"
		sample "$file" 'two threads' \
			taskset -c "${processors[0]},${processors[1]}" \
			"$kin" digest -j 2 "$file"
	done
	print_two_row "$file" 'one process' 1
	print_two_row "$file" 'two processes' 2
	print_two_row "$file" 'two threads' 1
	rm "$file.copy"
}

# Two threads of one core share what a digest needs most.
share_core()
{
	local at=/sys/devices/system/cpu

	cmp -s "$at/cpu${processors[0]}/topology/thread_siblings_list" \
		"$at/cpu${processors[1]}/topology/thread_siblings_list"
}

# Whether a process had to wait for its processor.
is_busy()
{
	awk -v cpu="$(cost random 'one process' 1)" \
		-v clock="$(cost random 'one process' 2)" \
		'BEGIN { exit !(cpu < 0.9 * clock) }'
}

bench_two()
{
	if [ "${#processors[@]}" -lt 2 ]; then
		printf '\nTwo processors: there is but one here\n'
		return
	fi
	printf '\nTwo processors: kin digest of two files, and -j 2 of one\n'
	printf '%-34s %8s %8s %10s %12s\n' '' MB/s 'x one' 'x one' \
		'CPU time /'
	printf '%-34s %8s %8s %10s %12s\n' '' 'by clock' 'by clock' \
		'by CPU' 'clock'
	digest_two random
	digest_two text
	! share_core || echo 'Both processors are threads of one core.'
	! is_busy || echo 'Others used the processors: the clock says little.'
}

# ---- small files ----

# The text, cut into files of 4 KiB, a hundred to a directory.
make_small_files()
{
	local chunk most

	most=$(($(stat -c %s text) / 4096))
	[ "$small_files" -le "$most" ] || small_files=$most
	mkdir small
	head -c $((small_files * 4096)) text |
		split -a 4 -d -b 409600 - small/chunk.
	for chunk in small/chunk.*; do
		mkdir "small/${chunk##*.}"
		split -a 2 -d -b 4096 "$chunk" "small/${chunk##*.}/"
		rm "$chunk"
	done
}

# small_command ROW: what digests the directory "small".  One with -j may use
# two processors.
small_command()
{
	case $1 in
	'kin digest -r') command=("$kin" digest -j 1 -r small) ;;
	'kin digest -r -j '*) command=("$kin" digest -j "${1##* }" -r small) ;;
	# It takes memory for all pairs of the files it is given.
	'tlsh -r') read -ra command <<<"find small -mindepth 1 -maxdepth 1 \
-exec tlsh -r {} ;" ;;
	*' -r') command=("${1% -r}" -r small) ;;
	*) read -ra command <<<"find small -type f -exec $1 {} +" ;;
	esac
}

print_small_row()
{
	local row=$1 cpu

	cpu=$(cost small "$row" 1)
	note small "$row" CPU "$(ratio $((small_files * 1000000)) "$cpu")" \
		files/s
	echo "$cpu $(cost small "$row" 2) $(cost small 'ssdeep -r' 1)" |
		awk -v title="$row" -v count="$small_files" '$1 {
			printf "%-26s %10.0f %10.1f %10.0f %10s\n", title,
				count * 1e6 / $1, $1 / count, count * 1e6 / $2,
				$3 ? sprintf("%.2f", $3 / $1) : "-"
		}'
}

bench_small_files()
{
	local rows_small=('kin digest -r' 'ssdeep -r' 'tlsh -r' 'md5sum'
		'sha256sum' 'xxhsum -H2')
	local row run command on

	[ "${#processors[@]}" -lt 2 ] ||
		rows_small=("${rows_small[0]}" 'kin digest -r -j 2'
			"${rows_small[@]:1}")
	make_small_files
	find small -type f -exec cat {} + >/dev/null
	for ((run = 0; run < runs; run++)); do
		for row in "${rows_small[@]}"; do
			small_command "$row"
			command -v "${row%% *}" >/dev/null ||
				[ "${row%% *}" = kin ] || continue
			on=${processors[0]}
			[ "${row#*-j}" = "$row" ] || on+=,${processors[1]}
			sample small "$row" taskset -c "$on" "${command[@]}"
		done
	done
	printf '\n%d text files of 4 KiB, one thread but where it says -j\n' \
		"$small_files"
	printf '%-26s %10s %10s %10s %10s\n' '' files/s us/file files/s \
		'x ssdeep'
	printf '%-26s %10s %10s %10s %10s\n' '' CPU CPU clock CPU
	for row in "${rows_small[@]}"; do
		print_small_row "$row"
	done
	rm -rf small
}

# ---- the bars ----

# bar TITLE LIMIT UNIT VALUE...: every value counts; 0 or nothing: not
# measured.
bar()
{
	local title=$1 limit=$2 unit=$3
	shift 3

	printf '%s\n' "$@" | awk -v title="$title" -v limit="$limit" \
		-v unit="$unit" '
		function text(v) {
			if (v == "" || v == 0)
				return "-"
			return sprintf(v < 100 ? "%.2f" : "%.0f", v)
		}
		BEGIN {
			split(limit, word, " ")
			verdict = "reached"
		}
		{ value[NR] = $1 }
		!$1 { missing = 1 }
		(word[1] == ">=" && $1 < word[2] + 0) ||
		(word[1] == "<=" && $1 > word[2] + 0) {
			verdict = "NOT REACHED"
		}
		END {
			printf "%-30s %16s %8s %8s  %s\n", title,
				limit " " unit, (NR > 1 ? text(value[1]) : ""),
				text(value[NR]),
				missing ? "not measured" : verdict
		}'
}

# speedup ROW BASE: CPU time of BASE / that of ROW, random and text.
speedup()
{
	local file

	for file in random text; do
		ratio "$(cost "$file" "$2" 1)" "$(cost "$file" "$1" 1)"
	done
}

speeds()
{
	local file

	for file in random text; do
		ratio "$(stat -c %s "$file")" "$(cost "$file" "$1" 1)"
	done
}

two_ratios()
{
	local file

	for file in random text; do
		ratio "$(cost "$file" 'one process' 2)" \
			"$(cost "$file" 'two processes' 2)" |
			awk '{ print 2 * $1 }'
	done
}

# Values are words of a line each.
# shellcheck disable=SC2046
print_bars()
{
	local name last=${kernels[-1]}

	printf '\nThe bars; the worse of both inputs decides\n'
	printf '%-30s %16s %8s %8s\n' '' '' random text
	bar 'all default digests' '>= 6' 'ssdeep' \
		$(speedup 'kin digest' ssdeep)
	for name in sise simhash rdc.traits; do
		bar "$name alone" '>= 8' 'ssdeep' \
			$(speedup "kin digest -a $name" ssdeep)
	done
	bar 'sdhash' '>= 120' 'MB/s' $(speeds 'kin digest -a sdhash')
	bar 'sdhash' '>= 1' 'ssdeep' $(speedup 'kin digest -a sdhash' ssdeep)
	[ "$last" != avx512 ] ||
		bar 'tlsh, avx512' '>= 400' 'MB/s' $(speeds 'kin digest -a tlsh')
	! command -v tlsh >/dev/null ||
		bar 'tlsh' '>= 2' 'tlsh -f' $(speedup 'kin digest -a tlsh' 'tlsh -f')
	[ "$last" != avx512 ] || bar 'all, avx512 / avx2' '<= 2' 'x' \
		$(speedup 'kin digest' 'kin digest, avx2')
	bar 'all, scalar' '>= 1.5' 'ssdeep' \
		$(speedup 'kin digest, scalar' ssdeep)
	bar 'two processes / one, by clock' '>= 1.8' 'x' $(two_ratios)
	bar 'SiSe scores' '>= 200000' '1/s' \
		"$(core_figure pairs score -)"
	bar 'memory of a worker' '<= 4' 'MiB' \
		"$(ratio "$(core_figure memory all -)" 1024)"
}

# ---- all of it ----

bench_digest()
{
	local rows_of_file processors

	need ssdeep tlsh md5sum sha256sum xxhsum
	list_processors
	look_at_kin
	[ -e "$top/core" ] || run_core memory pairs >/dev/null
	"$programs/digests" --size "$mib" --inputs . ||
		die "the inputs could not be made"
	list_rows
	printf '\nWhole processes; CPU time, user and system, unless it says'
	printf ' clock;\nmedian of %d; 1 MB is 10^6 bytes\n' "$runs"
	digest_file random
	digest_file text
	bench_two
	bench_small_files
	print_bars
	rm -f random text
}
