#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin strip removes digests that were copied out of a mount, and nothing else.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
copy=$T/copy

stored() { # what the copy has
	getfattr -R -P -h -d -m - --absolute-names "$copy" | grep '^user\.' | sort
}

mkdir -p "$src/below"
# So small that all of the digests are listed, and no text: that has one more.
{ gen_text 1 1 && printf '\0'; } >"$src/a"
{ gen_text 1 2 && printf '\0'; } >"$src/below/a name with blanks"
setfattr -n user.own -v kept "$src/a"
default_attributes
each=$(wc -l <<<"$ATTRIBUTES")
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
cp -a "$mnt" "$copy"
setfattr -n user.sif -v sif4:AAAAAA "$copy/a" # of an earlier version
setfattr -n user.ssdeep -v "no digest" "$copy/below"
: >"$copy/foreign"
setfattr -n user.xxh128 -v "no digest" "$copy/foreign"
ln -s ../src/a "$copy/link"
stored >"$T/before"

is "$("$KIN" strip -n "$copy")" \
	"$((2 * each)) attributes of 2 files would be removed" "-n counts"
stored >"$T/after"
same "and removes nothing" "$T/after" "$T/before"
is "$("$KIN" strip "$copy")" "$((2 * each)) attributes of 2 files removed" \
	"they are removed"
is "$(stored)" 'user.own="kept"
user.ssdeep="no digest"
user.xxh128="no digest"' "the others are kept"
is "$("$KIN" strip --json "$copy")" \
	'{"totals": {"dry_run": false, "files": 0, "attributes": 0, "failed": 0, "complete": true}}' \
	"again: none, and --json says so"
cp -a --preserve=xattr "$mnt/a" "$T/named"
ln -s named "$T/symlink"
is "$("$KIN" strip "$T/symlink" 2>&1)" "$each attributes of 1 file removed" \
	"a symbolic link that is named stands for its file"

# Every object of git is read-only.
cp -a --preserve=xattr "$mnt/a" "$T/closed"
cp -a --preserve=xattr "$mnt/a" "$T/secret"
chmod 444 "$T/closed"
chmod 0 "$T/secret"
chown 65534 "$T/closed" "$T/secret"
share_programs
is "$(as_nobody "$KIN" strip "$T/closed" "$T/secret" 2>&1)" \
	"$((2 * each)) attributes of 2 files removed" "files that are read-only"
is "$(stat -c %a "$T/closed" "$T/secret" | tr '\n' ' ')" "444 0 " \
	"which they are after that"
ok "the contents are kept" cmp "$src/a" "$copy/a"

refused "a mount is refused" 'in a kinfs mount' "$KIN" strip "$mnt/below"
refused "a directory and a mount" 'in a kinfs mount' \
	"$KIN" strip "$copy" "$mnt"
refused "what does not exist" 'No such file' "$KIN" strip "$T/nothing"
"$KIN" strip >/dev/null 2>&1
is "$?" 2 "no directory is a mistake of usage"
ok "unmount" unmount "$mnt"
finish
