/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/text/text_sif.h"
#include "core/index/texts.h"
#include "tests/eval/eval.h"
#include "tests/eval/report.h"

/*
 * Copies of the texts of the corpus in another layout or encoding, which are
 * asked for in an index of these texts; and what is listed for the texts
 * themselves: unrelated are those whose normalised texts are.
 */
#define LEAST_BYTES 500
#define MOST_BYTES (256 * KIB)
#define SAMPLE 600 /* texts */
#define SAME 90    /* the score of a copy */
#define LISTED 60
#define GROWTH 5 /* no copy is so many times as large */

struct asking {
	const struct corpus *corpus;
	struct index *texts;
	struct fingerprint *fingerprint; /* of texts alone */
};

static int fetch(void *arg, uint32_t content, struct sif_sketch *out)
{
	const struct corpus *c = arg;
	const char *text = c->files[content - 1].digests.text[DIGEST_TEXT];

	return text ? sif_parse(text, strlen(text), out) : -ENOENT;
}

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

static const struct {
	const char *name;
	void (*make)(struct bytes from, struct bytes *to);
} kinds[] = {
	{ "wrapped", wrap },        { "CR LF", to_dos },
	{ "indented", indent },     { "tabs", set_tabs },
	{ "separator", separate },  { "UTF-16LE", to_utf16le },
	{ "UTF-16BE", to_utf16be }, { "UTF-32LE", to_utf32le },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- asking ---- */

static size_t ask(const struct asking *a, const struct sif_sketch *sketch,
		  struct index_match *out)
{
	const struct index_store store = { .sketch = fetch,
					   .arg = (void *)a->corpus };
	struct digests d = texts_digests(sketch);
	struct index_query query = { .digests = &d,
				     .sketch = sketch,
				     .relation = INDEX_TEXT,
				     .first_content = 1,
				     .least = LISTED };
	size_t count;

	fail_errno("search",
		   index_search(a->texts, &query, &store, out, &count));
	return count;
}

static bool sketch_of(const struct asking *a, struct bytes b,
		      struct sif_sketch *out)
{
	struct digests d;
	const char *text;
	bool has;

	fail_errno("digests", fingerprint_begin(a->fingerprint));
	fail_errno("digests",
		   fingerprint_update(a->fingerprint, b.data, b.len));
	fail_errno("digests", fingerprint_final(a->fingerprint, &d));
	text = d.text[DIGEST_TEXT];
	has = text && !sif_parse(text, strlen(text), out);
	digests_release(&d);
	return has;
}

static bool is_found(const struct asking *a, struct bytes copy, size_t file)
{
	static struct index_match matches[INDEX_MATCHES];
	static struct sif_sketch sketch;
	size_t count, i;

	if (!sketch_of(a, copy, &sketch))
		return false;
	count = ask(a, &sketch, matches);
	for (i = 0; i < count; i++)
		if (matches[i].content == file + 1)
			return matches[i].score >= SAME;
	return false;
}

static void ask_copies(const struct asking *a, size_t file, struct bytes b,
		       struct mean found[KINDS][COLUMNS])
{
	struct bytes copy = { .data = allocate(GROWTH * b.len + 8) };
	size_t i;

	for (i = 0; i < KINDS; i++) {
		copy.len = 0;
		kinds[i].make(b, &copy);
		mean_add(found[i], size_class(b.len), is_found(a, copy, file));
	}
	free(copy.data);
}

/* ---- what is unrelated ---- */

static void take(void *arg, const uint8_t *bytes, size_t len)
{
	struct bytes *text = arg;

	text->data = realloc(text->data, text->len + len);
	if (!text->data)
		fail("text: no memory");
	memcpy(text->data + text->len, bytes, len);
	text->len += len;
}

static void normalise(const struct corpus *c, size_t file, struct windows *out)
{
	static struct text_stream stream;
	struct bytes b = corpus_read(c, file), text = { 0 };

	text_stream_begin(&stream, take, &text);
	text_stream_update(&stream, b.data, b.len);
	(void)text_stream_end(&stream);
	windows_init(out, text.data, text.len);
	free(text.data);
	free(b.data);
}

static void count_unrelated(const struct asking *a, size_t file,
			    struct mean *unrelated)
{
	static struct index_match matches[INDEX_MATCHES];
	static struct sif_sketch sketch;
	struct windows own, other;
	struct truth truth;
	size_t count, i;

	fail_errno("sketch",
		   fetch((void *)a->corpus, (uint32_t)file + 1, &sketch));
	normalise(a->corpus, file, &own);
	count = ask(a, &sketch, matches);
	for (i = 0; i < count; i++) {
		size_t found = matches[i].content - 1;

		if (found == file)
			continue;
		normalise(a->corpus, found, &other);
		truth = truth_of(&own, &other);
		unrelated->sum += truth_is_unrelated(&truth);
		unrelated->count++;
		windows_release(&other);
	}
	windows_release(&own);
}

/* ---- the table ---- */

static struct index *index_texts(const struct corpus *c)
{
	static struct sif_sketch sketch;
	struct index *ix;
	size_t i;

	fail_errno("index", index_new(&ix));
	for (i = 0; i < c->count; i++)
		if (!fetch((void *)c, (uint32_t)i + 1, &sketch))
			fail_errno("index",
				   texts_add(ix, (uint32_t)i + 1, &sketch));
	return ix;
}

static bool is_wanted(const struct corpus *c, size_t file, struct bytes *out)
{
	const struct digests *d = &c->files[file].digests;
	size_t i;

	if (!d->text[DIGEST_TEXT] || d->size < LEAST_BYTES ||
	    d->size > MOST_BYTES)
		return false;
	*out = corpus_read(c, file);
	for (i = 0; i < out->len && out->data[i] < 0x80; i++)
		;
	if (i == out->len)
		return true;
	free(out->data);
	return false;
}

static void ask_all(const struct asking *a, struct mean found[KINDS][COLUMNS],
		    struct mean *unrelated)
{
	size_t step = a->corpus->count / SAMPLE + 1, i;
	struct bytes b;

	for (i = 0; i < a->corpus->count; i += step) {
		if (!is_wanted(a->corpus, i, &b))
			continue;
		ask_copies(a, i, b, found);
		count_unrelated(a, i, unrelated);
		free(b.data);
	}
}

/* Of the classes that have a text, the one that is served worst, in per cent. */
static double worst_of(const struct mean found[KINDS][COLUMNS])
{
	double worst = 100;
	size_t i, k;

	for (k = 0; k < KINDS; k++)
		for (i = 0; i < SIZE_CLASSES; i++)
			if (found[k][i].count &&
			    100 * mean_of(&found[k][i]) < worst)
				worst = 100 * mean_of(&found[k][i]);
	return worst;
}

void report_reformatted(struct report *r)
{
	struct asking a = { .corpus = r->corpus,
			    .texts = index_texts(r->corpus) };
	struct mean found[KINDS][COLUMNS] = { 0 }, unrelated = { 0 };
	double per_thousand;
	size_t i;

	fail_errno("digests",
		   fingerprint_new(DIGEST_BIT(DIGEST_TEXT), &a.fingerprint));
	ask_all(&a, found, &unrelated);
	per_thousand = unrelated.count ? 1000 * mean_of(&unrelated) : 0;
	printf("\nCopies of a text in another layout or encoding that are "
	       "listed with %d or more, %%\n",
	       SAME);
	print_head("");
	for (i = 0; i < KINDS; i++)
		print_means(kinds[i].name, "", found[i], 100);
	print_counts("", "texts", found[0]);
	printf("Unrelated texts listed at threshold %d, of 1000 of %zu "
	       "entries: %.1f\n",
	       LISTED, unrelated.count, per_thousand);
	figures_add(&r->figures, worst_of(found), "reformatted.%d", SAME);
	figures_add(&r->figures, per_thousand, "reformatted.unrelated.%d",
		    LISTED);
	fingerprint_free(a.fingerprint);
	index_free(a.texts);
}
