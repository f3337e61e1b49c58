# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# Many contents, near-duplicates among them.  Part of scripts/bench, which
# reads this file.
#
# The tree is made of files without bytes, and what they would have given is
# in the catalog (tests/bench/scale_model.h), so that a million takes a
# minute.

# scale_memory PID KEY: MiB that its status says.
scale_memory()
{
	awk -v key="$2:" '$1 == key { print $2 / 1024 }' "/proc/$1/status"
}

# scale_row KEY VALUE UNIT, as the program prints them.
scale_row()
{
	awk -v k="$1" -v v="$2" -v u="$3" \
		'BEGIN { printf "%-24s %12.4g %s\n", k, v, u }'
}

# From the start of the program to its first answer.
scale_mount()
{
	local ready idle

	mkdir -p kinfs
	ready=$(timed "$kinfs" "$1/source" "$top/kinfs" -o db="$1/catalog") ||
		die "kinfs failed"
	scale_row mount.ready "$(awk -v v="$ready" 'BEGIN { print v / 1e6 }')" s
	idle=$(timed "$kin" wait kinfs) || die "kin wait failed"
	scale_row mount.rescan "$(awk -v v="$idle" 'BEGIN { print v / 1e6 }')" s
	scale_row mount.read "$("$kin" status --json kinfs |
		sed -n 's/.*"hashed": *{[^}]*"files": *\([0-9]*\).*/\1/p')" files
}

scale_one()
{
	local contents=$1 pid option us

	mkdir "scale.$contents"
	"$programs/scale" fill "$contents" "scale.$contents" || return
	"$programs/scale" ask "$contents" "scale.$contents" || return
	"$programs/scale" groups "$contents" "scale.$contents" || return
	[ -e /dev/fuse ] || return 0
	scale_mount "scale.$contents"
	"$programs/scale" list "$contents" kinfs || return
	for option in --exact --json; do
		us=$(timed "$kin" groups "$option" kinfs) || return
		scale_row "mount.groups$option" \
			"$(awk -v v="$us" 'BEGIN { print v / 1e6 }')" s
	done
	for pid in $(daemons); do
		scale_row mount.anonymous "$(scale_memory "$pid" RssAnon)" MiB
		scale_row mount.resident "$(scale_memory "$pid" VmRSS)" MiB
		sleep 2 # what was asked gives its memory back
		scale_row mount.rested "$(scale_memory "$pid" VmRSS)" MiB
	done
	unmount kinfs
}

bench_scale()
{
	local contents key value unit

	for contents in $scale_contents; do
		printf '\n%d contents\n' "$contents"
		scale_one "$contents" | tee "$top/scale"
		[ "${PIPESTATUS[0]}" = 0 ] ||
			die "$contents contents could not be measured"
		while read -r key value unit; do
			note scale "$contents" "$key" "$value" "$unit"
		done <"$top/scale"
		rm -rf "scale.$contents"
	done
}
