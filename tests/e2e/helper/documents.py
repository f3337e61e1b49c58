# SPDX-License-Identifier: Apache-2.0
"""documents.py DIRECTORY [bad] [slow]: the same text as documents of many formats, made by
hand, documents that do harm, and those that take long to."""
import bz2
import gzip
import hashlib
import io
import lzma
import os
import struct
import sys
import tarfile
import zipfile
import zlib

where = sys.argv[1]
lines = [
    'The first line of a text that is in every document here.',
    'Zweite Zeile: Größe, Übermut und ein Café.',
    'Третья строка: обычный русский текст.',
    '四行目は日本語の文章です。',
    'שורה חמישית בעברית.',
]
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
CORE = ('<cp:coreProperties xmlns:cp="c" xmlns:dcterms="d"><dcterms:modified>'
        '2021-03-04T05:06:07Z</dcterms:modified></cp:coreProperties>')
TYPES = '<Types/>'


def save(name, data):
    if isinstance(data, str):
        data = data.encode()
    with open(os.path.join(where, name), 'wb') as file:
        file.write(data)


def zipped(entries, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w', method) as z:
        for name, data in entries:
            z.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), data,
                       compress_type=method)
    return out.getvalue()


def docx(body, **more):
    parts = [('docProps/core.xml', CORE), ('word/header1.xml',
              f'<w:hdr {W}><w:p><w:r><w:t>Head</w:t></w:r></w:p></w:hdr>'),
             ('word/document.xml', f'<w:document {W} {MC}><w:body>{body}'
              '</w:body></w:document>'), ('[Content_Types].xml', TYPES)]
    parts += more.items()
    return zipped(parts)


def paragraphs(tag='w:p', run='w:r', text='w:t'):
    return ''.join(f'<{tag}><{run}><{text}>{line}</{text}></{run}></{tag}>'
                   for line in lines)


def pdf(objects, trailer='/Root 1 0 R'):
    out = b'%PDF-1.4\n'
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        if isinstance(body, str):
            body = body.encode('latin-1')
        out += b'%d 0 obj\n%s\nendobj\n' % (number, body)
    start = len(out)
    out += b'xref\n0 %d\n0000000000 65535 f \n' % (len(places) + 1)
    for place in places:
        out += b'%010d 00000 n \n' % place
    return out + (f'trailer\n<</Size {len(places) + 1} {trailer}>>\n'
                  f'startxref\n{start}\n%%EOF\n').encode()


def stream(data, extra=''):
    return (f'<<{extra}/Length {len(data)}>>\nstream\n').encode() + data + \
        b'\nendstream'


FONT = '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>'
PAGE = ('<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R'
        '/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>')


def pages(content, extra='', more=(), info=''):
    return pdf(['<</Type/Catalog/Pages 2 0 R>>',
                '<</Type/Pages/Kids[3 0 R]/Count 1>>', PAGE,
                stream(content, extra), FONT, *more], '/Root 1 0 R' + info)


SHOWN = (b'BT /F 12 Tf 50 700 Td (The first line of a text that is in) Tj '
         b'0 -14 Td (every docu-) Tj 0 -14 Td (ment here.) Tj ET')


def cipher(text):
    """A font whose signs have numbers, and no names that mean something."""
    letters = sorted(set(text))
    code = {c: 33 + (i * 7) % 90 for i, c in enumerate(letters)}
    names = ' '.join(f'{code[c]} /g{i}' for i, c in enumerate(letters))
    font = ('<</Type/Font/Subtype/Type3/FontBBox[0 0 9 9]/FontMatrix[.001 0 0 '
            f'.001 0 0]/FirstChar 0/LastChar 255/Widths[{"500 " * 256}]'
            f'/Encoding<</Type/Encoding/Differences[{names}]>>/CharProcs<<' +
            ' '.join(f'/g{i} 6 0 R' for i in range(len(letters))) + '>>>>')
    shown = bytes(code[c] for c in text).hex().encode()
    return pdf(['<</Type/Catalog/Pages 2 0 R>>',
                '<</Type/Pages/Kids[3 0 R]/Count 1>>', PAGE,
                stream(b'BT /F 1 Tf 50 700 Td <' + shown + b'> Tj ET'), font,
                stream(b'500 0 d0 0 0 9 9 re f')])


