#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# -o measure=NAME: what scores a listing.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt

attribute_of() { # MEASURE
	case $1 in
	rdc) echo user.rdc.traits ;;
	*) echo "user.$1" ;;
	esac
}

compared() { # MEASURE FILE: with the original, by their digests alone
	local name
	name=$(attribute_of "$1")
	"$KIN" compare -m "$1" "$1:$(getx "$mnt/original" "$name")" \
		"$1:$(getx "$mnt/$2" "$name")"
}

listed() { # FILE: the score it is listed with, without zeros ahead
	find "$mnt/.similar/original" -name "*_$1" -printf '%f\n' |
		sed 's/^0*//; s/_.*//'
}

with_measure() { # OPTIONS...
	[ -z "${pid_of[$mnt]:-}" ] || unmount "$mnt"
	mount_kinfs "$src" "$mnt" "$@"
	wait_idle "$mnt"
}

test_measure() { # NAME
	local file
	with_measure -o "measure=$1,threshold=20"
	for file in edited longer; do
		is "$(listed "$file")" "$(compared "$1" "$file")" \
			"measure=$1: the score of $file is that of the digests"
	done
	is "$(listed copy)" 100 "measure=$1: a copy is 100"
	with_measure -o "measure=$1,threshold=$(($(compared "$1" edited) + 1))"
	is "$(listed edited)" "" "measure=$1: below the threshold it is not"
	is "$(listed copy)" 100 "measure=$1: a copy is"
}

mkdir -p "$src"
gen_text 1000 1 >"$src/original"
cp "$src/original" "$src/copy"
edit_text 10 2 <"$src/original" >"$src/edited"
{ cat "$src/original"; gen_text 600 3; } >"$src/longer"
gen_text 1000 4 >"$src/unrelated"

for measure in sise simhash rdc sif ssdeep; do
	test_measure "$measure"
done
with_measure -o measure=best,threshold=20
is "$(listed edited)" "$(compared sif edited)" \
	"measure=best: by sif where nothing is common in many"
is "$(listed unrelated)" "" "what is unrelated is not listed"
ls "$mnt/.similar/original" >"$T/best"
with_measure -o threshold=20
is "$(ls "$mnt/.similar/original")" "$(cat "$T/best")" "it is the default"
unmount "$mnt"
unset 'pid_of[$mnt]'

refused "a digest that scores nothing" "measure" \
	timeout 600 "$KINFS" -f "$src" "$mnt" -o "measure=xxh128,db=$T/db"
refused "no digest at all" "measure" \
	timeout 600 "$KINFS" -f "$src" "$mnt" -o "measure=nonsense,db=$T/db"
refused "one that is not kept" "not among the digests" \
	timeout 600 "$KINFS" -f "$src" "$mnt" \
	-o "measure=ssdeep,digests=sise:simhash:sif,db=$T/db"
refused "one that finds nothing by itself" "finds nothing" \
	timeout 600 "$KINFS" -f "$src" "$mnt" \
	-o "measure=ssdeep,digests=ssdeep:rdc,db=$T/db"
not_ok "none of these mounted" mounted "$mnt"
with_measure -o measure=ssdeep,digests=ssdeep:sif,threshold=20 \
	-o "db=$T/db-two"
is "$(listed edited)" "$(compared ssdeep edited)" \
	"with another one that finds what is to be scored"
for measure in simhash rdc; do
	with_measure -o "measure=$measure,digests=$measure,threshold=20" \
		-o "db=$T/db-$measure"
	is "$(listed edited)" "$(compared "$measure" edited)" \
		"$measure finds by itself what it scores"
done
finish
