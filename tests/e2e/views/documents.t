#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Documents are alike by their texts, whatever their format; archives by their
# members.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

cd "$T" || exit 1
mkdir src mnt
python3 "$HELPERS/family.py" src || bail "documents are made" "no"

text_of() { # FILE: user.kinfs.text
	getx "mnt/$1" user.kinfs.text
}

listed() { # DIRECTORY: names with their scores, in one line
	find "mnt/.similar/$1" -type l -printf '%f\n' | sort | tr '\n' ' '
}

mount_kinfs "$T/src" "$T/mnt"
wait_idle mnt

# ---- what is known of a text ----

for file in report.docx report.odt report.pdf report.html report.utf16 \
	tree.tar.gz first.mbox fifth.eml; do
	is "$(text_of $file)" yes "$file has a text"
done
for file in report.txt short.docx tree/0.txt; do
	is "$(text_of $file)" none "$file has none but its bytes"
done
is "$(text_of locked.docx)" encrypted "locked.docx"
is "$(text_of cut.docx)" failed:damaged "cut.docx"
is "$(text_of package.deb)" failed:unsupported "what is not looked into"
is "$("$KIN" status --json mnt | jq -c .texts)" \
	'{"failed":1,"made":14,"pending":0,"state":"on"}' "the status"
# A change elsewhere on this filesystem is looked at, too.
is_idle() { "$KIN" status mnt | grep -q '^state *idle'; }
poll 10 is_idle
told="the text of 1 document or archive could not be read: kin status --failed"
like "$("$KIN" status mnt)" "idle, but $told" "... in words"
is "$("$KIN" status --failed mnt | sed 1d)" "text:damaged  mnt/cut.docx" \
	"... and which"
for command in wait groups "export --plain"; do
	code=0
	# shellcheck disable=SC2086 # its options
	"$KIN" $command mnt >"$T/out" 2>"$T/err" || code=$?
	is "$code" 3 "kin $command is not complete"
	like "$(cat "$T/err")" "$told" "... and says why"
done
cp "$T/out" "$T/export"
code=0
"$KIN" missing --json mnt "$T/export" >"$T/out" 2>"$T/err" || code=$?
is "$code $(tail -n 1 "$T/out" | jq -c '[.totals.failed, .totals.failed_texts]')" \
	"3 [0,2]" "kin missing counts those of both"
ok "exact copies need no text" "$KIN" groups --exact mnt

# ---- listings ----

all='099_report.docx 099_report.html 099_report.odt 099_report.pdf '
all+='099_report.txt 099_report.utf16 '
for file in report.docx report.odt report.pdf report.html report.txt \
	report.utf16; do
	is "$(listed $file | sed 's/08[0-9]_later.docx //')" \
		"${all/099_$file /}" "$file: the other forms of it"
	like "$(listed $file)" '08[0-9]_later.docx' "... and the later version"
done
is "$(listed other.docx)" "" "other.docx: nothing"
between "$("$KIN" compare -m sif src/styled-1.docx src/styled-2.docx)" 60 100 \
	"two documents share most of their bytes"
is "$(listed styled-1.docx)$(listed styled-2.docx)" "" \
	"... and are not alike, as they say something else"
unlike "$("$KIN" compare src/styled-1.docx src/styled-2.docx)" \
	'score +[6-9][0-9]' "... nor to kin compare"
unlike "$("$KIN" groups --json mnt)" styled-1.docx "... nor in a group"
is "$(listed locked.docx)$(listed cut.docx)$(listed short.docx)" "" \
	"... nor what has no text"
for file in 0.txt 1.txt 2.txt 3.txt 4.txt inside.odt; do
	like "$(listed tree.tar.gz/.contains)" "09[0-9]_$file" \
		"the archive contains $file"
	like "$(listed tree/$file/.within)" 09[0-9]_tree.tar.gz \
		"$file is within the archive"
done

