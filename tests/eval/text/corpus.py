# SPDX-License-Identifier: Apache-2.0
"""corpus.py DIRECTORY: the documents of make eval-text.

Paragraphs come from the Debian Administrator's Handbook and from licences and
translated messages of this machine.  Each base is written in every format, each
edited version in some; forms are filled in.  Everything is drawn from seeds.

DIRECTORY/files says of each document: its path, the path of its text, the path
of the form that it was made from ("-": none), its family and its set.  The text
is what a reader sees, in NFKC.
"""
import gettext
import glob
import html
import os
import random
import re
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

HANDBOOK = "/usr/share/doc/debian-handbook/html/%s/sect.*.html"
MESSAGES = "/usr/share/locale/he/LC_MESSAGES/*.mo"
LICENCES = "/usr/share/common-licenses/"

# language: how many bases, characters that its own paragraphs have
LANGUAGES = {
    "en-US": (8, "[a-z]"),
    "de-DE": (5, "[a-zäöüß]"),
    "ru-RU": (5, "[а-я]"),
    "ja-JP": (5, "[\u3040-\u30ff]"),
}
ENCODINGS = {
    "en-US": ["utf-16"],
    "de-DE": ["latin-1", "utf-16", "utf-16-le"],
    "ru-RU": ["koi8-r", "cp1251", "utf-16"],
    "ja-JP": ["shift_jis", "euc_jp", "utf-16-be"],
    "he-IL": ["cp1255", "utf-16"],
    "licence": ["utf-16"],
}
SHARES = [95, 90, 80, 60]
FORMATS = ["md", "html", "odt", "docx", "rtf", "epub"]


# ---- material ----

def clean(text):
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", "", text))).strip()


def paragraphs_of(path, letters):
    with open(path, encoding="utf-8") as f:
        found = re.findall(r'<div class="para">(.*?)</div>', f.read(), re.S)
    texts = [clean(p) for p in found if "<div" not in p]
    return [p for p in texts if len(p) > 40 and
            len(re.findall(letters, p)) > len(p) / 4]


def chapters(language, count, letters):
    """The longest chapters, cut to 40 paragraphs."""
    all_of = [paragraphs_of(p, letters)
              for p in sorted(glob.glob(HANDBOOK % language))]
    all_of = sorted((c for c in all_of if len(c) >= 8), key=len)
    return [c[:40] for c in all_of[-2 * count:][:count]], \
        sum((c for c in all_of[:-2 * count]), [])


def messages():
    """Hebrew sentences, in paragraphs of five."""
    texts = []
    for path in sorted(glob.glob(MESSAGES)):
        with open(path, "rb") as f:
            for text in gettext.GNUTranslations(f)._catalog.values():
                text = clean(str(text))
                if len(re.findall("[א-ת]", text)) > 25:
                    texts.append(text)
    texts = list(dict.fromkeys(texts))
    random.Random("he").shuffle(texts)
    lines = [" ".join(texts[i:i + 5]) for i in range(0, len(texts) - 4, 5)]
    return [lines[i * 15:i * 15 + 15] for i in range(4)], lines[60:]


def licences():
    made = []
    for name in ["GPL-2", "Artistic", "Apache-2.0", "GFDL-1.3"]:
        with open(LICENCES + name, encoding="utf-8") as f:
            made.append([clean(p) for p in f.read().split("\n\n")
                         if len(p) > 40][:40])
    return made


# ---- edits ----

def keep_paragraphs(paragraphs, share, others, rng):
    """Others take the place of paragraphs until so much is left."""
    total = sum(map(len, paragraphs))
    kept, left = list(paragraphs), total
    order = list(range(len(kept)))
    rng.shuffle(order)
    for i in order:
        if left - len(paragraphs[i]) >= total * share / 100:
            left -= len(paragraphs[i])
            kept[i] = rng.choice(others)[:len(paragraphs[i])]
    return kept


def change_words(paragraphs, share, others, rng):
    words = " ".join(others[:200]).split()
    return [" ".join(w if rng.random() * 100 < share else rng.choice(words)
                     for w in p.split()) for p in paragraphs]


# ---- forms ----

def fill(form, values):
    return [re.sub(r"\{(\w+)\}", lambda m: str(values.get(m[1], "")), p)
            for p in form]


