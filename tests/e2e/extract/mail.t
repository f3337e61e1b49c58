#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin-extract: mails and mailboxes as programs write them.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

EXTRACT=${KIN%/*}/kin-extract
cd "$T" || exit 1
python3 - <<'END' || bail "mails are made" "no"
import base64

HEAD = ('From: a@example.org\nTo: b@example.org\nSubject: note\n'
        'Date: Mon, 1 Jan 2024 00:00:00 +0000\nMIME-Version: 1.0\n')
B64 = 'Content-Transfer-Encoding: base64\n\n'


def save(name, text):
    with open(name, 'wb') as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def encoded(text):
    return base64.encodebytes(text.encode()).decode()


def parts(kind, boundary, *all, more=''):
    return (f'{HEAD}Content-Type: multipart/{kind}; {boundary}\n\n' +
            ''.join(f'--x{more}\n{part}\n' for part in all) + '--x--\n')


def alternative(name, plain, html):
    save(name, parts('alternative', 'boundary=x',
                     f'Content-Type: text/plain\n\n{plain}',
                     f'Content-Type: text/html\n\n<html><body>{html}'))


words = 'words ' * 40
body = B64 + encoded('body')
arc = ''.join(f'ARC-Seal: i={i}; {"y" * 900}\n\t{"z" * 60}\n' for i in range(6))
save('head.arc', arc + HEAD + body)
save('head.crlf', (arc + HEAD + body).replace('\n', '\r\n'))
save('head.received', 'Received: from a.example.org\n\tby b.example.org\n' * 90 +
     HEAD + body)
save('head.pad', 'X-Pad: zzzzzzzzzzzzzzzzzzzzzzz\n' * 6000 + HEAD + body)
save('head.line', 'DKIM-Signature: ' + 'Q' * 5000 + '\n' + HEAD + body)
save('head.bom', b'\xef\xbb\xbf' + (HEAD + body).encode())
save('head.blank', '\n\n' + HEAD + body)
save('head.moz', 'X-Mozilla-Status: 0001\nX-Account-Key: a1\n' + HEAD + body)
mail = HEAD + body
save('head.emlx', f'{len(mail)}\n{mail}<?xml version="1.0"?><plist/>\n')
save('head.padded', f'{len(mail):<10}\n{mail}<?xml version="1.0"?><plist/>\n')
save('head.colon', mail.replace(':', ' :', 5))
save('head.few', 'MIME-Version: 1.0\nSubject: note\n' + body)
save('notes.txt', 'To: do\nFrom: me\n\nDate: none\n')
save('fields.txt', 'Name: value\nX-Other: value\n' * 300)

save('words.eml', 'Subject: =?utf-8?B?4oI=?=\n =?utf-8?B?rA==?= and '
     '=?ISO-8859-1*de?Q?Gr=FC=DFe_x?= =?koi8-r?B?8NLJ18XU?=\n'
     'From: a@example.org\nTo: b@example.org\n\nbody\n')
save('padding.eml', HEAD + B64 + encoded('One.') + encoded('Two two') +
     encoded('three') + 'Zm91cg==Zml2ZQ==\n')
save('quoted.eml', parts(
    'mixed', 'boundary = "x"', 'Content-Type: text/plain; charset="koi8-r"\n'
    'Content-Transfer-Encoding: quoted-printable\n\n=F0=D2=C9=D7=C5=D4',
    "Content-Type: application/octet-stream; name*0*=utf-8''caf%C3%A9;\n"
    ' name*1=-a.txt\n\nattached', more='  \t'))
save('prefix.eml', parts(
    'mixed', 'boundary=x', 'Content-Type: multipart/mixed; boundary=x-y\n\n'
    '--x-y\n\nONE\n--xy is a word\n--x-y\n\nTWO\n--x-y--', '\nTHREE'))
save('bare.eml', HEAD + 'Content-Type: multipart/mixed\n\n--x\n\nONE\n--x--\n')
save('inside.eml', HEAD + 'Content-Type: message/rfc822\n\n' +
     HEAD.replace('note', 'inner') + '\ninner body\n')
alternative('plain.eml', 'PLAIN ' + words, 'HTML ' + words)
alternative('blank.eml', ' ', 'HTML')
alternative('nbsp.eml', '\u00a0', 'HTML')
alternative('stub.eml', 'PLAIN does not show this', 'HTML ' + words)


def page(*beside):
    return parts('related', 'boundary=x', 'Content-Type: text/html\n\n<p>PAGE',
                 'Content-Type: text/css\n\n.gone { color: red }', *beside)


save('page.mht', page()[page().index('MIME-Version'):])
save('picture.eml', page('Content-Type: image/png\nContent-ID: <1@example.org>'
                         f'\n\n{"p" * 50}'))
save('pgp.eml', HEAD + '\n-----BEGIN PGP MESSAGE-----\n\nAAAA\n')
kinds = 'Content-Type: text/plain; charset={}\n\nPlain: Gr\u00fc\u00dfe\n'
save('lie.eml', HEAD + kinds.format('iso-8859-1'))
save('unknown.eml', HEAD + kinds.format('unknown-8bit'))
save('meta.eml', (HEAD + 'Content-Type: text/html\n\n<meta charset=koi8-r>'
                  '\u041f\u0440\u0438\u0432\u0435\u0442').encode('koi8-r'))
save('deep.eml', HEAD + ('Content-Type: message/rfc822\n\n' + HEAD) * 5 + body)
save('dateless', ('From a@example.org\n' + HEAD + '\nOne\n\n') * 2)

box = ''
for i in range(3):
    one = HEAD.replace('note', f's{i}') + (
        f'Content-Type: multipart/mixed; boundary=x\n\n--x\n\nTEXT{i}\n--x--\n'
        if i == 1 else B64 + encoded(f'TEXT{i}\nFrom you: text\n'))
    save(f'{i}.eml', one)
    box += f'From a@example.org Mon Jan  1 00:00:0{i} 2024\n{one}\n'
save('box', box)
save('box.crlf', box.replace('\n', '\r\n'))
save('sentence', 'From a@example.org Mon Jan  1 00:00:00 2024\n' + HEAD +
     '\nOne\nFrom me to you: this is a sentence\nand no mail\n\n'
     'From - Mon Jan  1 00:00:00 2024\n' + HEAD + '\nTwo\n')
END

text_of() { # FILE: without the empty lines
	"$EXTRACT" "$1" 2>&1 | grep .
}

for file in head.*; do
	is "$(text_of "$file")" "note
body" "$file: a mail, however its header begins"
done
is "$("$EXTRACT" --json notes.txt fields.txt | jq -r .type | tr '\n' ' ')" \
	"text text " "what has fields of its own is a text"
is "$(text_of words.eml)" "€ and Grüße xПривет
body" "words of a subject: a character in two of them, a language"
is "$(text_of padding.eml)" "note
One.Two twothreefourfive" "padding inside of base64"
is "$(text_of quoted.eml)" "note
Привет
attached" "blanks around a boundary"
is "$("$EXTRACT" --json quoted.eml | jq -r '.members[].name')" café-a.txt \
	"a name in pieces"
is "$(text_of prefix.eml | tr '\n' ' ')" "note ONE --xy is a word TWO THREE " \
	"a boundary that begins like another one"
is "$(text_of page.mht)" PAGE "a page in one file: no style is text"
is "$("$EXTRACT" --json picture.eml | jq '.unread, .members')" "50
null" "... and a picture no member"
is "$("$EXTRACT" --json pgp.eml | jq -r .status)" encrypted "an encrypted text"
for file in lie unknown; do
	is "$(text_of $file.eml | tail -n 1)" "Plain: Grüße" \
		"$file.eml: UTF-8 that is called something else"
done
is "$(text_of meta.eml | tail -n 1)" Привет "a page that names its own set"
is "$("$EXTRACT" --json deep.eml | jq -c '[.status, .partial]')" \
	'["ok",true]' "what is too deep makes all around it partial"
is "$("$EXTRACT" --json dateless | jq '.members | length')" 2 \
	"a mailbox without dates"
is "$("$EXTRACT" --json bare.eml | jq -r .status)" damaged "no boundary"
is "$("$EXTRACT" --json inside.eml | jq -r '.members[] | .type + .status')" \
	mailok "a mail in a mail is a member"
is "$(text_of plain.eml | cut -c 1-5 | tail -n 1)" PLAIN "the plain alternative"
for file in blank nbsp stub; do
	is "$(text_of $file.eml | cut -c 1-4 | tail -n 1)" HTML \
		"$file.eml: the alternative that has the text"
done

for file in box box.crlf; do
	is "$(text_of $file | tr -d '\r')" "$(text_of 0.eml; text_of 1.eml;
		text_of 2.eml)" "$file: each mail"
	is "$("$EXTRACT" --json $file | jq -r \
		'.members[] | "\(.name) \(.type) \(.status)"' | tr '\n' ' ')" \
		"1 mail ok 2 mail ok 3 mail ok " "... is a member"
done
is "$(text_of sentence)" "note
One
From me to you: this is a sentence
and no mail
note
Two" "a sentence that begins with From is no mail"
finish
