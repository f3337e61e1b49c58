#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A text that is short beside what is no text says nothing; and of nothing that was
# not read it is said that it was.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

cd "$T" || exit 1
mkdir src mnt
python3 - <<'END' || bail "documents are made" "no"
import base64
import random
import zipfile
import zlib

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STAMP = ('Scanned by a program that puts this line on each page that it scans, '
         'and another one that names its maker, his address in a long street of '
         'some town, a telephone number, and that all rights are with the maker; '
         'who wants the page without this line may buy the program from him.')
LETTER = ' '.join(f'In the {n} week of the year the {n * 7} members met again.'
                  for n in range(60))


noises = random.Random(1)


def noise(count=40000):
    return noises.randbytes(count)


def stream(words, data):
    return b'<<%s/Length %d>>stream\n%s\nendstream' % (words, len(data), data)


def pdf(name, text, others, pages=1, root=b''):
    font = b'<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>'
    lines = [text[i:i + 90] for i in range(0, len(text), 90)]
    page = b'BT /F 9 Tf 12 TL 50 780 Td ' + b' '.join(
        b'(%s) Tj T*' % line.encode() for line in lines) + b' ET'
    objects = [b'<</Type/Catalog/Pages 2 0 R%s>>' % root, b'',
               stream(b'', page)] + others
    first = len(objects) + 1
    objects += [b'<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 3 0 R'
                b'/Resources' + font + b'>>'] * pages
    objects[1] = b'<</Type/Pages/Count %d/Kids[%s]>>' % (pages, b' '.join(
        b'%d 0 R' % (first + i) for i in range(pages)))
    body, at = b'%PDF-1.5\n', []
    for i, part in enumerate(objects):
        at.append(len(body))
        body += b'%d 0 obj%sendobj\n' % (i + 1, part)
    table = b''.join(b'%010d 00000 n \n' % place for place in at)
    body += (b'xref\n0 %d\n0000000000 65535 f \n%strailer<</Root 1 0 R/Size %d>>\n'
             b'startxref\n%d\n%%%%EOF\n' % (len(at) + 1, table, len(at) + 1,
                                            len(body)))
    with open('src/' + name, 'wb') as file:
        file.write(body)


def package(name, parts):
    with zipfile.ZipFile('src/' + name, 'w') as z:
        for part, content in parts.items():
            z.writestr(part, content)


def docx(name, text, parts):
    package(name, {'[Content_Types].xml': '<Types/>', 'word/document.xml':
                   f'<w:document {W}><w:p><w:r><w:t>{text}</w:t></w:r></w:p>'
                   '</w:document>', **parts})


def write(name, text):
    with open('src/' + name, 'w', encoding='utf-8') as file:
        file.write(text)


picture = b'/Subtype /Image/Width 100/Height 100/BitsPerComponent 8'
form = b'/Filter/FlateDecode'
for i in 1, 2:
    pdf(f'scan{i}.pdf', STAMP, [stream(picture, noise())], pages=20)
    pdf(f'form{i}.pdf', STAMP, [stream(form, zlib.compress(noise()))],
        root=b'/AcroForm<</Fields[]/XFA 4 0 R>>')
    pdf(f'attached{i}.pdf', STAMP, [stream(b'/Type/EmbeddedFile', noise())])
    docx(f'photo{i}.docx', STAMP, {'word/media/image1.jpeg': noise()})
    package(f'photo{i}.odt', {
        'META-INF/manifest.xml': '<manifest/>', 'Pictures/1.png': noise(),
        'content.xml': f'<a xmlns:text="t"><text:p>{STAMP}</text:p></a>'})
    write(f'photo{i}.html', f'<html><body><p>{STAMP}</p><img src="data:image/png;'
          f'base64,{base64.b64encode(noise()).decode()}"></body></html>')
    write(f'photo{i}.rtf', r'{\rtf1\ansi ' + STAMP + r'{\*\shppict{\pict\pngblip '
          + noise().hex() + '}}}')
# The same text beside little, and much text beside the same picture.
font = b'/Length1 40000/Filter/FlateDecode'
pdf('short.pdf', STAMP, [stream(font, zlib.compress(noise()))])
docx('short.docx', STAMP, {'docProps/thumbnail.jpeg': noise(),
                           'word/media/image1.png': noise(500)})
pdf('letter.pdf', LETTER, [stream(picture, noise())])
docx('letter.docx', LETTER, {'word/media/image1.jpeg': noise()})
END

mount_kinfs "$T/src" "$T/mnt"
wait_idle mnt

for name in scan form attached photo; do
	for file in src/"$name"1.*; do
		file=${file#src/}
		is "$(getx "mnt/$file" user.kinfs.text)" none:caption "$file"
		is "$(kin-extract --json "src/$file" |
			jq -c '[.status, .caption, .unread >= 40000]')" \
			'["none",true,true]' "... to kin-extract"
		is "$(ls "mnt/.similar/$file")" "" "... is like no other"
		between "$("$KIN" compare --json "src/$file" "src/${file/1/2}" |
			jq '.score // 0')" 0 30 "... and kin compare agrees"
	done
done
for name in short letter; do
	is "$(getx mnt/$name.pdf user.kinfs.text)" yes "$name.pdf has a text"
	is "$(find mnt/.similar/$name.pdf -name "*_$name.docx" | wc -l)" 1 \
		"... that of $name.docx"
done

like "$("$KIN" similar --why mnt/scan1.pdf mnt/letter.pdf)" \
	'; text of mnt/scan1.pdf: none:caption$' "kin similar --why says so"

# ---- each argument has a line ----

kin-extract --json absent src src/letter.pdf 2>errors | jq -c '[.name, .status]' >got
is "$(tr '\n' ' ' <got)" \
	'["absent","error"] ["src","error"] ["src/letter.pdf","ok"] ' \
	"a line for each argument"
is "$(wc -l <errors)" 2 "... and complaints"
finish
