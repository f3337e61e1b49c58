/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/act/groups/groups.h"

/*
 * Which member of a group is the newest.  One criterion is taken for the whole
 * group, so that the order is one of all members: comparing two by their dates,
 * and one of them with a third by their names, can go in a circle.
 */

/* ---- the version that a name tells ---- */

/*
 * The version of a thing, as its name tells it.  A path without its extension is
 * words, dates and marks of a version, with anything but letters and digits
 * between; letter case does not count:
 *
 *	2024-03-01 Report (final).docx
 *	date 20240301, stem "report", mark final
 *
 * Two names of one stem are versions of one thing.  The marks are kept in their
 * order as text, a letter each, with the number behind it, and "e" ends them;
 * so that strverscmp() compares versions:
 *
 *	a old  b alpha  c draft  d candidate  e none  f copy  g number  h final
 *
 *	report_draft "ce" < report "e" < report (1) "f1e" < report_v2 "g2e"
 *	< report_v2_final "g2he" < report_v2.1 "g2~1e" < report_v10 "g10e"
 *	< report_final "he" < report_final_v2 "hg2e"
 */
struct version {
	char stem[320], marks[48];
	char last;    /* mark that was read last; 0: a word */
	int32_t date; /* YYYYMMDD; 0: none */
	bool is_part; /* a number follows a word at once: utf8 */
	bool is_long; /* there was no room, so it tells nothing */
};

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

/* How many letters p begins with. */
static size_t letters(const char *p)
{
	size_t len = 0;

	while ((p[len] >= 'a' && p[len] <= 'z') || p[len] & 0x80)
		len++;
	return len;
}

static size_t digits(const char *p)
{
	return strspn(p, "0123456789");
}

/* A mark, with the number behind it, or, if it is 0, a word. */
static void add(struct version *v, char mark, const char *text, size_t len)
{
	char *to = mark ? v->marks : v->stem;
	const size_t used = strlen(to),
		     room = (mark ? sizeof(v->marks) : sizeof(v->stem)) - used;

	v->is_long |=
		(size_t)snprintf(to + used, room, "%c%.*s", mark ? mark : ' ',
				 (int)len, text) >= room;
	v->last = mark;
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
	    digits(p + end) || y < 1900 || y > 2099 || m < 1 || m > 12 ||
	    d < 1 || d > 31)
		return 0;
	*out = y * 10000 + m * 100 + d;
	return (size_t)end;
}

/* Whether no word goes on that began with the digits before. */
static bool is_end(const char *p)
{
	return !letters(p) || mark_of(p, letters(p));
}

/* p[-1] is there, too. */
static const char *read_number(struct version *v, const char *p)
{
	const char *end = p + digits(p);
	int32_t date;
	char mark;
	size_t len = v->date ? 0 : read_date(p, &date);

	if (len) {
		v->date = date;
		v->last = NUMBER;
		return p + len;
	}
	while (*end == '.' && digits(end + 1) &&
	       is_end(end + 1 + digits(end + 1)))
		end += 1 + digits(end + 1);
	/* A word such as 4k, or the section of a manual page. */
	if (!is_end(end) || (p[-1] == '.' && !*end)) {
		end += letters(end);
		add(v, 0, p, (size_t)(end - p));
		return end;
	}
	v->is_part |= !v->last && letters(p - 1);
	mark = p[-1] == '(' && *end == ')' && end - p < 4 ? COPY : NUMBER;
	for (len = 0; p < end; p += len + 1) {
		while (*p == '0' && digits(p + 1))
			p++;
		add(v, len ? '~' : mark, p, digits(p));
		len = digits(p);
	}
	v->last = mark;
	return end;
}

