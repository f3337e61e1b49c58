/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/eval/corpus.h"
#include "tests/eval/eval.h"
#include "tests/eval/report.h"

/*
 * Copies of the ASCII texts of the corpus in another layout or encoding, which
 * are asked for among all contents.
 */
#define LEAST_BYTES 500
#define MOST_BYTES (256 * KIB)
#define SAMPLE 600 /* texts */
#define SAME 90    /* the score of a copy */
#define GROWTH 10  /* no copy is so many times as large */

struct asking {
	const struct report *r;
	struct fingerprint *fingerprint;
};

/* ---- kinds of copies ---- */

static void add_bytes(struct bytes *to, const char *bytes, size_t len)
{
	memcpy(to->data + to->len, bytes, len);
	to->len += len;
}

/* In lines of up to 40 bytes, if words are no longer. */
static void wrap(struct bytes from, struct bytes *to)
{
	size_t i, column = 0;

	for (i = 0; i < from.len; i++, column++) {
		bool ends = from.data[i] == ' ' && column >= 40;
		char byte = ends                 ? '\n' :
			    from.data[i] == '\n' ? ' ' :
						   (char)from.data[i];

		add_bytes(to, &byte, 1);
		column = ends ? 0 : column;
	}
}

static void end_lines(struct bytes from, struct bytes *to, const char *with)
{
	size_t i;

	for (i = 0; i < from.len; i++)
		if (from.data[i] == '\n')
			add_bytes(to, with, strlen(with));
		else
			add_bytes(to, (const char *)from.data + i, 1);
}

static void to_dos(struct bytes from, struct bytes *to)
{
	end_lines(from, to, "\r\n");
}

static void indent(struct bytes from, struct bytes *to)
{
	end_lines(from, to, "\n    ");
}

static void replace(struct bytes from, struct bytes *to, char old, char fresh)
{
	size_t i;

	add_bytes(to, (const char *)from.data, from.len);
	for (i = 0; i < to->len; i++)
		if (to->data[i] == (uint8_t)old)
			to->data[i] = (uint8_t)fresh;
}

static void set_tabs(struct bytes from, struct bytes *to)
{
	replace(from, to, ' ', '\t');
}

static void separate(struct bytes from, struct bytes *to)
{
	replace(from, to, ',', ';');
}

/* Texts of the corpus that are not of ASCII are left out. */
static void widen(struct bytes from, struct bytes *to, size_t low, size_t width)
{
	char unit[4] = { 0 };
	size_t i;

	for (i = 0; i < from.len; i++) {
		unit[low] = (char)from.data[i];
		add_bytes(to, unit, width);
	}
}

static void to_utf16le(struct bytes from, struct bytes *to)
{
	add_bytes(to, "\377\376", 2);
	widen(from, to, 0, 2);
}

static void to_utf16be(struct bytes from, struct bytes *to)
{
	widen(from, to, 1, 2);
}

static void to_utf32le(struct bytes from, struct bytes *to)
{
	widen(from, to, 0, 4);
}

/* Each member, element and tag in a line of its own. */
static void print_pretty(struct bytes from, struct bytes *to)
{
	size_t i;

	for (i = 0; i < from.len; i++) {
		add_bytes(to, (const char *)from.data + i, 1);
		if (strchr("{[,>", from.data[i]))
			add_bytes(to, "\n    ", 5);
		else if (from.data[i] == ':')
			add_bytes(to, " ", 1);
	}
}

/* Zero bytes in front, behind, and spaces at the ends of lines. */
static void pad(struct bytes from, struct bytes *to)
{
	static const char zeros[512];

	add_bytes(to, zeros, sizeof(zeros));
	end_lines(from, to, "   \n");
	add_bytes(to, zeros, sizeof(zeros));
}

static const struct {
	const char *name;
	void (*make)(struct bytes from, struct bytes *to);
	bool is_promised;
} kinds[] = {
	{ "wrapped", wrap, true },        { "CR LF", to_dos, true },
	{ "indented", indent, true },     { "tabs", set_tabs, true },
	{ "pretty", print_pretty, true }, { "padded", pad, true },
	{ "UTF-16LE", to_utf16le, true }, { "UTF-16BE", to_utf16be, true },
	{ "UTF-32LE", to_utf32le, true }, { "separator", separate, false },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- asking ---- */

static void sketch_of(const struct asking *a, struct bytes b,
		      struct sketch *out)
{
	struct digests d;

	digest_content(a->fingerprint, &b, &d);
	fail_errno("sketch", digests_sketch(&d, out));
	digests_release(&d);
}

static bool is_found(const struct asking *a, struct bytes copy, size_t file)
{
	static struct index_match matches[INDEX_MATCHES];
	static struct sketch sketch;
	size_t count, i;

	sketch_of(a, copy, &sketch);
	count = listing_find_matches(a->r->corpus, a->r->ix, &sketch, SIZE_MAX,
				     &a->r->listings[0].rules, matches);
	for (i = 0; i < count; i++)
		if (matches[i].content == file + 1)
			return matches[i].verdict.score >= SAME;
	return false;
}

static void ask_copies(const struct asking *a, size_t file, struct bytes b,
		       struct mean found[KINDS][COLUMNS])
{
	struct bytes copy = { .data = allocate(GROWTH * b.len + 2048) };
	size_t i;

	for (i = 0; i < KINDS; i++) {
		copy.len = 0;
		kinds[i].make(b, &copy);
		mean_add(found[i], size_class(b.len), is_found(a, copy, file));
	}
	free(copy.data);
}

/* ---- the table ---- */

static bool is_wanted(const struct corpus *c, size_t file, struct bytes *out)
{
	const struct digests *d = &c->files[file].digests;
	size_t i;

	if (d->size < LEAST_BYTES || d->size > MOST_BYTES)
		return false;
	*out = corpus_read(c, file);
	for (i = 0; i < out->len && out->data[i] && out->data[i] < 0x80; i++)
		;
	if (i == out->len)
		return true;
	free(out->data);
	return false;
}

/* Of the classes that have a text, the one that is served worst, in per cent. */
static double worst_of(const struct mean found[KINDS][COLUMNS])
{
	double worst = 100;
	size_t i, k;

	for (k = 0; k < KINDS; k++)
		for (i = 0; i < SIZE_CLASSES; i++)
			if (kinds[k].is_promised && found[k][i].count &&
			    100 * mean_of(&found[k][i]) < worst)
				worst = 100 * mean_of(&found[k][i]);
	return worst;
}

void report_reformatted(struct report *r)
{
	struct asking a = { .r = r };
	struct mean found[KINDS][COLUMNS] = { 0 };
	size_t step = r->corpus->count / SAMPLE + 1, i;
	struct bytes b;

	fail_errno("digests",
		   fingerprint_new(DIGEST_BIT(DIGEST_SIF), &a.fingerprint));
	for (i = 0; i < r->corpus->count; i += step) {
		if (!is_wanted(r->corpus, i, &b))
			continue;
		ask_copies(&a, i, b, found);
		free(b.data);
	}
	printf("\nCopies of a text in another layout or encoding that are "
	       "listed with %d or more, %%\n",
	       SAME);
	print_head("");
	for (i = 0; i < KINDS; i++)
		print_means(kinds[i].name, "", found[i], 100);
	print_counts("", "texts", found[0]);
	figures_add(&r->figures, worst_of(found), "reformatted.%d", SAME);
	fingerprint_free(a.fingerprint);
}
