/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/score.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/column_scan.h"
#include "core/index/distinctive.h"
#include "core/index/scattered.h"

/* ---- without sketches ---- */

/*
 * SimHash: the expected distance is 64 * angle / 180 with cos(angle) = shared /
 * sqrt(A * B), where A and B are the numbers of distinct windows (here the
 * sizes).  The estimate has no bias.  The standard deviation of the distance is
 * 2 to 4 bits, which is 2 points of score near distance 0 and more than 12
 * points beyond distance 16.
 *
 * RDC traits: 16 samples of the chunks, which have about 2 KiB.  Scattered
 * changes alter most chunks, so many equal traits are evidence, few equal
 * traits are no evidence of the opposite.
 */
#define PI 3.14159265358979323846
#define DISTANCE_MAX 24       /* unrelated contents often have more */
#define CHUNK_BYTES 2048.0    /* on average */
#define CHUNKS_MEANINGFUL 8.0 /* with fewer, several traits have one chunk */

static double size_ratio(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return 0;
	return a < b ? (double)a / (double)b : (double)b / (double)a;
}

static double simhash_percent(int distance, double ratio)
{
	if (distance < 0 || distance > DISTANCE_MAX)
		return 0;
	return 100 * cos(PI * distance / 64) * sqrt(ratio);
}

/* Each trait is equal with probability J + (1 - J) / 64. */
static double traits_percent(int traits, double ratio, double chunks)
{
	double jaccard = (traits / 16.0 - 1 / 64.0) / (1 - 1 / 64.0);
	double weight = fmin(1, chunks / CHUNKS_MEANINGFUL);

	if (jaccard <= 0)
		return 0;
	return weight * 100 * jaccard * (1 + ratio) / (1 + jaccard);
}

/* The smaller content cannot contain more of the larger one than its size. */
static int bounded(double percent, double ratio)
{
	return (int)lround(fmax(0, fmin(percent, fmin(99, 100 * ratio))));
}

int score_estimate(uint64_t size_a, uint64_t size_b, int distance, int traits)
{
	double ratio = size_ratio(size_a, size_b);
	double chunks =
		(double)(size_a < size_b ? size_a : size_b) / CHUNK_BYTES;

	return bounded(fmax(simhash_percent(distance, ratio),
			    traits_percent(traits, ratio, chunks)),
		       ratio);
}

int score_ceiling(int distance, int traits)
{
	return bounded(fmax(simhash_percent(distance, 1),
			    traits_percent(traits, 1, CHUNKS_MEANINGFUL)),
		       1);
}

/* ---- sketches ---- */

/*
 * Two contents whose distinctive score is LEAST are alike in more than
 * boilerplate, and so are two that share little, but of the distinctive part a
 * half (OF_SCORE) of what they share of the whole.  Unrelated contents below
 * one licence have idioms in common, which seem to be up to an eighth of the
 * rest, as few values tell that.
 *
 * Boilerplate is seldom more than TEMPLATE of a content.  Contents that share
 * more are of a large family, whose values all members have, and
 * LEAST_OF_FAMILY is enough.  If nearly all of a content is shared (SURE), the
 * shared part is not boilerplate but the content itself: a form that is filled
 * in.
 */
enum { LEAST = 13, LEAST_OF_FAMILY = 10, OF_SCORE = 2 };
enum { TEMPLATE = 80, SURE = 90 };

bool score_is_boilerplate(int score, int distinctive)
{
	int least = score < TEMPLATE ? LEAST : LEAST_OF_FAMILY;

	return score < SURE && distinctive < least &&
	       OF_SCORE * distinctive < score;
}

/* A share of all windows, as far as weights make that of the values in full
 * smaller or larger than it is. */
static double weigh_share(double share, double weighed, double counted)
{
	return counted > 0 ? fmin(1, share * weighed / counted) : weighed;
}

static bool is_doubtful(double share, double least)
{
	return share >= least && share < SURE / 100.0;
}

/* The larger one, as sif_find_shares() has it; the lower share if both have
 * equally many windows. */
static double of_larger(const struct score_shares *s,
			const struct sif_sketch *a, const struct sif_sketch *b)
{
	bool counts = a->windows && b->windows;
	uint64_t of_a = counts ? a->windows : a->distinct;
	uint64_t of_b = counts ? b->windows : b->distinct;

	if (of_a == of_b)
		return fmin(s->within, s->contains);
	return of_a > of_b ? s->within : s->contains;
}

static void find_distinctive(const struct weigher *w,
			     const struct weighed_sketch *a,
			     const struct sif_sketch *b, double least,
			     struct score_shares *shares)
{
	bool within = is_doubtful(shares->within, least);
	bool contains = is_doubtful(shares->contains, least);
	struct distinctive_parts parts;