INVOICE = [
    "Invoice", "Northern Paper Company, 12 Harbour Street, Newport.",
    "To: Margaret Ashdown, 4 Mill Lane, Oldbridge. Customer number 30711.",
    "Invoice number {number} of {day} {month} 1924.",
    "For the goods that were delivered to you we allow ourselves to charge "
    "the following amounts:",
    "{a}", "{b}", "{c}", "{d}", "{e}", "{f}", "{g}", "{h}",
    "Sum: {sum} pounds. Value added tax: {tax} pounds. "
    "Total: {total} pounds.",
    "Please transfer the total within thirty days to our account at the "
    "Newport Savings Bank. The goods remain ours until they are paid in full.",
    "Yours faithfully, Northern Paper Company",
]
LETTER = [
    "Northern Paper Company, 12 Harbour Street, Newport.",
    "{name}, {street}.", "Dear {name},",
    "we thank you for your letter of {day} {month} and gladly answer it.",
    "{body}", "{more}",
    "We hope that this answers your question, and remain at your service "
    "for whatever else you may need.",
    "Yours faithfully, the secretary of the Northern Paper Company",
]
MANUAL = [
    "The interface {word}", "This document tells how programs use the "
    "interface {word}. It is meant for those who know the system.",
    "Description", "{body}", "{more}", "Parameters", "{a}", "{b}", "{c}",
    "Return value", "On success 0 is returned; on failure -1, and errno "
    "says why. The caller may try again when it was interrupted.",
    "Errors", "{d}", "{e}", "See also",
    "The introduction to all interfaces, and the list of errors.",
]
MONTHS = ["January", "February", "March", "April", "May", "June", "July",
          "August", "September", "October", "November", "December"]


def invoices(form, words, rng):
    for month in MONTHS:
        values = {"number": rng.randrange(1000, 9999), "month": month,
                  "day": rng.randrange(1, 28), "sum": rng.randrange(90, 900),
                  "tax": rng.randrange(9, 90), "total": rng.randrange(99, 990)}
        for key in "abcdefgh":
            values[key] = "%d reams of %s %s at %d.%02d" % (
                rng.randrange(2, 40), rng.choice(words), rng.choice(words),
                rng.randrange(1, 9), rng.randrange(100))
        yield fill(form, values)


def letters(others, words, rng):
    for month in MONTHS:
        yield fill(LETTER, {
            "name": " ".join(rng.sample(words, 2)).title(), "month": month,
            "street": "%d %s Street" % (rng.randrange(99), rng.choice(words)),
            "day": rng.randrange(1, 28), "body": rng.choice(others),
            "more": rng.choice(others)})


def manuals(others, words, rng):
    for _ in range(8):
        values = {key: rng.choice(others) for key in "abcde"}
        values.update(word=rng.choice(words), body=rng.choice(others),
                      more=rng.choice(others))
        yield fill(MANUAL, values)


def contracts(paragraphs, words, rng):
    for _ in range(6):
        made = [p.split() for p in paragraphs]
        for _ in range(10):
            p = rng.choice(made)
            p[rng.randrange(len(p))] = rng.choice(words)
        yield [" ".join(p) for p in made]


# ---- documents ----