like "$(listed first.mbox)" '^0(8[89]|9[0-3])_second.mbox $' \
	"mailboxes that share nine mails of ten"
like "$(listed fifth.eml/.within)" '09[0-9]_first.mbox 09[0-9]_second.mbox' \
	"... and a mail is within both"
like "$(listed tree/.dirs)" 09[0-9]_tree.tar.gz \
	"the archive is like the directory that it was made of"
mkdir mnt/package
gen_text 60 4 | gzip >mnt/package/changelog.gz
gen_text 3 5 >mnt/package/copyright
wait_idle mnt
is "$(listed package/.dirs)" "" "... but a directory is not like a file in it"
rm -r mnt/package
wait_idle mnt
is "$(readlink mnt/.similar/report.odt/.base)" "" \
	"a text is no base for other bytes"
like "$(readlink mnt/.similar/report.pdf/.base)" 'report\.(html|txt)$' \
	"... but of a document whose bytes are its text, one that has these"

# ---- kin ----

is "$("$KIN" similar --why mnt/report.docx mnt/report.pdf |
	grep -o 'by text')" 'by text' "kin similar --why says so"
like "$("$KIN" similar --why mnt/cut.docx mnt/report.pdf)" \
	'; text of mnt/cut.docx: failed:damaged$' "... and that a text was not read"
is "$("$KIN" similar --why mnt/report.txt mnt/later.docx | grep -c 'by text')" \
	1 "... also when one of them is a plain text"
is "$("$KIN" similar --json mnt/report.docx | jq -r \
	'select(.path == "report.pdf") | .by')" text "... and --json"
is "$("$KIN" groups --json mnt | jq -r 'select(.group == 1) |
	.members[].files[].path' | sort | tr '\n' ' ')" \
	'later.docx report.docx report.html report.odt report.pdf report.txt report.utf16 ' \
	"the forms and versions are one group"

like "$("$KIN" compare src/report.odt src/report.pdf)" 'score +99  by text' \
	"kin compare needs no mount"
mkdir old oldmnt
cp src/later.docx old
mount_kinfs "$T/old" "$T/oldmnt"
wait_idle oldmnt
like "$("$KIN" similar --of src/report.pdf oldmnt)" '8[0-9] +version.*later.docx' \
	"kin similar --of a document that is not there"
like "$("$KIN" missing mnt oldmnt)" '8[0-9].*report.odt  ~  oldmnt/later.docx' \
	"kin missing finds the near one by its text"
"$KIN" export oldmnt >exported
like "$("$KIN" similar --in exported src/report.txt)" '8[0-9] +version.*later.docx' \
	"... and kin similar --in an export"
like "$("$KIN" similar -v --in exported src/report.txt)" \
	'8[0-9] +version +- +text .*later.docx' "... which -v says"
ok "unmounted" unmount "$T/oldmnt"

# ---- which is the newest ----

mkdir mnt/dated
cp src/report.docx mnt/dated/b.docx
cp src/later.docx mnt/dated/a.docx
touch -d 2020-01-01 mnt/dated/a.docx
wait_idle mnt
is "$("$KIN" groups --json mnt/dated | jq -r 'select(.group == 1) |
	.order, (.members[] | .files[0].path, .document_date)' | tr '\n' ' ')" \
	'document_date dated/a.docx 1646370367 dated/b.docx 1614834367 ' \
	"kin groups goes by the dates in the documents"
rm -r mnt/dated

# ---- waiting ----

ok "nothing is made in the background" "$KIN" pause mnt
cp src/later.docx mnt/fresh.docx
echo >>mnt/fresh.docx
like "$(listed fresh.docx)" 082_report.docx \
	"a listing waits for the text of its file"
is "$(text_of fresh.docx)" yes "... which is made for it"
cp src/report.odt mnt/fresh.odt
echo >>mnt/fresh.odt
like "$("$KIN" similar mnt/fresh.odt)" '99 +version.*report.pdf' \
	"... and so does kin similar"
