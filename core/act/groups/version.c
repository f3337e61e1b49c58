/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/groups/version.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

enum {
	OLD = 'a',
	ALPHA,
	DRAFT,
	CANDIDATE,
	NO_MARK,
	COPY,
	NUMBER,
	FINAL,
	VERSION = 'v', /* says nothing without the number behind it */
	OF = 'o',      /* Copy of ... */
};

/* Words for versions: lower case, in a few languages. */
static const struct {
	char mark;
	const char *words; /* with a space around each */
} vocabulary[] = {
	{ OLD, " old bak backup orig original previous sicherung ancien "
	       "antiguo vecchio старый старая старое 旧 ישן " },
	{ ALPHA, " alpha " },
	{ DRAFT, " draft beta wip entwurf brouillon borrador bozza rascunho "
		 "черновик 下書き 草稿 草案 טיוטה " },
	{ CANDIDATE, " rc review " },
	{ COPY, " copy kopie copie copia cópia копия コピー 副本 העתק עותק " },
	{ FINAL, " final finale finalversion endfassung endversion endgültig "
		 "définitif définitive definitivo definitiva финал "
		 "финальный финальная итог итоговый чистовик 最終 最終版 "
		 "最终 最终版 סופי סופית new neu latest revised signed " },
	{ VERSION, " v ver vers version versión versione versão r rev "
		   "revision fassung stand версия вер верс 版 גרסה גירסה " },
	{ OF, " of von de di del da " },
};

static char mark_of(const char *word, size_t len)
{
	char framed[32];
	size_t i;
	int n = snprintf(framed, sizeof(framed), " %.*s ", (int)len, word);

	for (i = 0; i < sizeof(vocabulary) / sizeof(vocabulary[0]); i++)
		if (len && (size_t)n < sizeof(framed) &&
		    strstr(vocabulary[i].words, framed))
			return vocabulary[i].mark;
	return 0;
}

/* Lower case, of ASCII, Latin-1 and Cyrillic; punctuation of Unicode becomes
 * spaces. */
static void fold(char *text)
{
	uint8_t *p;

	for (p = (uint8_t *)text; *p; p++) {
		if (*p < 0x80) {
			*p = (uint8_t)tolower(*p);
		} else if (*p == 0xc3 && p[1] >= 0x80 && p[1] <= 0x9e) {
			*++p |= 0x20;
		} else if (*p == 0xd0 && p[1] >= 0x80 && p[1] <= 0xaf) {
			*p |= p[1] < 0x90 || p[1] >= 0xa0;
			p[1] ^= p[1] < 0x90 ? 0x10 : 0x20;
			p++;
		} else if ((*p == 0xe2 || *p == 0xe3) && p[1] == 0x80 && p[2]) {
			memset(p, ' ', 3);
			p += 2;
		}
	}
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c & 0x80);
}

static size_t letters(const char *p)
{
	size_t len = 0;

	while (is_letter(p[len]))
		len++;
	return len;
}

static size_t digits(const char *p)
{
	return strspn(p, "0123456789");
}

/* ---- a path ---- */

struct reading {
	struct version *out;
	const char *begin; /* folded, and without the extension */
	char last;         /* mark of the part before; 0: a word */
	int err;
};

static void add(struct reading *r, struct buf *to, char before,
		const char *text, size_t len)
{
	if (!r->err)
		r->err =
			buf_append_format(to, "%c%.*s", before, (int)len, text);
}

static void add_word(struct reading *r, const char *text, size_t len)
{
	add(r, &r->out->stem, ' ', text, len);
	r->last = 0;
}

static void add_mark(struct reading *r, char mark)
{
	add(r, &r->out->marks, mark, "", 0);
	r->last = mark;
}

