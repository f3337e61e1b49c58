#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin-extract: documents and pictures of which bytes were changed, MUTANTS of each format.
# Each gets an answer, whatever becomes of the process that reads it.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

EXTRACT=${KIN%/*}/kin-extract
MUTANTS=${MUTANTS:-25}
SEED=${SEED:-1}
cd "$T" || exit 1
mkdir docs
python3 "$HELPERS/documents.py" docs || bail "documents are made" "no"
/usr/bin/python3 "$HELPERS/pictures.py" docs 48 40 || bail "pictures are made" "no"
bsdtar -cf docs/a.7z --format 7zip -C docs plain.txt a.docx
zstd -q docs/plain.txt -o docs/a.zst

# Cuts, flips, copies and removes; of a zip also inside of its members.
mutate() { # FILE COUNT DIRECTORY
	python3 - "$@" "$SEED" <<'END'
import io, os, random, sys, zipfile
path, count, where, seed = sys.argv[1:]
data = open(path, 'rb').read()
r = random.Random(os.path.basename(path) + seed)
words = [b'\xff\xff\xff\xff', b'\0\0\0\0', b'\x7f\xff\xff\xff', b'<', b'{',
         b'}', b'\\', b'>', b'&#0;', b'-1', b'99999999999', b'%', b'"', b'((']


def change(b):
    b = bytearray(b)
    for _ in range(r.choice([1, 1, 2, 5, 20])):
        at = r.randrange(len(b) + 1)
        kind = r.randrange(6)
        n = r.randrange(1, 40)
        if kind == 0 and at < len(b):
            b[at] ^= 1 << r.randrange(8)
        elif kind == 1 and at < len(b):
            b[at] = r.randrange(256)
        elif kind == 2:
            b[at:at] = r.choice(words)
        elif kind == 3:
            del b[at:at + n]
        elif kind == 4:
            b[at:at] = b[at:at + n] * r.choice([1, 2, 50])
        elif r.random() < .1:
            del b[at:]
    return bytes(b)


def change_inside(b):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(b)) as old, \
            zipfile.ZipFile(out, 'w', 8) as new:
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, change(part) if r.random() < .5 else part)
    return out.getvalue()


for i in range(int(count)):
    inside = data[:2] == b'PK' and r.random() < .5
    with open(f'{where}/{i}', 'wb') as file:
        file.write(change_inside(data) if inside else change(data))
END
}

for file in a.docx a.xlsx a.pptx a.odt a.epub a.rtf a.eml a.pdf a.zip a.tar a.7z \
	a.tar.gz a.xz a.bz2 a.zst page.html koi8.txt utf16le.txt turned-6.jpg \
	progressive.jpg cmyk.jpg turned-5.png interlaced.png clear-palette.png \
	clear.gif interlaced.gif turned-6.webp clear.webp animated.webp; do
	rm -rf mutants
	mkdir mutants
	mutate docs/$file "$MUTANTS" mutants
	find mutants -type f -print0 | sort -z |
		xargs -0 -n 2000 "$EXTRACT" --json >out 2>err
	is "$(jq -r .status out | wc -l)" "$MUTANTS" \
		"$file: as many answers as files"
	is "$(cat err)" "" "... and no other word"
	diag "$file: $(jq -r '.status + if .died then " (died)" else "" end' \
		out | sort | uniq -c | tr -s ' \n' ' ')"
done
finish
