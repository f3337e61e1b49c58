#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The lines of the README that send a tree to where an older one is, with rsync
# and zstd.  The other machine is a directory, and ssh a shell in it.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

recipe=$(sed -n '/^    ssh there kin export/,/^$/ s/^    //p' README.md)
like "$(tail -n 1 <<<"$recipe")" '^zstd -d ' "the README has the lines"

here=$T/here
there=$T/there
mkdir -p "$here/Documents/old" "$there/Documents/new/deep" "$T/bin"
for i in {1..12}; do
	gen_text 400 "$i" >"$here/Documents/old/part$i"
	edit_text 2 "9$i" <"$here/Documents/old/part$i" \
		>"$there/Documents/new/deep/renamed$i"
done
# What passes for the file itself where only size and time are compared.
sed '200s/./#/' "$here/Documents/old/part1" >"$there/Documents/part1"
touch -r "$here/Documents/old/part1" "$there/Documents/part1"
edit_text 2 77 <"$here/Documents/old/part5" >"$here/report.txt"

# bytes: what came back, of a protocol or an export
cat >"$T/bin/ssh" <<-EOF
	#!/bin/sh
	shift
	cd "$there" && sh -c "\$*" | tee -a "$T/came"
EOF
chmod 755 "$T/bin/ssh"
PATH=$T/bin:$(dirname "$KIN"):$PATH

for side in "$here" "$there"; do
	mount_kinfs "$side/Documents" "$side/kin" -o "db=$side/db"
	wait_idle "$side/kin"
done
cd "$here" || exit 1
# Line by line, as somebody types them.
while IFS= read -r line; do
	eval "$line" >"$T/output" 2>"$T/errors"
	is "$?" 0 "$line"
	case $line in
	"kin seed --into"*)
		printed=$(sed -n 's/ HOST:.*//p' "$T/output")
		;;
	rsync*)
		is "$(sed "s#\"\$PWD/seeds\"#$PWD/seeds#; s# there:.*##" \
			<<<"$line")" "$printed" "is what kin seed prints"
		;;
	esac
done <<<"$recipe"
ok "the tree is here" diff -r "$there/Documents" new
between "$(stat -c %s "$T/came")" 1 \
	$(($(du -sb "$there/Documents" | cut -f 1) / 4)) \
	"and a fraction of its bytes came"
ok "zstd gives the file back" cmp report.txt report.copy
zstd -q report.txt -o whole
between "$(stat -c %s report.patch)" 1 $(($(stat -c %s whole) / 3)) \
	"of a patch that is smaller"
finish
