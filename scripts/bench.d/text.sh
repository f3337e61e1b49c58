# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# What the text of documents costs: by format beside pdftotext, and what it adds
# to the hashing of a tree.  Part of scripts/bench, which reads this file.

text_formats='html odt docx rtf epub pdf'

# One book in each format.
text_make()
{
	local book=/usr/share/doc/debian-handbook/html/en-US format

	mkdir -p text/made && pandoc --quiet -f html -t markdown-raw_html -o text/book.md \
		"$book"/sect.*.html || return
	for format in html odt docx rtf epub; do
		pandoc --quiet -s --metadata title=Book -o "text/made/book.$format" \
			text/book.md || return
	done
	soffice "-env:UserInstallation=file://$top/text/profile" --headless \
		--convert-to pdf --outdir text/made text/made/book.docx \
		>/dev/null 2>&1
}

# text_memory FILE...: the most KiB that a process had resident that read them.
text_memory()
{
	local pid reader most=0 kib

	"$extract" "$@" >/dev/null 2>&1 &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		for reader in $(pgrep -f '^kin-extract --serve'); do
			case $(readlink "/proc/$reader/exe") in
			"$extract"*)
				kib=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' \
					"/proc/$reader/status" 2>/dev/null)
				[ "${kib:-0}" -le "$most" ] || most=$kib
				;;
			esac
		done
	done
	echo "$most"
}

# text_each COMMAND FILE: microseconds a file, without the start.
text_each()
{
	local i

	for ((i = 0; i < runs; i++)); do
		echo $((($(timed "$1" "$2" "$2" "$2" "$2" "$2") -
			$(timed "$1" "$2")) / 4))
	done | median
}

text_poppler()
{
	local file

	for file; do pdftotext "$file" - || return; done
}

# text_tree NAME: files that say different things in many words.
text_tree()
{
	python3 - "$1" "$top/text/made/book.docx" "$documents" <<'END'
import os, random, sys, zipfile
kind, made, count = sys.argv[1:]
old = zipfile.ZipFile(made)
parts = [(n, old.read(n)) for n in old.namelist()
         if n != "word/document.xml" and not n.startswith("word/media")]
words = ["".join(random.Random(i).choices("aeioulnrstdm", k=7))
         for i in range(5000)]
os.makedirs("text/" + kind)
for i in range(int(count)):
    text = " ".join(random.Random(-i).choices(words, k=600))
    if kind == "txt":
        with open("text/txt/%d.txt" % i, "w") as f:
            f.write(text)
        continue
    with zipfile.ZipFile("text/docx/%d.docx" % i, "w", 8) as z:
        z.writestr("word/document.xml", "<w:document xmlns:w='w'><w:body><w:p>"
                   "<w:t>" + text + "</w:t></w:p></w:body></w:document>")
        for part in parts:
            z.writestr(*part)
END
}

# text_scan TREE OPTION: seconds until all is known.
text_scan()
{
	local start

	rm -rf text/db
	mkdir -p text/mount
	start=$(now_us)
	"$kinfs" "$top/text/$1" text/mount -o "db=$top/text/db,$2" || return
	"$kin" wait text/mount >/dev/null 2>&1
	awk "BEGIN { print ($(now_us) - $start) / 1000000 }"
	unmount text/mount
}

bench_text()
{
	local format each size pages extract=${kin%/*}/kin-extract kind with \
		without

	need pandoc soffice pdftotext pdfinfo python3
	text_make || die 'text: the documents could not be made'
	pages=$(pdfinfo text/made/book.pdf | sed -n 's/^Pages: *//p')
	echo
	echo "text: a book of $pages pages; MB of its text, and pages, in a second"
	printf '%-12s%10s%10s%10s\n' '' MB/s pages/s 'MiB RSS'
	for format in $text_formats; do
		size=$("$extract" "text/made/book.$format" | wc -c)
		each=$(text_each "$extract" "text/made/book.$format")
		awk -v n="$format" -v us="$each" -v b="$size" -v p="$pages" \
			-v kib="$(text_memory text/made/book."$format"{,,,})" \
			'BEGIN { printf "%-12s%10.1f%10.0f%10.1f\n", n, b / us,
				p * 1000000 / us, kib / 1024 }'
		note text "$format" rate "$(awk "BEGIN { print $size / $each }")" MB/s
	done
	size=$(pdftotext text/made/book.pdf - | wc -c)
	each=$(text_each text_poppler text/made/book.pdf)
	awk -v us="$each" -v b="$size" -v p="$pages" 'BEGIN {
		printf "%-12s%10.1f%10.0f\n", "pdftotext", b / us,
			p * 1000000 / us }'
	note text pdftotext rate "$(awk "BEGIN { print $size / $each }")" MB/s

	echo
	echo "text: seconds until $documents files are known, without and with it"
	for kind in docx txt; do
		text_tree "$kind"
		without=$(text_scan "$kind" text=no)
		with=$(text_scan "$kind" text=yes)
		printf '%-12s%10.1f%10.1f\n' "$kind" "$without" "$with"
		note text "$documents $kind" without "$without" s
		note text "$documents $kind" with "$with" s
	done
}
