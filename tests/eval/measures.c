/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/eval/eval.h"
#include "tests/eval/listing.h"
#include "tests/eval/report.h"

/*
 * Each measure alone, at the lowest threshold that lets no more unrelated
 * pairs pass than the combined score does.  Unrelated pairs: all of some
 * contents of different families, but those with a Jaccard coefficient of
 * 0.05 or more.
 */
#define UNRELATED_MOST 400
#define LARGEST_UNRELATED (256 * KIB)
#define TLSH_FARTHEST 400 /* scores are what is left of that */
#define SCORES (TLSH_FARTHEST + 1)
#define ONE_IN 10000

enum measure { SCORE, SISE, SIMHASH, RDC, SIF, SSDEEP, TLSH, MEASURES };

static const struct {
	const char *name;
	enum digest_id id;
} measures[MEASURES] = {
	[SCORE] = { "score", DIGEST_COUNT },
	[SISE] = { "sise", DIGEST_SISE },
	[SIMHASH] = { "simhash", DIGEST_SIMHASH },
	[RDC] = { "rdc", DIGEST_RDC },
	[SIF] = { "sif", DIGEST_SIF },
	[SSDEEP] = { "ssdeep", DIGEST_SSDEEP },
	[TLSH] = { "tlsh", DIGEST_TLSH },
};

struct comparison {
	const struct corpus *corpus;
	struct index *ix;
	/* How many unrelated pairs have that score. */
	size_t unrelated[MEASURES][SCORES];
	size_t unrelated_count;
};

/* 0 when it has nothing to say. */
static int measure_pair(const struct comparison *c, enum measure m, uint32_t a,
			uint32_t b)
{
	const struct file *files = c->corpus->files;
	struct verdict v;
	int score, distance;

	if (m == SCORE) {
		v = listing_verdict(c->corpus, c->ix, a, b);
		return v.reason == VERDICT_BOILERPLATE ? 0 : v.score;
	}
	if (m == TLSH) {
		if (digest_tlsh_distance(&files[a].digests, &files[b].digests,
					 &distance))
			return 0;
		return distance < TLSH_FARTHEST ? TLSH_FARTHEST - distance : 0;
	}
	if (digest_compare(measures[m].id, &files[a].digests, &files[b].digests,
			   &score))
		return 0;
	return score;
}

/* ---- unrelated pairs ---- */

/* The first contents of families, in an order that mixes them. */
struct unrelated_file {
	uint64_t order;
	uint32_t file;
};

static int by_order(const void *a, const void *b)
{
	const struct unrelated_file *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static size_t unrelated_find(const struct report *r, struct unrelated_file *out)
{
	const struct corpus *c = r->corpus;
	size_t count = 0, i;

	for (i = 0; i < c->family_count; i++) {
		const struct family *f = &c->families[i];

		if (f->held_out == r->held_out && f->count &&
		    c->files[f->members[0]].digests.size <= LARGEST_UNRELATED)
			out[count++] =
				(struct unrelated_file){ hash_text(f->name),
							 f->members[0] };
	}
	qsort(out, count, sizeof(*out), by_order);
	return count < UNRELATED_MOST ? count : UNRELATED_MOST;
}

static void add_unrelated(struct comparison *c, uint32_t a, uint32_t b)
{
	enum measure m;

	for (m = 0; m < MEASURES; m++)
		c->unrelated[m][measure_pair(c, m, a, b)]++;
	c->unrelated_count++;
}

static void measure_unrelated(struct comparison *c, const struct report *r)
{
	struct unrelated_file *files =
		allocate(c->corpus->family_count * sizeof(*files));
	size_t count = unrelated_find(r, files), i, j;
	struct cache cache;

	cache_init(&cache, c->corpus, UNRELATED_MOST * LARGEST_UNRELATED);
	for (i = 0; i < count; i++)
		for (j = i + 1; j < count; j++) {
			uint32_t a = files[i].file, b = files[j].file;
			struct truth t = cache_truth(&cache, a, b);

			if ((double)t.jaccard < 0.05)
				add_unrelated(c, a, b);
		}
	cache_release(&cache);
	free(files);
}

static size_t passing(const struct comparison *c, enum measure m, int least)
{
	size_t count = 0;
	int i;

	for (i = least; i < SCORES; i++)
		count += c->unrelated[m][i];
	return count;
}

/* At least 1: a score of 0 says that nothing is known. */
static int threshold_of(const struct comparison *c, enum measure m, size_t most)
{
	int least = 1;

	while (least < SCORES && passing(c, m, least) > most)
		least++;
	return least;
}

/* ---- tables ---- */

static void print_cell(int width, const struct mean *m)
{
	if (m->count)
		printf(" %*.1f", width, 100 * mean_of(m));
	else
		printf(" %*s", width, "-");
}

static void print_line(const struct comparison *c, const struct report *r,
		       enum measure m, int least)
{
	struct mean recall[BANDS + 1] = { 0 }, sizes[COLUMNS] = { 0 };
	size_t i, band;

	for (i = 0; i < r->pairs.count; i++) {
		const struct pair *p = &r->pairs.pairs[i];
		bool passes;

		if (!p->is_kin || (double)p->truth.jaccard < 0.2)
			continue;
		passes = measure_pair(c, m, p->a, p->b) >= least;
		band = band_of(&p->truth);
		recall[band].sum += passes;
		recall[band].count++;
		if (band < 3)
			mean_add(sizes, pair_class(c->corpus, p), passes);
	}
	printf("%-8s %4d", measures[m].name,
	       m == TLSH ? TLSH_FARTHEST - least : least);
	for (band = 0; band < BANDS; band++)
		print_cell(7, &recall[band]);
	for (i = 0; i < SIZE_CLASSES; i++)
		print_cell(6, &sizes[i]);
	printf("\n");
}

static void print_table(const struct comparison *c, const struct report *r,
			size_t most)
{
	enum measure m;
	size_t i;

	printf("\nEach measure alone, at the threshold that %zu of %zu "
	       "unrelated pairs pass:\nrecall of the pairs of a family, %%, by "
	       "J, and of those from J 0.4 by size\n%-8s %4s",
	       most, c->unrelated_count, "", "at");
	for (i = 0; i < BANDS; i++)
		printf(" %7s", band_names[i]);
	for (i = 0; i < SIZE_CLASSES; i++)
		printf(" %6s", size_class_names[i]);
	printf("\n");
	for (m = 0; m < MEASURES; m++)
		print_line(c, r, m, threshold_of(c, m, most));
}

void report_measures(struct report *r)
{
	struct comparison *c = allocate(sizeof(*c));

	c->corpus = r->corpus;
	c->ix = r->ix;
	measure_unrelated(c, r);
	print_table(c, r, passing(c, SCORE, r->listings[0].rules.threshold));
	print_table(c, r, c->unrelated_count / ONE_IN);
	printf("at: of tlsh a distance\n");
	free(c);
}