def locked():
    """40 bits of RC4 with a user password: the standard's algorithms."""
    pad = bytes.fromhex('28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0C'
                        'A9FE6453697A')

    def rc4(key, data):
        s = list(range(256))
        j = 0
        for i in range(256):
            j = (j + s[i] + key[i % len(key)]) % 256
            s[i], s[j] = s[j], s[i]
        i = j = 0
        out = bytearray()
        for byte in data:
            i = (i + 1) % 256
            j = (j + s[i]) % 256
            s[i], s[j] = s[j], s[i]
            out.append(byte ^ s[(s[i] + s[j]) % 256])
        return bytes(out)

    user = (b'secret' + pad)[:32]
    owner = rc4(hashlib.md5((b'owner' + pad)[:32]).digest()[:5], user)
    ident = b'0123456789abcdef'
    key = hashlib.md5(user + owner + struct.pack('<i', -4) + ident).digest()[:5]
    check = rc4(key, pad)
    secret = rc4(hashlib.md5(key + b'\4\0\0\0\0').digest()[:10], SHOWN)
    return pdf(['<</Type/Catalog/Pages 2 0 R>>',
                '<</Type/Pages/Kids[3 0 R]/Count 1>>', PAGE, stream(secret),
                FONT, f'<</Filter/Standard/V 1/R 2/O<{owner.hex()}>'
                f'/U<{check.hex()}>/P -4>>'],
               f'/Root 1 0 R/Encrypt 6 0 R/ID[<{ident.hex()}><{ident.hex()}>]')


def rtf():
    text = ''.join('\\par ' + ''.join(
        c if ord(c) < 128 else f'\\u{ord(c)}?' for c in line)
        for line in lines)
    return (r'{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}{\f1\fcharset204 '
            r'Times;}}{\info{\title hidden}}'
            r"{\*\unknown hidden}{\f1 \'cf\'f0\'e8\'e2\'e5\'f2} caf\'e9"
            r'{\v not shown}{\deleted gone}' + text + '}')


def mail():
    import base64
    attached = base64.encodebytes(
        docx(paragraphs())).decode()
    html = '<html><body><p>other branch</p></body></html>'
    return '\r\n'.join([
        'From: a@example.org', 'To: b@example.org',
        'Date: Wed, 1 May 2024 14:00:00 +0200',
        'Subject: =?utf-8?Q?Gr=C3=B6=C3=9Fe?= matters', 'MIME-Version: 1.0',
        'Content-Type: multipart/mixed; boundary="outer"', '', '--outer',
        'Content-Type: multipart/alternative; boundary=inner', '', '--inner',
        'Content-Type: text/html', '', html, '--inner',
        'Content-Type: text/plain; charset=iso-8859-1',
        'Content-Transfer-Encoding: quoted-printable', '',
        'Ein Caf=E9 ist=', ' offen.', '--inner--', '--outer',
        'Content-Type: application/octet-stream',
        'Content-Disposition: attachment; filename="report.docx"',
        'Content-Transfer-Encoding: base64', '', attached, '--outer--', ''])