class Corpus:
    def __init__(self, root):
        self.root = root
        self.lines, self.commands = [], []
        self.office = {}  # format to documents that LibreOffice converts
        for name in ("text", "docs"):
            os.makedirs(os.path.join(root, name))

    def write(self, path, data):
        with open(os.path.join(self.root, path), "wb") as f:
            f.write(data)

    def text(self, name, paragraphs):
        path = "text/" + name
        body = "\n\n".join(paragraphs) + "\n"
        self.write(path, unicodedata.normalize("NFKC", body).encode())
        return path, body

    def add(self, path, text, form, family, what):
        self.lines.append("\t".join((path, text, form, family, what)))

    def document(self, name, paragraphs, family, what, formats, form="-",
                 encodings=()):
        """Formats: those of pandoc, and "pdf", "odt+", ... of LibreOffice."""
        text, body = self.text(name, paragraphs)
        # A first line that is a heading, and one list.
        source = "# " + re.sub(r"([\\`*_#<>$\[\]~^|@])", r"\\\1",
                               body.replace("...", "…"))
        self.write("text/" + name + ".md", source.encode())
        if "md" in formats:
            self.write("docs/" + name + ".md", source.encode())
            self.add("docs/" + name + ".md", text, form, family, what)
        self.write("docs/" + name + ".txt", body.encode())
        self.add("docs/" + name + ".txt", text, form, family, what)
        for encoding in encodings:
            path = "docs/%s.%s.txt" % (name, encoding)
            self.write(path, body.encode(encoding, "ignore"))
            self.add(path, text, form, family, what)
        needed = {f.rstrip("+") for f in formats} - {"pdf", "md"}
        if "pdf" in formats or any(f.endswith("+") for f in formats):
            needed.add("docx")
        for kind in sorted(needed):
            path = "docs/%s.%s" % (name, kind)
            self.commands.append(
                ["pandoc", "-s", "--metadata", "title= ", "-f",
                 "markdown-smart", "-o", path, "text/" + name + ".md"] +
                (["--metadata", "dir=rtl"] if family.startswith("he") else []))
            self.add(path, text, form, family, what)
        for kind in formats:
            if kind == "pdf" or kind.endswith("+"):
                kind = kind.rstrip("+")
                self.office.setdefault(kind, []).append(name)
                self.add("docs/office/%s.%s" % (name, kind), text, form, family,
                         what)

    def run(self, command):
        subprocess.run(command, cwd=self.root, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def make(self):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self.run, self.commands))
        profile = "file://" + os.path.join(os.path.abspath(self.root),
                                           "profile")
        for kind, names in self.office.items():
            for at in range(0, len(names), 100):
                self.run(["soffice", "-env:UserInstallation=" + profile,
                          "--headless", "--convert-to", kind, "--outdir",
                          "docs/office"] + ["docs/%s.docx" % n
                                       for n in names[at:at + 100]])
        with open(os.path.join(self.root, "files"), "w") as f:
            f.write("\n".join(self.lines) + "\n")


def add_family(corpus, language, number, paragraphs, others):
    family = "%s-%d" % (language, number)
    rng = random.Random(family)
    corpus.document(family, paragraphs, family, "equal",
                    FORMATS + ["pdf", "odt+", "docx+", "rtf+"],
                    encodings=ENCODINGS[language])
    formats = [["docx", "pdf"], ["odt", "pdf"], ["rtf", "pdf"],
               ["epub", "html"]]
    for i, share in enumerate(SHARES):
        corpus.document("%s.%d" % (family, share),
                        keep_paragraphs(paragraphs, share, others, rng),
                        family, "version", formats[(i + number) % 4])
    corpus.document(family + ".w", change_words(paragraphs, 98, others, rng),
                    family, "version", ["docx", "pdf"])


def main(root):
    corpus = Corpus(root)
    others_of = {}
    for language, (count, letters_of) in LANGUAGES.items():
        bases, others_of[language] = chapters(language, count, letters_of)
        for i, base in enumerate(bases):
            add_family(corpus, language, i, base, others_of[language])
    bases, others_of["he-IL"] = messages()
    for i, base in enumerate(bases):
        add_family(corpus, "he-IL", i, base, others_of["he-IL"])
    for i, base in enumerate(licences()):
        add_family(corpus, "licence", i, base, others_of["en-US"])

    others = others_of["en-US"]
    words = sorted(set(re.findall("[a-z]{4,12}", " ".join(others))))
    rng = random.Random("forms")
    contract, terms = licences()[:2]
    terms = INVOICE + terms[:10]
    for what, form, made in (
            ("invoice", INVOICE, invoices(INVOICE, words, rng)),
            ("invoice with terms", terms, invoices(terms, words, rng)),
            ("letter", LETTER, letters(others, words, rng)),
            ("manual", MANUAL, manuals(others, words, rng)),
            ("contract", contract, contracts(contract, words, rng))):
        name = what.replace(" ", "-")
        path, _ = corpus.text(name + ".form", fill(form, {}))
        for i, paragraphs in enumerate(made):
            corpus.document("%s-%d" % (name, i), paragraphs,
                            "%s-%d" % (name, i), what, ["docx", "pdf"], path)
    corpus.make()


main(sys.argv[1])
