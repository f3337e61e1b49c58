# SPDX-License-Identifier: Apache-2.0
"""A PDF whose page is drawn by 2^40 calls: its text takes as long as it may.
With an argument another one."""
import sys

out = [b"%PDF-1.4\n"]
def add(n, body):
    out.append(b"%d 0 obj%sendobj\n" % (n, body))
add(1, b"<</Type/Catalog/Pages 2 0 R>>")
add(2, b"<</Type/Pages/Kids[3 0 R]/Count 1>>")
add(3, b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R"
       b"/Resources<</XObject<</X 10 0 R>>>>>>")
add(4, b"<</Length 5>>stream\n/X Do\nendstream ")
for i in range(40):
    calls = b"/X Do /X Do" if i < 39 else b"q Q"
    add(10 + i, b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources"
                b"<</XObject<</X %d 0 R>>>>/Length %d>>stream\n%s\nendstream "
                % (11 + i, len(calls), calls))
out.append(b"trailer<</Root 1 0 R>>\n")
out.append(b"%%%s\n" % "".join(sys.argv[1:]).encode())
sys.stdout.buffer.write(b"".join(out))
