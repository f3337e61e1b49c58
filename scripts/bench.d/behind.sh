# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# How long it takes until a mount shows what was changed behind it, where such
# changes are told and where they are not.  Part of scripts/bench, which reads
# this file.

behind_row() # NAME OPTION
{
	local figures p50 p99 most late

	mkdir -p "behind/$1"
	"$kinfs" "behind/$1" behind/mount \
		-o "db=$top/behind-catalog,allow_other,similar=hide,$2" ||
		die "kinfs failed"
	figures=$("$programs/behind" "behind/$1" behind/mount "$behind_changes" \
		"$behind_rate") || die "the changes could not be made"
	fusermount3 -u behind/mount
	rm -rf behind-catalog "behind/$1"
	read -r p50 p99 most late <<<"$figures"
	echo "$1 $p50 $p99 $most $late" | awk '{ printf \
		"%-28s %9.2f %9.2f %9.1f %9d\n", $1, $2 / 1e3, $3 / 1e3,
		$4 / 1e3, $5 }'
	note behind "$1" p50 "$p50" us
	note behind "$1" p99 "$p99" us
	note behind "$1" max "$most" us
	note behind "$1" late "$late" changes
}

bench_behind()
{
	[ -e /dev/fuse ] || return 0
	mkdir -p behind/mount
	printf '\n%d changes behind the mount, %d a second; ms until it shows them\n' \
		"$behind_changes" "$behind_rate"
	printf '%-28s %9s %9s %9s %9s\n' '' p50 p99 most '> 100 ms'
	behind_row watched watch=yes
	behind_row not-watched watch=no
}
