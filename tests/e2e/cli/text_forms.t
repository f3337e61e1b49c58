#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A text is the same whatever form its characters have, as a text and in a
# document.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

cd "$T" || exit 1
python3 - <<'END' || bail "texts are made" "no"
import unicodedata
import zipfile

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def save(name, text):
    with open(name, 'wb') as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def pair(name, text):
    """A text, and the document of it."""
    save(name + '.txt', text)
    with zipfile.ZipFile(name + '.docx', 'w') as z:
        z.writestr('[Content_Types].xml', '<Types/>')
        z.writestr('word/document.xml', f'<w:document {W}><w:p><w:r><w:t>{text}'
                   '</w:t></w:r></w:p></w:document>')


def repeat(text, word):
    return ''.join(text.replace(word, f'{word}{i}') for i in range(12))


text = repeat('The chief of the office finds affluent staff; it is difficult to '
              'afford the first fjord. ', 'office')
save('plain.txt', text)
save('ligatures.txt', text.replace('ffi', '\ufb03').replace('ff', '\ufb00')
     .replace('fi', '\ufb01'))
save('hyphens.txt', text.replace('diffi', 'dif\u00adfi'))
save('no-break.txt', text.replace(' ', '\u00a0'))
save('thin.txt', text.replace(' ', '\u2009'))
save('no-width.txt', text.replace('o', 'o\u200b'))
save('wide.txt', ''.join(chr(ord(c) + 0xfee0) if '!' <= c <= '~' else c
                         for c in text))
accents = repeat('Ünïcödé çàfé naïve Ångström façade élève été. ', 'naïve')
korean = repeat('대한민국의 모든 국민은 법 앞에 평등하다 누구든지 ', '국민')
save('composed.txt', accents)
save('decomposed.txt', unicodedata.normalize('NFD', accents))
save('korean.txt', korean)
save('jamo.txt', unicodedata.normalize('NFD', korean))
pair('chinese', repeat('本报告说明了河流、湖泊（包括水库）的水位；详情见附表。', '河流'))
pair('japanese', repeat('この報告は「川」と湖の水位を説明します。詳細は付表を参照。', '報告'))
pair('french', repeat('Le rapport dit\u00a0: «\u00a0les rivières sont '
                      'hautes…\u00a0» à l’été nº\u00a01. ', 'rapport'))
thai = repeat('รายงานนี้อธิบายระดับน้ำของแม่น้ำและทะเลสาบในฤดูร้อน ', 'แม่น้ำ')
pair('thai', thai)
save('tis-620.txt', thai.encode('tis-620'))
tamil = repeat('கொடுத்த அறிக்கை ஆறுகள் பற்றிக் கூறுகிறது போது ', 'ஆறு')
save('tamil.txt', tamil)
save('signs.txt', unicodedata.normalize('NFD', tamil))
pair('marks', repeat(unicodedata.normalize('NFD', accents[:300]), 'fac'))
german = repeat('Größere Flüße führen häufig Hochwasser über die Dämme. ', 'über')
pair('german', german)
data = german.encode()
save('wrong.txt', data[:301] + b'\xff' + data[301:])
save('line.txt', data + 'Nachträglich geändert: Größe\n'.encode('latin-1'))
END

alike() { # A B [LEAST]
	local score
	score=$("$KIN" compare --json "$1" "$2" | jq '.score // 0')
	between "$score" "${3:-95}" 100 "$1 and $2"
}

for file in ligatures hyphens no-break thin no-width wide; do
	alike $file.txt plain.txt
done
alike decomposed.txt composed.txt
alike jamo.txt korean.txt
alike signs.txt tamil.txt
alike tis-620.txt thai.txt
for file in chinese japanese french thai marks german; do
	alike $file.txt $file.docx
done
alike wrong.txt german.docx
alike wrong.txt german.txt
alike line.txt german.docx 85 # the line is all that does not repeat
finish
