# SPDX-License-Identifier: Apache-2.0
"""family.py DIRECTORY: one text as documents of several formats, a later version of it, another
text, an archive beside the directory that it was made of, two mailboxes that share nine mails of
ten, one of these mails, and documents that have no text."""
import base64
import gzip
import io
import os
import random
import sys
import tarfile
import zipfile

where = sys.argv[1]
chance = random.Random(7)
words = [''.join(chance.choice('bcdfghklmnprstvw') + chance.choice('aeiou')
                 for _ in range(chance.randint(1, 4))) for _ in range(3000)]


def lines(count):
    return [' '.join(chance.choice(words) for _ in range(18)).capitalize() + '.'
            for _ in range(count)]


def save(name, data):
    os.makedirs(os.path.dirname(os.path.join(where, name)), exist_ok=True)
    with open(os.path.join(where, name), 'wb') as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def zipped(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED) as z:
        for name, data in entries:
            z.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), data,
                       compress_type=zipfile.ZIP_DEFLATED)
    return out.getvalue()


def docx(text, date='2021-03-04T05:06:07Z', styles=''):
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = ''.join(f'<w:p><w:r><w:t>{line}</w:t></w:r></w:p>' for line in text)
    return zipped([
        ('[Content_Types].xml', '<Types/>'),
        ('docProps/core.xml', '<cp:coreProperties xmlns:cp="c" xmlns:dcterms='
         f'"d"><dcterms:modified>{date}</dcterms:modified>'
         '</cp:coreProperties>'),
        ('word/styles.xml', styles),
        ('word/document.xml',
         f'<w:document {w}><w:body>{body}</w:body></w:document>')])


def odt(text):
    body = ''.join(f'<text:p>{line}</text:p>' for line in text)
    return zipped([
        ('mimetype', 'application/vnd.oasis.opendocument.text'),
        ('content.xml', '<office:document-content xmlns:office="o" '
         f'xmlns:text="t">{body}</office:document-content>'),
        ('META-INF/manifest.xml', '<m xmlns:manifest="m"/>')])


def pdf(text):
    shown = 'BT /F 8 Tf 20 780 Td 10 TL ' + ''.join(
        f'({line[:90]}) Tj T* ({line[90:]}) Tj T* ' for line in text) + 'ET'
    objects = [
        '<</Type/Catalog/Pages 2 0 R>>',
        '<</Type/Pages/Kids[3 0 R]/Count 1>>',
        f'<</Type/Page/Parent 2 0 R/MediaBox[0 -{20 * len(text)} 600 800]'
        '/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>',
        f'<</Length {len(shown)}>>\nstream\n{shown}\nendstream',
        '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>']
    out, places = '%PDF-1.4\n', []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f'{number} 0 obj\n{body}\nendobj\n'
    table = ''.join(f'{place:010d} 00000 n \n' for place in places)
    return (f'{out}xref\n0 6\n0000000000 65535 f \n{table}trailer\n'
            f'<</Size 6/Root 1 0 R>>\nstartxref\n{len(out)}\n%%EOF\n')


def html(text):
    return '<!DOCTYPE html><html><head><title>No</title></head><body>' + \
        ''.join(f'<p class="c{i}">{line}</p>'
                for i, line in enumerate(text)) + '</body></html>'


first = lines(120)
second = list(first)
for at in range(0, 120, 8):
    second[at] = lines(1)[0]
plain = '\n'.join(first) + '\n'
save('report.txt', plain)
save('report.docx', docx(first))
save('report.odt', odt(first))
save('report.pdf', pdf(first))
save('report.html', html(first))
save('report.utf16', plain.encode('utf-16'))
save('later.docx', docx(second, '2022-03-04T05:06:07Z'))
save('other.docx', docx(lines(120)))
styles = '<w:styles>' + ' '.join(chance.choices(words, k=4000)) + '</w:styles>'
save('styled-1.docx', docx(lines(4), styles=styles))
save('styled-2.docx', docx(lines(4), styles=styles))
save('short.docx', docx(['Too few words.']))
save('locked.docx', b'\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1' + bytes(1000) +
     'EncryptedPackage'.encode('utf-16-le') + bytes(100))
save('cut.docx', docx(first)[:3000])
for number in range(5):
    save(f'tree/{number}.txt', '\n'.join(lines(60)))
save('tree/inside.odt', odt(lines(120)))
packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode='w') as tar:
    tar.add(os.path.join(where, 'tree'), 'tree')
save('tree.tar.gz', gzip.compress(packed.getvalue(), mtime=0))


def mail(number):
    body = base64.encodebytes('\n'.join(lines(20)).encode()).decode()
    return (f'From: a@example.org\nTo: b@example.org\nSubject: {number}\n'
            f'Content-Transfer-Encoding: base64\n\n{body}\n')


mails = [mail(number) for number in range(11)]
for name, of in (('first', mails[:10]), ('second', mails[1:])):
    save(name + '.mbox', ''.join(
        'From a@example.org Mon Jan  1 00:00:00 2024\n' + one for one in of))
save('fifth.eml', mails[5])
save('package.deb', '!<arch>\ndebian-binary   ')
