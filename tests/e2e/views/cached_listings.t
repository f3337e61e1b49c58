#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The kernel may remember the links of a listing for a moment, so that `ls -l`
# asks for nothing that readdir has just brought.  With allow_other it may not,
# as its memory is the same for all users.
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

# In one of many tries all of it is in time.
few_lookups() {
	local before
	before=$(looked_up)
	ls -l "$mnt/.similar/text" >/dev/null
	[ "$(($(looked_up) - before))" -le 5 ]
}

many_lookups() {
	local before
	before=$(looked_up)
	ls -l "$mnt/.similar/text" >/dev/null
	[ "$(($(looked_up) - before))" -ge "$links" ]
}

# FUSE 7.44 or later; the daemon says what the kernel speaks.
kernel_expires_names() {
	daemon_log "$mnt" | grep -m1 -o 'INIT: 7\.[0-9]*' | grep -qE '\.(4[4-9]|[5-9].)$'
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
ok "each link is looked up" many_lookups
unmount "$mnt"
mount_debug
show >/dev/null
show | sort >"$T/have"
same "a remembered link is like one that is looked up" "$T/have" "$T/want"
if kernel_expires_names; then
	ok "ls -l looks up no link" poll 60 few_lookups
else
	skip "ls -l looks up no link" "the kernel cannot be told of changes"
fi
ls -l "$mnt/.similar/text" >/dev/null
echo "quite another text" >"$mnt/copy7"
ok "a link that is gone is not found" no_link 100_copy7
is "$(find "$mnt/.similar/text" -name '*_copy7*')" "" "nor listed"
ls -l "$mnt/.similar/text" >/dev/null
mv "$mnt/copy8" "$mnt/moved"
ok "nor one that has moved" no_link 100_copy8
unmount "$mnt"
mount_debug -o allow_other
ok "each link is looked up for its user" many_lookups
unmount "$mnt"
finish
