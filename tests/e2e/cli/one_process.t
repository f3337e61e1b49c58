#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Commands that need groups ask the mount themselves: kin dedup and kin report
# start no other process.  A user of whom no process can start another one uses
# them.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

user=60031
src=$T/src
mnt=$T/mnt

alone() { # COMMAND...: as a user that can have one process
	as "$user" none prlimit --nproc=1 "$@"
}

share_programs
chmod 755 "$T"
mkdir "$src" "$T/out"
gen_text 100 1 >"$src/a"
cp "$src/a" "$src/b"
chown -R "$user" "$src" "$T/out"
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"

not_ok "its processes start no other" alone bash -c '/bin/true; exit'
like "$(alone "$KIN" groups "$mnt")" "2 files, .* in exact copies" \
	"kin groups finds them"
like "$(alone "$KIN" dedup "$mnt")" "1 file would be replaced" \
	"kin dedup of a mount asks by itself"
like "$(alone "$KIN" groups --json "$mnt" | alone "$KIN" dedup -)" \
	"1 file would be replaced" "and finds what it finds in a list"
ok "kin report of a mount, too" alone "$KIN" report "$mnt" -o "$T/out/page"
ok "with a page" grep -q '</html>' "$T/out/page"
unmount "$mnt"
finish