def good():
    text = '\n'.join(lines) + '\n'
    save('plain.txt', text)
    save('utf16le.txt', text.encode('utf-16-le'))
    save('utf16be.txt', text.encode('utf-16-be'))
    save('utf16bom.txt', text.encode('utf-16'))
    save('utf8bom.txt', text.encode('utf-8-sig'))
    russian = ('Все счастливые семьи похожи друг на друга, каждая несчастливая '
               'семья несчастлива по-своему.\n')
    save('russian.txt', russian)
    save('koi8.txt', russian.encode('koi8-r'))
    save('latin1.txt', 'Ein Café auf der Straße ist größer als üblich, und '
         'das ist gut.\n'.encode('latin-1'))
    save('cafe.txt', 'café'.encode('latin-1'))
    save('ligature.txt', 'o\ufb03ce soft\xadhyphen e\u0301t\u200fe ' * 3000)
    save('page.html', '<!DOCTYPE html><html><head><title>No</title><style>p{}'
         '</style></head><body>' + ''.join(f'<p>{line}</p>' for line in lines) +
         '<p>a&nbsp;b &amp; c&auml;&#228;&#xe4;</p></body></html>')
    save('a.docx', docx(
        paragraphs() + '<w:p><w:r><w:t>One</w:t><w:tab/><w:t>two</w:t>'
        '<w:instrText>PAGE</w:instrText><w:delText>gone</w:delText></w:r>'
        '<mc:AlternateContent><mc:Choice><w:t>box</w:t></mc:Choice>'
        '<mc:Fallback><w:t>box</w:t></mc:Fallback></mc:AlternateContent>'
        '</w:p>'))
    strings = ''.join(f'<si><t>{line}</t></si>' for line in lines)
    cells = ''.join(f'<row><c t="s"><v>{i}</v></c><c><v>{i}.5</v></c></row>'
                    for i in range(len(lines)))
    save('a.xlsx', zipped([
        ('[Content_Types].xml', TYPES), ('xl/workbook.xml', '<workbook/>'),
        ('docProps/core.xml', CORE),
        ('xl/worksheets/sheet1.xml',
         f'<worksheet><sheetData>{cells}</sheetData></worksheet>'),
        ('xl/sharedStrings.xml', f'<sst>{strings}</sst>')]))
    save('a.pptx', zipped(
        [('[Content_Types].xml', TYPES), ('ppt/presentation.xml', '<presentation/>')] +
        [(f'ppt/slides/slide{i + 1}.xml',
          f'<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:t>{line}</a:t></a:p>'
          '</p:sld>') for i, line in reversed(list(enumerate(lines)))]))
    content = paragraphs('text:p', 'text:span', 'text:span')
    odf = [('mimetype', 'application/vnd.oasis.opendocument.text'),
           ('content.xml', '<office:document-content xmlns:office="o" '
            'xmlns:text="t"><text:tracked-changes><text:p>gone</text:p>'
            f'</text:tracked-changes>{content}</office:document-content>'),
           ('meta.xml', '<m xmlns:dc="d"><dc:date>2021-03-04T05:06:07</dc:date>'
            '</m>'), ('META-INF/manifest.xml', '<m xmlns:manifest="m"/>')]
    save('a.odt', zipped(odf))
    odf[-1] = ('META-INF/manifest.xml', '<m xmlns:manifest="m">'
               '<manifest:file-entry><manifest:encryption-data/>'
               '</manifest:file-entry></m>')
    odf[1] = ('content.xml', os.urandom(500))
    save('locked.odt', zipped(odf))
    save('a.epub', zipped([
        ('mimetype', 'application/epub+zip'),
        ('META-INF/container.xml', '<container><rootfiles><rootfile '
         'full-path="OPS/book.opf"/></rootfiles></container>'),
        ('OPS/book.opf', '<package><metadata><meta property='
         '"dcterms:modified">2021-03-04T05:06:07Z</meta></metadata><manifest>'
         + ''.join(f'<item id="c{i}" href="ch%20{i}.xhtml"/>'
                   for i in range(len(lines))) + '</manifest><spine>' +
         ''.join(f'<itemref idref="c{i}"/>' for i in range(len(lines))) +
         '</spine></package>')] +
        [(f'OPS/ch {i}.xhtml', '<?xml version="1.0"?><!DOCTYPE html>'
          f'<html><head><title>t</title></head><body><p>{line}</p></body>'
          '</html>') for i, line in reversed(list(enumerate(lines)))]))
    save('a.rtf', rtf())
    save('a.eml', mail())
    save('a.pdf', pages(SHOWN, more=['<</ModDate(D:20210304050607Z)>>'],
                        info='/Info 6 0 R'))
    save('warned.pdf', pages(SHOWN, more=['<</ModDate(D:2021}304050607Z)>>'],
                             info='/Info 6 0 R'))
    xmp = b'<x:xmpmeta xmp:ModifyDate="2021-03-04T05:06:07Z"/>'
    save('xmp.pdf', pdf(['<</Type/Catalog/Pages 2 0 R/Metadata 6 0 R>>',
                         '<</Type/Pages/Kids[3 0 R]/Count 1>>', PAGE,
                         stream(SHOWN), FONT,
                         stream(xmp, '/Type/Metadata/Subtype/XML')]))
    save('locked.pdf', locked())
    save('cipher.pdf', cipher('Fonts that do not tell what their signs mean make '
                              'a cipher of each text that is shown by them, and '
                              'strangers may look alike, or copies strange. '))
    save('image.pdf', pages(b'0 0 m 100 100 l S'))
    save('old.doc', b'\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1' + bytes(2000))
    save('locked.docx', b'\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1' + bytes(1000) +
         'EncryptedPackage'.encode('utf-16-le') + bytes(100))
    save('random', hashlib.shake_256(b'kinfs').digest(5000))
    save('empty', b'')
    return text