	if ((!within && !contains) || !distinctive_find(w, a, b, &parts))
		return;
	if (within)
		shares->within =
			weigh_share(shares->within, parts.of_a, parts.all_a);
	if (contains)
		shares->contains =
			weigh_share(shares->contains, parts.of_b, parts.all_b);
	shares->larger = of_larger(shares, a->sketch, b);
}

int score_compare_sketches(const struct weigher *w,
			   const struct weighed_sketch *a,
			   const struct sif_sketch *b, double least,
			   struct score_shares *out,
			   struct score_shares *distinctive_out)
{
	struct score_shares shares, distinctive;
	struct sif_shares found;
	int err = sif_find_shares(a->sketch, b, &found);

	if (err)
		return err;
	shares.within = found.of_a;
	shares.contains = found.of_b;
	shares.larger = found.of_larger;
	distinctive = shares;
	/* If no value of a is common, no shared value is. */
	if (a->has_common)
		find_distinctive(w, a, b, least, &distinctive);
	*out = shares;
	*distinctive_out = distinctive;
	return 0;
}

int score_percent(double share)
{
	return (int)lround(fmax(0, fmin(99, 100 * share)));
}

static double share_of(const struct score_shares *shares,
		       enum index_relation relation)
{
	switch (relation) {
	case INDEX_ALIKE:
	case INDEX_ALL:
	case INDEX_TEXT:
		return shares->larger;
	case INDEX_WITHIN:
		return shares->within;
	case INDEX_CONTAINS:
		return shares->contains;
	case INDEX_SHARES:
		break;
	}
	return 0;
}

void score_set_match(const struct score_shares *shares,
		     const struct score_shares *distinctive,
		     enum index_relation relation, struct index_match *out)
{
	out->score = score_percent(share_of(shares, relation));
	out->distinctive_score = score_percent(share_of(distinctive, relation));
	out->distinctive_part = (uint8_t)score_percent(
		fmax(distinctive->within, distinctive->contains));
	out->is_boilerplate =
		score_is_boilerplate(out->score, out->distinctive_score);
}

/* ---- two contents ---- */

static int estimate_of(const struct digests *a, const struct digests *b)
{
	struct column_scan query;
	uint8_t traits[COLUMNS_TRAITS];

	column_scan_init(&query, a);
	column_traits_of(b, traits);
	return score_estimate(
		a->size, b->size,
		column_scan_distance(&query, column_simhash_of(b)),
		column_scan_equal_traits(&query, traits));
}

bool score_is_uniform(uint64_t size, const struct sif_sketch *sketch)
{
	return size >= SIF_WINDOW && !sketch->distinct;
}

/* As score_is_uniform(); false where there is no sketch. */
static bool is_uniform(const struct digests *d)
{
	struct sif_sketch sketch;
	const char *text = d->text[DIGEST_SIF];

	return (d->set & DIGEST_BIT(DIGEST_SIF)) && text &&
	       d->size >= SIF_WINDOW &&
	       !sif_parse(text, strlen(text), &sketch) &&
	       score_is_uniform(d->size, &sketch);
}

struct both_sketches {
	struct sif_sketch sketch;
	struct short_sketch short_sketch;
};

static bool read_sketches(const struct digests *d, struct both_sketches *room,
			  struct scattered_content *out)
{
	const char *text = d->text[DIGEST_SIF];

	*out = (struct scattered_content){ .sketch = &room->sketch,
					   .short_sketch = &room->short_sketch,
					   .size = d->size,
					   .sise = d->text[DIGEST_SISE] };
	return text && !sif_parse(text, strlen(text), &room->sketch) &&
	       digests_short_sketch(d, &room->short_sketch);
}

/* The share of the windows, or of the bytes if edits are scattered. */
static int shared_percent(const struct digests *a, const struct digests *b,
			  int *score_out)
{
	struct scattered_content x, y;
	struct both_sketches *room;
	int score, err = digest_compare(DIGEST_SIF, a, b, &score);

	if (err)
		return err;
	if (scattered_is_possible(score / 100.0)) {
		room = malloc(2 * sizeof(*room));
		if (!room)
			return -ENOMEM;
		if (read_sketches(a, &room[0], &x) &&
		    read_sketches(b, &room[1], &y))
			err = scattered_score(NULL, &x, &y, &score);
		free(room);
	}
	*score_out = score < 99 ? score : 99;
	return err;
}

int score_compare_contents(const struct digests *a, const struct digests *b,
			   int *score_out)
{
	int score, err;

	if (!a->size || !b->size) {
		*score_out = 0;
		return 0;
	}
	err = digest_compare(DIGEST_XXH128, a, b, &score);
	if (err || score != 100)
		err = shared_percent(a, b, &score);
	if (err == -ENODATA) {
		score = is_uniform(a) || is_uniform(b) ? 0 : estimate_of(a, b);
		err = 0;
	}
	if (!err)
		*score_out = score;
	return err;
}
