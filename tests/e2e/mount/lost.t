#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever the catalog could not make sense of, every file is in it in the end.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
mkdir "$src"

# The catalog has as many as there are, less what is excluded, and agrees.
in_order() {
	timeout 600 "$KIN" wait "$mnt" >/dev/null &&
		timeout 600 "$KIN" check "$mnt"
}

files() {
	status_field "$mnt" files
}

# ---- what was excluded, and is no more ----

# What is excluded is not in the catalog, and has a name that is not excluded
# from one moment to the next.
mount_kinfs "$src" "$mnt" -o exclude='*.tmp'
gen_text 20 1 >"$mnt/file.tmp"
mkdir "$mnt/dir.tmp" "$mnt/dir.tmp/sub"
gen_text 20 2 >"$mnt/dir.tmp/one"
gen_text 20 3 >"$mnt/dir.tmp/sub/two"
wait_idle "$mnt"
is "$(files)" 0 "excluded files are not in the catalog"
mv "$mnt/file.tmp" "$mnt/file"
ok "one that is renamed is in it" in_order
is "$(files)" 1 "one it is"
mv "$mnt/dir.tmp" "$mnt/dir"
ok "all of a directory that is renamed are" in_order
is "$(files)" 3 "which is two more"
gen_text 20 4 >"$mnt/new.tmp"
mkdir "$mnt/sub.tmp" "$mnt/sub.tmp/below"
gen_text 20 5 >"$mnt/sub.tmp/below/three"
wait_idle "$mnt"
"$(helper sys)" exchange "$mnt/new.tmp" "$mnt/file" >"$T/output"
"$(helper sys)" exchange "$mnt/sub.tmp" "$mnt/dir" >"$T/output"
mv "$mnt/sub.tmp" "$mnt/dir/back"
ok "those that change places are, too" in_order
is "$(files)" 4 "as many as have other names"
ok "the mount is unmounted" unmount "$mnt"
finish
