#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The kernel remembers no link of a listing: its memory is the same for all users,
# and a link is gone as soon as its file is changed.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
links=50

make_tree() {
	local i
	mkdir "$src"
	gen_text 100 1 >"$src/text"
	for ((i = 0; i < links; i++)); do
		cp "$src/text" "$src/copy$i"
	done
}

# What `ls -l` shows, and the number of the inode.
show() {
	find "$mnt/.similar/text" -mindepth 1 -printf '%f %y %m %u %g %s %l %i %T@\n'
}

looked_up() { # how often, since the daemon started
	daemon_log "$mnt" | grep -c 'opcode: LOOKUP'
}

many_lookups() {
	local before
	before=$(looked_up)
	ls -l "$mnt/.similar/text" >/dev/null
	[ "$(($(looked_up) - before))" -ge "$links" ]
}

no_link() { # NAME
	[ ! -L "$mnt/.similar/text/$1" ]
}

mount_debug() { # OPTION...
	mount_kinfs "$src" "$mnt" -d "$@"
	wait_idle "$mnt"
}

make_tree
mount_debug -o timeout=0
show | sort >"$T/want"
is "$(wc -l <"$T/want")" "$links" "all copies are listed"
unmount "$mnt"
mount_debug
show >/dev/null
show | sort >"$T/have"
same "a link is the same when it is looked up again" "$T/have" "$T/want"
ok "each link is looked up" many_lookups
echo "quite another text" >"$mnt/copy7"
ok "a link that is gone is not found" no_link 100_copy7
is "$(find "$mnt/.similar/text" -name '*_copy7*')" "" "nor listed"
ls -l "$mnt/.similar/text" >/dev/null
mv "$mnt/copy8" "$mnt/moved"
ok "nor one that has moved" no_link 100_copy8
unmount "$mnt"
finish
