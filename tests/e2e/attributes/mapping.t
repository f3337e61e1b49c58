#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stores through a shared mapping that the mount cannot know of: it was made
# in SOURCE, or it outlived a daemon that was killed.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
size=20000

map() { # FILE: a process that stores to it
	local mapstore
	mapstore=$(helper mapstore)
	coproc STORE { exec "$mapstore" "$1"; }
	mapper=$!
}

unmap() {
	eval "exec ${STORE[1]}>&-"
	wait "$mapper"
}

store() { # TEXT: through the mapping
	local answer
	printf '%s\n' "$1" >&"${STORE[1]}"
	read -r -t 600 answer <&"${STORE[0]}"
	[ "$answer" = stored ] ||
		bail "a store through the mapping" "it failed"
}

# By what is below: the kernel may still show readers of the mount what it read
# before the stores.
is_current() { # FILE
	local have want
	have=$(getx "$mnt/$1" user.xxh128)
	want=$(xxhsum -H2 <"$src/$1" | cut -d' ' -f1)
	[ "$have" = "$want" ] || echo "want $want, have $have"
	[ "$have" = "$want" ]
}

# The page is dirty from the first store on: nothing tells of the others.
stores_are_seen() { # NAME FILE
	local i
	for i in 1 2 3 4; do
		store "store $i"
		ok "$1: store $i" is_current "$2"
	done
}

test_behind() {
	gen "$size" 1 >"$src/behind"
	map "$src/behind"
	stores_are_seen "a mapping behind the mount" behind
	unmap
	ok "unmapped" is_current behind
}

test_survivor() {
	gen "$size" 2 >"$mnt/survivor"
	map "$mnt/survivor"
	store "before the daemon is killed"
	ok "a mapping of the mount" is_current survivor
	store "the last that it saw"
	kill_daemon "$mnt"
	mount_kinfs "$src" "$mnt"
	stores_are_seen "a mapping of a mount before" survivor
	unmap
	ok "unmapped" is_current survivor
}


mount_kinfs "$src" "$mnt"
test_behind
if status_json "$mnt" | grep -q '"passthrough": *true'; then
	test_survivor
else
	skip "a mapping of a mount before" "the kernel does not pass through"
fi
ok "the daemon is alive" alive "$mnt"
ok "unmount" unmount "$mnt"
finish