static const char *read_word(struct version *v, const char *p)
{
	size_t len = letters(p);
	const char *end = p + len,
		   *number = end + (len > 1 ? strspn(end, " ._-") : 0);
	char mark = mark_of(p, len);

	if (mark == VERSION && digits(number))
		v->last = VERSION;
	else if (mark && mark <= FINAL)
		add(v, mark, "", 0);
	else if (mark != OF || v->last != COPY)
		add(v, 0, p, len);
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

static void version_read(const char *path, struct version *out)
{
	char text[1 + sizeof(out->stem)], *base, *end, *dot;
	const char *p = text + 1;
	bool is_old = false;

	*out = (struct version){ .is_long = strlen(path) >= sizeof(out->stem) };
	(void)snprintf(text, sizeof(text), "/%s", path);
	fold(text);
	base = strrchr(text, '/') + 1;
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
		p = digits(p)  ? read_number(out, p) :
		    letters(p) ? read_word(out, p) :
				 p + 1;
	if (is_old)
		add(out, OLD, "", 0);
	add(out, NO_MARK, "", 0);
}

/* Negative: a is older than b, of one stem. */
static int version_compare(const struct version *a, const struct version *b)
{
	return a->date == b->date ? strverscmp(a->marks, b->marks) :
				    compare_numbers(a->date, b->date);
}

/* ---- members ---- */

struct aged {
	struct found_member member;
	struct version version; /* if the names are the criterion */
	int64_t mtime_ns;
};

/* Copying makes the time of change later, never earlier. */
static int64_t first_change(const struct found_member *m)
{
	int64_t first = m->files->mtime_ns;
	size_t i;

	for (i = 1; i < m->file_count; i++)
		if (m->files[i].mtime_ns < first)
			first = m->files[i].mtime_ns;
	return first;
}

/* The newest version among all names of a member.  False: not all are names of
 * versions of one thing, that of like.  whole: together with the directories. */
static bool read_names(const struct found_member *m, bool whole,
		       const struct version *like, struct version *newest)
{
	struct version v;
	const char *name, *base;
	size_t i, k;

	for (i = 0; i < m->file_count; i++)
		for (k = 0; k < m->files[i].name_count; k++) {
			name = m->files[i].names[k];
			base = strrchr(name, '/');
			version_read(base && !whole ? base + 1 : name, &v);
			if (!i && !k)
				*newest = v;
			if (strcmp(like->stem, v.stem) ||
			    !like->date != !v.date || like->is_long ||
			    v.is_long)
				return false;
			if (version_compare(newest, &v) < 0)
				*newest = v;
		}
	return true;
}

/* Negative: x is older, by that. */
static int compare(enum found_order by, const struct aged *x,
		   const struct aged *y)
{
	return by == FOUND_BY_DOCUMENT_DATE ?
		       compare_numbers(x->member.document_date,
				       y->member.document_date) :
	       by == FOUND_BY_NAME ? version_compare(&x->version, &y->version) :
				     compare_numbers(x->mtime_ns, y->mtime_ns);
}

/* Whether that is a criterion; whole: of the names, with their directories.
 * Numbers that belong to the words, as in utf8 and utf16, are no versions; in
 * thesis, thesis2 they are. */
static bool tells(enum found_order by, struct aged *all, size_t count,
		  bool whole)
{
	bool differs = false, has_part = false, has_plain = false;
	struct aged *m;

	for (m = all; m < all + count; m++) {
		if ((by == FOUND_BY_DOCUMENT_DATE &&
		     !m->member.document_date) ||
		    (by == FOUND_BY_NAME &&
		     !read_names(&m->member, whole, &all->version,
				 &m->version)))
			return false;
		differs |= compare(by, m, all) != 0;
		has_part |= m->version.is_part;
		has_plain |= !m->version.marks[1];
	}
	return differs && (by != FOUND_BY_NAME || has_plain || !has_part);
}

/* The newest is the first. */
static int by_age(const void *a, const void *b, void *order)
{
	const struct aged *x = a, *y = b;
	int result = compare(*(enum found_order *)order, y, x);

	if (!result)
		result = compare(FOUND_BY_MTIME, y, x);
	return result ? result :
			strcmp(x->member.files->names[0],
			       y->member.files->names[0]);
}

int found_group_order(struct found_group *group, enum found_order *out)
{
	const size_t count = group->count;
	struct aged *all = calloc(count + 1, sizeof(*all));
	size_t i;

	if (!all)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		all[i].member = group->members[i];
		all[i].mtime_ns = first_change(&all[i].member);
	}
	*out = tells(FOUND_BY_DOCUMENT_DATE, all, count, false) ?
		       FOUND_BY_DOCUMENT_DATE :
	       tells(FOUND_BY_NAME, all, count, false) ||
			       tells(FOUND_BY_NAME, all, count, true) ?
		       FOUND_BY_NAME :
	       tells(FOUND_BY_MTIME, all, count, false) ? FOUND_BY_MTIME :
							  FOUND_BY_NOTHING;
	if (*out != FOUND_BY_NOTHING)
		qsort_r(all, count, sizeof(*all), by_age, out);
	for (i = 0; i < count; i++)
		group->members[i] = all[i].member;
	free(all);
	return 0;
}