def packed(text):
    names = ['plain.txt', 'koi8.txt', 'a.docx', 'a.pdf', 'random', 'empty']
    members = [(name, open(os.path.join(where, name), 'rb').read())
               for name in names]
    save('a.zip', zipped(members))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as tar:
        for name, data in members:
            info = tarfile.TarInfo('d/' + name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    save('a.tar', out.getvalue())
    save('a.tar.gz', gzip.compress(out.getvalue(), mtime=0))
    save('pdf.zip', zipped(members[3:4], zipfile.ZIP_STORED))
    data = text.encode()
    save('nothing.gz', gzip.compress(b'', mtime=0))
    save('a.gz', gzip.compress(data, mtime=0))
    save('a.xz', lzma.compress(data))
    save('a.bz2', bz2.compress(data))
    nested = zipped([('plain.txt', data)])
    for depth in range(9):
        nested = zipped([(f'{depth}.zip', nested)])
    save('nested.zip', nested)


def overlapping(count):
    """One stream, which that many entries of the directory claim."""
    data = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = bytes(50 << 20)
    body = data.compress(zeros) + data.flush()
    crc = zlib.crc32(zeros)
    head = struct.pack('<4s5H3I2H', b'PK\3\4', 20, 0, 8, 0, 0x21, crc,
                       len(body), len(zeros), 1, 0) + b'0'
    out = head + body
    start = len(out)
    for number in range(count):
        name = b'%d' % number
        out += struct.pack('<4s6H3I5H2I', b'PK\1\2', 20, 20, 0, 8, 0, 0x21,
                           crc, len(body), len(zeros), len(name), 0, 0, 0, 0,
                           0, 0) + name
    return out + struct.pack('<4s4H2IH', b'PK\5\6', 0, 0, count, count,
                             len(out) - start, start, 0)


def zeros_deflated(size):
    data = zlib.compressobj(9)
    block = bytes(1 << 20)
    return b''.join(data.compress(block) for _ in range(size >> 20)) + \
        data.flush()


def bad():
    laughs = '<!DOCTYPE w:document [<!ENTITY a0 "haha">' + ''.join(
        f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10)) + ']>'
    save('laughs.docx', zipped([
        ('[Content_Types].xml', TYPES),
        ('word/document.xml', laughs + f'<w:document {W}><w:t>&a9;</w:t>'
         '</w:document>')]))
    save('external.docx', zipped([
        ('[Content_Types].xml', TYPES),
        ('word/document.xml', '<!DOCTYPE a [<!ENTITY x SYSTEM '
         f'"file:///etc/passwd">]><w:document {W}><w:t>&x;</w:t>'
         '</w:document>')]))
    save('deep.docx', docx('<w:p>' * 2000000))
    save('long.docx', docx('<w:p><w:t>' + 'word ' * 4000000 + '</w:t></w:p>'))
    save('overlapping.zip', overlapping(1000))
    save('many.zip', zipped([(f'{i}', b'x') for i in range(10001)],
                            zipfile.ZIP_STORED))
    save('bomb.docx', docx(' ' * (200 << 20)))
    save('pageloop.pdf', pdf(['<</Type/Catalog/Pages 2 0 R>>',
                              '<</Type/Pages/Kids[2 0 R]/Count 2000000000>>']))
    save('formloop.pdf', pages(b'/X Do ' + SHOWN, more=[stream(
        b'/X Do', '/Type/XObject/Subtype/Form/BBox[0 0 9 9]'
        '/Resources<</XObject<</X 6 0 R>>>>')]))
    for name in ['a.docx', 'a.pdf', 'a.zip', 'a.odt', 'a.epub', 'a.rtf',
                 'a.gz', 'a.xz']:
        data = open(os.path.join(where, name), 'rb').read()
        save('cut.' + name.split('.')[1], data[:len(data) // 2])


def slow():
    with zipfile.ZipFile(os.path.join(where, 'bomb.zip'), 'w',
                         zipfile.ZIP_DEFLATED) as z:
        with z.open('zeros', 'w', force_zip64=True) as entry:
            block = bytes(1 << 20)
            for _ in range(1200):
                entry.write(block)
    forms = [stream(b'/X Do ' * 10, '/Type/XObject/Subtype/Form/BBox[0 0 9 9]'
                    f'/Resources<</XObject<</X {7 + i} 0 R>>>>')
             for i in range(12)]
    save('forms.pdf', pages(b'/X Do', more=forms))
    save('flate.pdf', pages(zeros_deflated(1 << 30), '/Filter/FlateDecode'))


packed(good())
if 'bad' in sys.argv:
    bad()
if 'slow' in sys.argv:
    slow()