"$KIN" resume mnt >/dev/null
rm mnt/fresh.docx mnt/fresh.odt
wait_idle mnt

# ---- changes ----

cp src/report.odt mnt/copy.odt
wait_idle mnt
like "$(listed report.txt)" 099_copy.odt "a copy is found at once"
cp src/other.docx mnt/copy.odt
wait_idle mnt
unlike "$(listed report.txt)" copy.odt "... and is alike by its new text"
like "$(listed other.docx)" 100_copy.odt "... alone"

ok "unmounted" unmount "$T/mnt"
mount_kinfs "$T/src" "$T/mnt"
wait_idle mnt
is "$(listed report.docx | sed 's/08[0-9]_later.docx //')" \
	"${all/099_report.docx /}" "... the texts are still known"
ok "unmounted" unmount "$T/mnt"
mount_kinfs "$T/src" "$T/mnt" -o text=no
wait_idle mnt
is "$(listed report.docx)" "" "... no document is alike by its text"
is "$("$KIN" status --json mnt | jq -r .texts.state)" off "... says the status"
ok "unmounted" unmount "$T/mnt"

# ---- a process that cannot be started any more ----

starter_of() { # MOUNTPOINT: what starts kin-extract for the daemon
	local dir
	for dir in /proc/[0-9]*; do
		[ "${dir#/proc/}" != "$(daemon_pid "$1")" ] &&
			[ "$(readlink "$dir/exe" 2>/dev/null)" = "$KINFS" ] &&
			tr '\0' ' ' <"$dir/cmdline" 2>/dev/null |
			grep -qF "$1" && echo "${dir#/proc/}"
	done
}

mount_kinfs "$T/src" "$T/mnt"
wait_idle mnt
is "$(starter_of "$T/mnt" | wc -l)" 1 "there is one process that starts others"
kill -KILL "$(starter_of "$T/mnt")"
cp src/report.docx mnt/again.docx && echo more >>mnt/again.docx
wait_idle mnt
is "$(text_of again.docx)" pending "without it a text waits, and nobody for it"
like "$(daemon_log "$T/mnt")" 'kin-extract cannot be started' "... says the log"
ok "unmounted" unmount "$T/mnt"
mount_kinfs "$T/src" "$T/mnt"
wait_idle mnt
is "$(text_of again.docx)" yes "after the next mount it is there"
ok "unmounted" unmount "$T/mnt"

# ---- without the program ----

mkdir bin
cp "$KINFS" bin/kinfs
KINFS=$T/bin/kinfs mount_kinfs "$T/src" "$T/mnt" -o "db=$T/db2"
wait_idle mnt
is "$("$KIN" status --json mnt | jq -r .texts.state)" "not installed" \
	"... says the status"
like "$("$KIN" status mnt)" 'kin-extract' "... also in words"
is "$(text_of report.docx)" failed:not-installed "... and the attribute"
ok "unmounted" unmount "$T/mnt"
mount_kinfs "$T/src" "$T/mnt" -o "db=$T/db2"
wait_idle mnt
like "$(listed report.docx)" 099_report.pdf "... the texts are made then"

# ---- a document that cannot be read now ----

"$KIN" pause mnt
printf '{\\rtf1 %s}' "$(gen_text 20 1)" >mnt/held.rtf
getx mnt/held.rtf user.xxh128 >/dev/null
exec 7>>mnt/held.rtf
"$KIN" resume mnt
wait_idle mnt
is "$(text_of held.rtf)" pending "its text waits, and nobody for it"
rm mnt/held.rtf
exec 7>&-
printf '{\\rtf1 %s}' "$(gen_text 20 2)" >mnt/note.rtf
wait_idle mnt
is "$(text_of note.rtf)" yes "kin wait waits for the next document all the same"
ok "unmounted" unmount "$T/mnt"

finish
