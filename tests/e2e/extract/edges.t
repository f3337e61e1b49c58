#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin-extract: where pieces of a text meet, and more of something than usual.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

EXTRACT=${KIN%/*}/kin-extract
cd "$T" || exit 1

# Characters of four bytes around each size of a piece, in every way to write
# them: the text comes as it went in.
python3 - <<'END' || bail "documents are made" "no"
import base64, io, zipfile


def zipped(name, entries):
    with zipfile.ZipFile(name, 'w', zipfile.ZIP_DEFLATED) as z:
        for path, data in entries:
            z.writestr(path, data)


def rtf(text):
    units = text.encode('utf-16-le')
    return '{\\rtf1 ' + ''.join(
        chr(units[i]) if units[i + 1] == 0 else
        f'\\u{int.from_bytes(units[i:i + 2], "little", signed=True)}?'
        for i in range(0, len(units), 2)) + '}'


def mail(text, charset):
    body = base64.encodebytes(text.encode(charset)).decode()
    return (f'From: a\nTo: b\nSubject: \nMIME-Version: 1.0\nContent-Type: text/plain;'
            f' charset={charset}\nContent-Transfer-Encoding: base64\n\n{body}')


faces = '\U0001f600' * 12000
for shift in range(4):
    text = 'a ' + 'b' * shift + faces
    open(f'{shift}.want', 'w').write(text)
    entities = ''.join(c if c < '~' else f'&#{ord(c)};' for c in text)
    for name, data in [
            ('utf8', text.encode()), ('utf16le', text.encode('utf-16-le')),
            ('bom', text.encode('utf-16')), ('utf16be', text.encode('utf-16-be')),
            ('utf32', text.encode('utf-32')), ('rtf', rtf(text).encode()),
            ('html', f'<!doctype html><html><body>{text}'.encode()),
            ('entities', f'<!doctype html><html><body>{entities}'.encode()),
            ('mail8', mail(text, 'utf-8').encode()),
            ('mail16', mail(text, 'utf-16le').encode()),
            ('gb18030', f'<!doctype html><meta charset=gb18030><body>{text}'
             .encode('gb18030'))]:
        open(f'{shift}.{name}', 'wb').write(data)
    zipped(f'{shift}.docx', [
        ('[Content_Types].xml', '<T/>'), ('word/document.xml',
         f'<w:document xmlns:w="w"><w:p><w:t>{text}</w:t></w:p></w:document>')])
zipped('many.pptx', [('[Content_Types].xml', '<T/>'),
                     ('ppt/presentation.xml', '<presentation/>')] + [
    (f'ppt/slides/slide{i}.xml', f'<s><p><t>slide {i}</t></p></s>')
    for i in range(1, 301)])
for length in [4000, 4095, 4096, 5000, 70000]:
    folder = 'x' * min(length, 60000) + '/'
    zipped(f'{length}.epub', [
        ('mimetype', 'application/epub+zip'), ('META-INF/container.xml',
         f'<c><rootfile full-path="{folder}b.opf"/></c>'),
        (folder + 'b.opf', f'<p><item id="i" href="{"%41" * length}"/>'
         '<item id="j" href="c.html"/><itemref idref="i"/><itemref idref="j"/>'
         '</p>'), (folder + 'c.html', '<html><body>a chapter</body></html>')])
zipped('names.zip', [('a\x7f\x9b2J\u202e', b'words')])
END
for kind in utf8 utf16le bom utf16be utf32 rtf html entities mail8 mail16 gb18030 docx; do
	is "$(for i in 0 1 2 3; do
		"$EXTRACT" $i.$kind 2>&1 | tr -d '\n' | cmp - $i.want && echo same
	done | tr '\n' ' ')" "same same same same " "$kind: whole characters"
done

is "$("$EXTRACT" many.pptx | grep .)" "$(seq -f 'slide %g' 300)" \
	"more slides than are sorted in place"
for length in 4000 4095 4096 5000; do
	is "$("$EXTRACT" $length.epub | grep .)" "a chapter" "an EPUB with names of $length"
done
is "$("$EXTRACT" --json 70000.epub | jq -r .died)" null \
	"... or more than a zip has: an answer"

line=$("$EXTRACT" --json names.zip)
is "$(LC_ALL=C tr -d ' -~' <<<"$line")" "" "--json: a name controls no terminal"
is "$(jq -r '.members[0].name' <<<"$line" | od -An -c | tr -d ' \n')" \
	'a1773022332J342200256\n' "... and is what it is"
finish
