#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin-extract: HTML as programs and people write it.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

EXTRACT=${KIN%/*}/kin-extract
cd "$T" || exit 1
python3 - <<'END' || bail "pages are made" "no"
def save(name, text):
    with open(name, 'wb') as file:
        file.write(text if isinstance(text, bytes) else text.encode())


page = ('<head><title>t</title><style>.x{color:red}</style><script>if (a<b) '
        'document.write("</b><p>gone</p>");</script></head><body><p class="x" '
        'title="a > b">body</p><p>two</p></body></html>')
for name, text in {
        'doctype': '<!DOCTYPE html>\n<html lang="en">' + page,
        'comment': '<!-- saved from url=(0014)about:internet -->\n<html>' + page,
        'long': '<!-- ' + 'licence ' * 900 + '-->\n<html>' + page,
        'conditional': '<!--[if IE]><html class="ie"><![endif]-->\n<html>' + page,
        'head': page, 'title': page[6:], 'body': page[page.index('<body'):],
        'upper': '<!DOCTYPE HTML PUBLIC "x">\n<HTML>' + page,
        'bom': '\ufeff<html>' + page, 'blank': '\n\n  <html>' + page,
        'xml': '<?xml version="1.0"?>\n<!DOCTYPE html>\n<html>' + page,
        'spaced': '<!DOCTYPE   \n html>' + page,
        'far': '<?xml version="1.0"?><!-- ' + 'x' * 5000 + ' --><html>' + page,
        'utf16': ('<html>' + page).encode('utf-16'),
        'meta': '<meta charset=iso-8859-1>' + page}.items():
    save('page.' + name, text)
save('entities', '<html>&lt;p&gt; &alpha;&rarr;&hearts; &#128512;&#xe4; &unknown; '
     'AT&T &amp;amp;')
save('markup', '<html><p>one<br>two<b>bo</b>ld<!-- <p>gone</p> --><textarea>area'
     '</textarea><table><tr><td>cell<td>next</table><ruby>text<rp>(<rt>spoken'
     '</ruby>')
save('declared', '<html><![if !mso]><p>shown<![endif]><![CDATA[gone]]><p>also'
     '<iframe>gone</iframe>')
save('late', ('<html><title>' + 't' * 3000 + '</title><meta charset=koi8-r>' +
              '\u041f\u0440\u0438\u0432\u0435\u0442').encode('koi8-r'))
save('deep', '<html>' + '<div>' * 200000 + 'deep')
save('tangled', '<html>' + '<b><i><a><table><td>' * 20000 + 'deep')
save('prose.md', '<p align="center">\n# A title\n')
save('project.xml', '<!-- ' + 'licence ' * 900 + '-->\n<project>x</project>\n')
END

for file in page.*; do
	is "$("$EXTRACT" "$file" 2>&1 | grep .)" "body
two" "$file: no tag, script or style is text"
	is "$("$EXTRACT" --json "$file" | jq -r .type)" html "... of HTML"
done
is "$("$EXTRACT" entities | grep .)" '<p> α→♥ 😀ä &unknown; AT&T &amp;' entities
is "$("$EXTRACT" markup | grep . | tr '\n' ' ')" \
	"one twobold area cell next text " "what ends a line, and what does not"
is "$("$EXTRACT" declared | grep . | tr '\n' ' ')" "shown also " \
	"declarations are no text"
is "$("$EXTRACT" late | grep .)" Привет "a set that is named behind much"
for file in deep tangled; do
	is "$("$EXTRACT" $file 2>&1 | grep .)" deep "$file: elements without end"
done
is "$("$EXTRACT" --json prose.md project.xml | jq -r .type | tr '\n' ' ')" \
	"text text " "other markup is text"
finish