/* The length of a date, as 20240301, 2024-03-01 or 1.3.2024; 0: it is none. */
static size_t read_date(const char *p, int32_t *out)
{
	int y = 0, m = 0, d = 0, end = 0;
	char s[2] = "";
	size_t n = digits(p);

	if (n == 8)
		(void)sscanf(p, "%4d%2d%2d%n", &y, &m, &d, &end);
	else if (n == 4)
		(void)sscanf(p, "%4d%c%2d%c%2d%n", &y, &s[0], &m, &s[1], &d,
			     &end);
	else if (n < 3)
		(void)sscanf(p, "%2d.%2d.%4d%n", &d, &m, &y, &end);
	if (!end || s[0] != s[1] || (s[0] && !strchr("-_. ", s[0])) ||
	    is_digit(p[end]) || y < 1900 || y > 2099 || m < 1 || m > 12 ||
	    d < 1 || d > 31)
		return 0;
	*out = y * 10000 + m * 100 + d;
	return (size_t)end;
}

/* Whether no word goes on that began with the digits before. */
static bool is_end(const char *p)
{
	return !is_letter(*p) || mark_of(p, letters(p));
}

static const char *read_number(struct reading *r, const char *p)
{
	const char before = p > r->begin ? p[-1] : 0, *end = p + digits(p);
	int32_t date;
	char mark;
	size_t len = r->out->date ? 0 : read_date(p, &date);

	if (len) {
		r->out->date = date;
		r->last = NUMBER;
		return p + len;
	}
	while (*end == '.' && is_digit(end[1]) &&
	       is_end(end + 1 + digits(end + 1)))
		end += 1 + digits(end + 1);
	/* A word such as 4k, or the section of a manual page. */
	if (!is_end(end) || (before == '.' && !*end)) {
		end += letters(end);
		add_word(r, p, (size_t)(end - p));
		return end;
	}
	r->out->is_part |= !r->last && is_letter(before);
	mark = before == '(' && *end == ')' && end - p < 4 ? COPY : NUMBER;
	r->last = mark;
	for (; p < end; p += len + 1, mark = '~') {
		while (*p == '0' && is_digit(p[1]))
			p++;
		len = digits(p);
		add(r, &r->out->marks, mark, p, len);
	}
	return end;
}

static const char *read_word(struct reading *r, const char *p)
{
	size_t len = letters(p);
	const char *end = p + len,
		   *number = end + (len > 1 ? strspn(end, " ._-") : 0);
	char mark = mark_of(p, len);

	if (mark == VERSION && is_digit(*number))
		r->last = VERSION;
	else if (mark && mark <= FINAL)
		add_mark(r, mark);
	else if (mark != OF || r->last != COPY)
		add_word(r, p, len);
	return end;
}

/* Up to five letters and digits that are no mark. */
static bool is_extension(const char *p)
{
	size_t first = letters(p), len = first + digits(p + first);
	char mark = mark_of(p, first);

	len += letters(p + len);
	return len && len < 6 && !p[len] && len > digits(p) &&
	       (!mark || mark == OF || (mark == VERSION && len == first));
}

int version_read(const char *path, struct version *out)
{
	char *text = strdup(path), *base, *end, *dot;
	const char *p = text;
	struct reading r = { .out = out, .begin = text };
	bool is_old = false;

	*out = (struct version){ 0 };
	if (!text)
		return -ENOMEM;
	fold(text);
	base = strrchr(text, '/');
	base = base ? base + 1 : text;
	end = base + strlen(base);
	if (end > base + 1 && end[-1] == '~') {
		is_old = true;
		*--end = '\0';
	}
	dot = strrchr(base, '.');
	if (dot > base && mark_of(dot + 1, strlen(dot + 1)) == OLD) {
		is_old = true;
		*dot = '\0';
		dot = strrchr(base, '.');
	}
	if (dot > base && is_extension(dot + 1))
		*dot = '\0';
	while (*p)
		p = is_digit(*p)  ? read_number(&r, p) :
		    is_letter(*p) ? read_word(&r, p) :
				    p + 1;
	if (is_old)
		add_mark(&r, OLD);
	add_mark(&r, NO_MARK);
	add_word(&r, "", 0);
	free(text);
	return r.err;
}

void version_release(struct version *v)
{
	buf_release(&v->stem);
	buf_release(&v->marks);
}

int version_compare(const struct version *a, const struct version *b)
{
	return a->date != b->date ? (a->date > b->date) - (a->date < b->date) :
				    strverscmp(a->marks.data, b->marks.data);
}
