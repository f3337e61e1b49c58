#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# When all is hashed, or was asked for, pages of the catalog do not stay in the
# daemon's memory.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt

catalog_kb() {
	awk '/data\.mdb$/ { here = 1; next } /^Rss:/ { if (here) sum += $2 }
		/^VmFlags:/ { here = 0 } END { print sum + 0 }' \
		"/proc/$(daemon_pid "$mnt")/smaps"
}

holds_little() {
	[ "$(catalog_kb)" -lt 200 ]
}

mkdir "$src"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
gen_text 20000 1 | split -l 20 -a 4 - "$mnt/"
wait_idle "$mnt"
diag "$(catalog_kb) KiB of the catalog"
ok "the memory is returned" poll 60 holds_little
ok "all is looked up" find "$mnt/.similar" -type l
ok "it is returned after answers, too" poll 60 holds_little
ok "unmount" unmount "$mnt"
finish
