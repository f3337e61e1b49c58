#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The session in the README works as printed.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/Documents
mnt=$T/kin

make_documents() {
	mkdir -p "$src/archive"
	gen_text 200 1 >"$src/report.txt"
	edit_text 3 2 <"$src/report.txt" >"$src/report-draft.txt"
	cp "$src/report.txt" "$src/archive/report-2019.txt"
	gen_text 200 3 >"$src/unrelated.txt"
}

link_to() { # NAME: of the one link in .similar/report.txt to that file
	local link
	for link in "$mnt"/.similar/report.txt/*"_$1"; do
		readlink "$link"
	done
}

status_is_json() {
	timeout 600 "$KIN" status --json "$mnt" |
		perl -MJSON::PP -0777 -e 'decode_json(<>)'
}

make_documents
mount_kinfs "$src" "$mnt"
like "$(awk -v p="$mnt" '$5 == p' /proc/self/mountinfo)" ' - fuse\.kinfs ' \
	"the mount is of type fuse.kinfs"
ok "kin wait returns when everything is hashed" timeout 600 "$KIN" wait "$mnt"

getfattr --absolute-names -d "$mnt/report.txt" >"$T/attributes"
for name in user.sise user.simhash user.rdc.traits user.sif user.ssdeep \
	user.xxh128; do
	ok "getfattr -d shows $name" grep -q "^$name=\".\+\"\$" "$T/attributes"
done

ls -l "$mnt/.similar/report.txt/" >"$T/listing"
like "$(cat "$T/listing")" \
	'0[89][0-9]_report-draft\.txt -> \.\./\.\./report-draft\.txt' \
	"ls -l .similar/report.txt shows the draft with its score"
is "$(link_to report-2019.txt)" ../../archive/report-2019.txt \
	"and the copy, by a relative link"
unlike "$(cat "$T/listing")" unrelated "and not the unrelated file"
ok "cat through a link reads the similar file" cmp \
	"$mnt/.similar/report.txt/100_report-2019.txt" "$src/report.txt"

is "$(cd "$mnt" && find .similar -name '100_*' | sort)" \
	".similar/archive/report-2019.txt/100_report.txt
.similar/report.txt/100_report-2019.txt" \
	"find -name '100_*' prints the exact duplicates"

ok "kin status succeeds" timeout 600 "$KIN" status "$mnt"
ok "kin status --json prints JSON" status_is_json
ok "fusermount3 -u unmounts, the daemon ends with 0" unmount "$mnt"
ok "SOURCE is as it was" cmp "$src/report.txt" "$src/archive/report-2019.txt"
is "$(find "$src" | wc -l)" 6 "nothing was added to SOURCE"
is "$(getfattr -R -d --absolute-names "$src")" "" \
	"no attribute was written to SOURCE"
finish
