# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# How long kin seed takes for very many files, and with how much memory.
# Two versions of some source packages, as two trees: the bytes that rsync sends
# with seeds and without, and what zstd --patch-from needs with the bases of kin
# and of others' rules.  Part of scripts/bench, which reads this file.

# seeds_versions NAME: its tarballs in $BENCH_SEEDS, the older one first
seeds_versions()
{
	local tarball

	for tarball in "$BENCH_SEEDS/$1"_*.orig.tar.*; do
		case $tarball in
		*.asc) ;;
		*)
			printf '%s %s\n' "$(basename "$tarball" |
				sed 's/^[^_]*_//; s/\.orig\.tar.*//')" "$tarball"
			;;
		esac
	done | sort -V | cut -d ' ' -f 2-
}

seeds_unpack()
{
	local name tarballs

	for name in $(cd "$BENCH_SEEDS" && printf '%s\n' *_*.orig.tar.* |
		sed 's/_.*//' | sort -u); do
		mapfile -t tarballs < <(seeds_versions "$name")
		[ "${#tarballs[@]}" -ge 2 ] || continue
		mkdir -p "seeds/old/$name" "seeds/new/$name"
		tar xf "${tarballs[0]}" --strip-components 1 -C "seeds/old/$name"
		tar xf "${tarballs[-1]}" --strip-components 1 -C "seeds/new/$name"
		echo "$name: $(basename "${tarballs[0]}")" \
			"$(basename "${tarballs[-1]}")"
	done
}

# seeds_mount SIDE COMMAND...: while that tree is mounted and hashed
seeds_mount()
{
	local side=$1
	shift
	mkdir -p seeds/mount
	"$kinfs" "$top/seeds/$side" seeds/mount -o "db=$top/seeds/db-$side" ||
		return
	"$kin" wait seeds/mount >/dev/null 2>&1
	"$@"
	unmount seeds/mount
}

seeds_export()
{
	"$kin" export --seeds seeds/mount >seeds/new.seeds
	"$kin" export seeds/mount >seeds/new.kin
}

seeds_find()
{
	"$kin" missing --json --threshold 5 seeds/new.kin seeds/mount >seeds/near
	"$kin" seed --json seeds/new.seeds seeds/mount >seeds/map 2>seeds/said
	timed "$kin" seed --into seeds/seeds seeds/new.seeds seeds/mount \
		>seeds/time
}

# seeds_sent DESTINATION OPTION...: bytes that rsync sends to it
seeds_sent()
{
	rsync -aIz --no-whole-file --stats "${@:2}" seeds/new/ "$1/" |
		sed -n 's/^Total bytes sent: //p' | tr -d ,
}

seeds_row()
{
	printf '%-34s %12d bytes %s\n' "$1" "$2" "${3-}"
	note seeds "$1" bytes "$2" bytes
}

seeds_of()
{
	awk -v rule="$1" '$1 == rule { print $2 }' seeds/sums
}

seeds_ratio()
{
	awk -v a="$1" -v b="$2" 'BEGIN { print a / b }'
}

seeds_cost()
{
	"$programs/cputime" "$kin" seed --into seeds/many seeds/new.seeds \
		seeds/mount >seeds/cost
}

# Very many small files, of which each has one line changed.
seeds_many()
{
	local kib us

	echo "seeds: $scan_files files to come, as many here"
	if ! { make_bulk "$top/seeds/many-old" "$scan_files" &&
		cp -r seeds/many-old seeds/many-new &&
		find seeds/many-new -type f -exec sed -i '9s/.*/changed/' {} +; }; then
		die "cannot make the files that are to come"
	fi
	seeds_mount many-new seeds_export &&
		seeds_mount many-old seeds_cost || return
	read -r _ us kib <seeds/cost
	bar 'kin seed --into' '<= 60' s "$(seeds_ratio "$us" 1000000)"
	bar 'memory of it' '<= 64' MiB "$(seeds_ratio "$kib" 1024)"
	bar 'bases found' '>= 0.999' x "$(seeds_ratio \
		"$(find seeds/many -type f | wc -l)" "$scan_files")"
	rm -rf seeds/many*
}

bench_seeds()
{
	local empty seeded place

	need rsync zstd perl
	mkdir -p seeds
	echo
	seeds_many || return
	[ -d "${BENCH_SEEDS-}" ] ||
		die "BENCH_SEEDS: a directory of two versions each of some" \
			"packages, NAME_VERSION.orig.tar.*, as apt-get source" \
			"--download-only NAME=VERSION gets them"
	echo
	echo "seeds: two versions each"
	seeds_unpack
	seeds_mount new seeds_export && seeds_mount old seeds_find || return
	perl "$here/bench.d/seeds.pl" seeds/old seeds/new seeds/near seeds/map \
		>seeds/sums || return
	echo "$(seeds_of files) contents that the old tree has not;" \
		"kin seed took $(($(cat seeds/time) / 1000)) ms"
	empty=$(seeds_sent seeds/empty)
	seeded=$(seeds_sent seeds/seeded --copy-dest="$top/seeds/seeds")
	cp -a seeds/old seeds/place
	place=$(seeds_sent seeds/place)
	diff -r seeds/new seeds/seeded >/dev/null || die "rsync: a wrong copy"
	seeds_row 'rsync, nothing there' "$empty"
	seeds_row 'rsync, with seeds' "$seeded"
	seeds_row 'rsync, the old tree in place' "$place"
	seeds_row 'zstd' "$(seeds_of none)"
	seeds_row 'zstd, base at the same path' "$(seeds_of path)"
	seeds_row 'zstd, base as rsync --fuzzy' "$(seeds_of fuzzy)"
	seeds_row 'zstd, base of the best score' "$(seeds_of score)"
	seeds_row 'zstd, base by kin seed' "$(seeds_of seed)"
	bar 'rsync: seeds / old tree' '<= 1.02' x "$(seeds_ratio "$seeded" "$place")"
	bar 'score / same path' '<= 1' x \
		"$(seeds_ratio "$(seeds_of score)" "$(seeds_of path)")"
	bar 'kin seed / --fuzzy' '<= 1.01' x \
		"$(seeds_ratio "$(seeds_of seed)" "$(seeds_of fuzzy)")"
}
