#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin-extract: Office files, OpenDocuments and books as many programs write them.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

EXTRACT=${KIN%/*}/kin-extract
cd "$T" || exit 1
python3 - <<'END' || bail "documents are made" "no"
import zipfile

W = 'xmlns:w="w" xmlns:r="r"'
REL = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/'


def save(name, *parts):
    with zipfile.ZipFile(name, 'w', zipfile.ZIP_DEFLATED) as z:
        for part, data in parts:
            z.writestr(part, data)


def leads(*targets, base=REL):
    return '<Relationships>' + ''.join(
        f'<Relationship Id="r{i}" Type="{base}{kind}" Target="{target}"/>'
        for i, (kind, target) in enumerate(targets)) + '</Relationships>'


def word(*runs):
    return f'<w:document {W}><w:body><w:p>' + ''.join(runs) + \
        '</w:p></w:body></w:document>'


def run(text, more=''):
    return f'<w:r><w:rPr>{more}</w:rPr><w:t>{text}</w:t></w:r>'


def docx(name, body, *more, main='word/document.xml', target=None, base=REL):
    save(name, ('_rels/.rels', leads(('officeDocument', target or main),
                                     base=base)), (main, body), *more)


# ---- where parts are ----

text = word(run('text'))
docx('part.moved', text, main='content/main.xml', target='/content/main.xml')
docx('part.case', text, main='Word/Document.xml', target='word/document.xml')
docx('part.windows', text, main='word\\other.xml', target='word/./x/../other.xml')
docx('part.strict', text, base='http://purl.oclc.org/ooxml/officeDocument/'
     'relationships/')
docx('part.left', text, ('word/_rels/document.xml.rels', leads()),
     ('word/header9.xml', word(run('left'))),
     ('word/glossary/document.xml', word(run('glossary'))))
docx('beside.docx', text, ('word/_rels/document.xml.rels', leads(
    ('footer', 'x.xml'), ('chart', '../charts/c.xml'), ('aFChunk', 'c.html'),
    ('diagramData', 'd.xml'), ('image', 'p.png'))),
     ('word/x.xml', word(run('foot'))), ('word/c.html', '<p>chunk</p>'),
     ('charts/c.xml', '<c:c xmlns:c="c"><a:p xmlns:a="a"><a:t>chart</a:t></a:p>'
      '<c:strCache><c:pt><c:v>name</c:v></c:pt></c:strCache><c:numCache><c:pt>'
      '<c:v>17</c:v></c:pt></c:numCache></c:c>'),
     ('word/d.xml', '<d:m xmlns:d="d"><d:t><a:p xmlns:a="a"><a:t>diagram</a:t>'
      '</a:p></d:t></d:m>'))
docx('shown.docx', word(
    run('kept '), f'<w:del>{run("gone ")}</w:del>',
    f'<w:ins>{run("new ")}<w:del>{run("gone ")}</w:del></w:ins>',
    run('hidden ', '<w:vanish/>'), run('seen ', '<w:vanish w:val="0"/>'),
    '<w:pPr><w:rPr><w:del/><w:vanish/></w:rPr></w:pPr>', run('end')))

# ---- tables ----

rows = [('Ashford', 1234.5, '2024-02-27', 45349, 0.1899)] * 2 + \
    [('Birchley', 12, '2024-02-28', 45350, 0.5)]
cells = ''.join('<row><c t="s"><v>{}</v></c><c><v>{}</v></c><c s="1"><v>{}</v></c>'
                '<c s="2"><v>{!r}</v></c></row>'.format(
                    i // 2, n, days, share + 1e-17)
                for i, (name, n, date, days, share) in enumerate(rows))
save('table.xlsx', ('_rels/.rels', leads(('officeDocument', 'a/book.xml'))),
     ('a/book.xml', '<workbook/>'), ('a/_rels/book.xml.rels', leads(
         ('sharedStrings', 's.xml'), ('styles', 'f.xml'), ('worksheet', 'w'))),
     ('a/s.xml', '<sst><si><t>Ash_x0066_ord</t></si><si><t>Birchley</t></si></sst>'),
     ('a/f.xml', '<s><numFmts><numFmt numFmtId="170" formatCode="[$-407]d/m/yy"/>'
      '</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>'
      '<xf/><xf numFmtId="170"/><xf numFmtId="10"/></cellXfs></s>'),
     ('a/w', f'<worksheet><sheetData>{cells}</sheetData></worksheet>'))


def cell(kind, value, shown):
    return (f'<t:table-cell o:value-type="{kind}" o:{value}><x:p>{shown}</x:p>'
            '</t:table-cell>')


def row(name, n, date, share, times=1):
    return (f'<t:table-row t:number-rows-repeated="{times}">' + cell(
        'string', 'x="x"', name) + cell('float', f'value="{n}"', '1.2E3') + cell(
            'date', f'date-value="{date}"', '27/02/24') + cell(
                'percentage', f'value="{share}"', '19 %') +
            '<t:table-cell t:number-columns-repeated="16000"/></t:table-row>')


def ods(name, *rows):
    save(name, ('mimetype', 'x'), ('META-INF/manifest.xml', '<m/>'),
         ('content.xml', '<o:c xmlns:o="o" xmlns:t="t" xmlns:x="x"><o:body>'
          '<o:spreadsheet><t:tracked-changes><x:p>gone</x:p></t:tracked-changes>'
          f'<t:table>{"".join(rows)}</t:table></o:spreadsheet></o:body></o:c>'))


ods('table.ods', row('Ashford', 1234.5, '2024-02-27', 0.1899, 2),
    row('Birchley', 12, '2024-02-28', 0.5),
    '<t:table-row t:number-rows-repeated="1048000"><t:table-cell/></t:table-row>')
ods('bomb.ods', '<t:table-row t:number-rows-repeated="1000000">'
    '<t:table-cell t:number-columns-repeated="16000"><x:p>boom</x:p>'
    '</t:table-cell></t:table-row>')

with open('flat.fodt', 'w') as file:
    file.write('<?xml version="1.0"?>\n<office:document xmlns:office="o" '
               'xmlns:text="t"><office:styles/><office:master-styles><text:p>foot'
               '</text:p></office:master-styles><office:body><office:text><text:p>'
               'text<text:hidden-text>hidden</text:hidden-text></text:p>'
               '</office:text></office:body></office:document>')
save('locked.odt', ('mimetype', 'x'), ('encrypted-package', 'x'),
     ('META-INF/manifest.xml', '<m xmlns:m="m"><m:encryption-data/></m>'))

# ---- books ----


def book(name, reference='a.xhtml', path='o/a.xhtml', doctype='', *more):
    save(name, ('META-INF/container.xml', f'{doctype}<container><rootfile '
                'full-path="o/b.opf"/></container>'),
         ('o/b.opf', f'{doctype}<package><manifest><item id="a" href="{reference}"/>'
          '</manifest><spine><itemref idref="a"/><itemref idref="a"/></spine>'
          '</package>'), (path, '<html><p>text'), *more)


def locks(path):
    return ('META-INF/encryption.xml', '<e><EncryptionMethod Algorithm="aes"/>'
            f'<CipherReference URI="{path}"/></e>')


book('book.doctype', doctype='<!DOCTYPE x PUBLIC "a" "http://example.org/b.dtd">')
book('book.dot', './a.xhtml')
book('book.up', '../t/a.xhtml', 't/a.xhtml')
book('book.root', '/o/a.xhtml')
book('book.blank', 'a%20b.xhtml#top', 'o/a b.xhtml')
book('book.other', 'a.x', 'o/a.X')
book('book.font', 'a.xhtml', 'o/a.xhtml', '', locks('o/f.otf'), ('o/f.otf', 'x'))
book('locked.epub', 'a.xhtml', 'o/a.xhtml', '', locks('o/a.xhtml'))
END

text_of() { # FILE: in one line
	"$EXTRACT" "$1" 2>&1 | grep . | tr '\n' ' '
}

for file in part.* book.* flat.fodt; do
	is "$(text_of "$file")" "text " "$file: each part is found, and no other"
done
is "$("$EXTRACT" --json part.* | jq -r .type | uniq)" docx "... of Word"
is "$(text_of beside.docx)" "text chunk foot diagram chart name " \
	"chunks, diagrams, charts and what stands below"
is "$(text_of shown.docx)" "kept new seen end " "what was deleted or is hidden"
want="Ashford|1234.5|2024-02-27|0.1899|
Ashford|1234.5|2024-02-27|0.1899|
Birchley|12|2024-02-28|0.5|"
for file in table.xlsx table.ods; do
	is "$("$EXTRACT" $file | tr -d ' ' | tr '\t' '|' | grep .)" "$want" \
		"$file: one table, one text"
done
is "$("$EXTRACT" --json bomb.ods | jq -r .status)" limit \
	"a row of 16,000 cells, a million times"
for file in locked.odt locked.epub; do
	is "$("$EXTRACT" --json $file | jq -r .status)" encrypted "$file"
done
finish
