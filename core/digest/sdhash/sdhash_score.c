/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MIN_FEATURES 16 /* of a filter that means something */
#define FILTER_BITS (8 * SDHASH_FILTER_BYTES)
#define MAX_FEATURES SDHASH_BLOCK_FEATURES
#define ALPHA 0.3 /* of the paper's cut-off */
/* How much a part of a filter may be below its share of the cut-off without
 * the rest being looked at. */
#define SLACK 48

struct comparison {
	const struct sdhash_digest *a, *b;
	/* Chance of a bit to be zero after so many features, times 2048. */
	double zeros[2 * MAX_FEATURES + 1];
};

/* One bits of a & b from byte from up to end. */
static int common_bits(const uint8_t *a, const uint8_t *b, size_t from,
		       size_t end)
{
	uint64_t x, y;
	int count = 0;

	for (; from < end; from += sizeof(x)) {
		memcpy(&x, a + from, sizeof(x));
		memcpy(&y, b + from, sizeof(y));
		count += __builtin_popcountll(x & y);
	}
	return count;
}

void sdhash_weigh(struct sdhash_digest *d)
{
	size_t i;

	for (i = 0; i < d->count; i++)
		d->filters[i].weight = (uint16_t)common_bits(
			d->filters[i].bits, d->filters[i].bits, 0,
			SDHASH_FILTER_BYTES);
}

/* ---- two filters ---- */

static int least_weight(const struct sdhash_filter *a,
			const struct sdhash_filter *b)
{
	return a->weight < b->weight ? a->weight : b->weight;
}

/* The paper's: a share of the way from the overlap that chance makes to the
 * largest that is possible. */
static int cutoff(const struct comparison *c, const struct sdhash_filter *a,
		  const struct sdhash_filter *b)
{
	double chance =
		round(FILTER_BITS - c->zeros[a->count] - c->zeros[b->count] +
		      c->zeros[a->count + b->count]);

	return (int)round(ALPHA * (least_weight(a, b) - chance) + chance);
}

/* Number of common bits; 0 when some part of the filters has so few that the
 * program looks no further.  That changes scores. */
static int overlap(const uint8_t *a, const uint8_t *b, int cut)
{
	int common = common_bits(a, b, 0, 32);

	if (8 * common + SLACK < cut)
		return 0;
	common += common_bits(a, b, 32, 64);
	if (4 * common + SLACK < cut)
		return 0;
	common += common_bits(a, b, 64, 128);
	if (2 * common + SLACK < cut)
		return 0;
	return common + common_bits(a, b, 128, SDHASH_FILTER_BYTES);
}

/* The share that is common of what can be, above the cut-off. */
static double compare_filters(const struct comparison *c,
			      const struct sdhash_filter *a,
			      const struct sdhash_filter *b)
{
	int cut = cutoff(c, a, b), common = overlap(a->bits, b->bits, cut);

	return common <= cut ?
		       0 :
		       (double)(common - cut) / (least_weight(a, b) - cut);
}

/* ---- two digests ---- */

static bool is_sparse(const struct sdhash_filter *f)
{
	return f->count < MIN_FEATURES;
}

/* The best that b has for a filter of a; -1 when b has nothing to compare. */
static double best_match(const struct comparison *c,
			 const struct sdhash_filter *filter)
{
	double value, best = -1;
	size_t i;

	if (is_sparse(filter))
		return 0;
	for (i = 0; i < c->b->count; i++) {
		if (is_sparse(&c->b->filters[i]))
			continue;
		value = compare_filters(c, filter, &c->b->filters[i]);
		best = value > best ? value : best;
	}
	return best;
}

/* How much of a is in b. */
static int score_in_order(const struct comparison *c)
{
	size_t i, divisor = c->a->count;
	double value, sum = -1;

	for (i = 0; i < c->a->count; i++) {
		value = best_match(c, &c->a->filters[i]);
		sum = sum < 0 ? value : sum + value;
		if (c->a->count > 1 && is_sparse(&c->a->filters[i]))
			divisor--;
	}
	if (divisor == 0 || sum < 0)
		return -1;
	return (int)round(100 * sum / (double)divisor);
}

static void fill_zeros(double *zeros)
{
	const double one = 1 - 1.0 / FILTER_BITS;
	const double feature = one * one * one * one * one;
	size_t i;

	zeros[0] = FILTER_BITS;
	for (i = 1; i <= 2 * MAX_FEATURES; i++)
		zeros[i] = zeros[i - 1] * feature;
}

int sdhash_score(const struct sdhash_digest *a, const struct sdhash_digest *b)
{
	const bool swapped = a->count > b->count;
	struct comparison c = { .a = swapped ? b : a, .b = swapped ? a : b };
	int score, other;

	if (a->count == 0 || b->count == 0)
		return -1;
	fill_zeros(c.zeros);
	score = score_in_order(&c);
	if (a->count != b->count)
		return score;
	c.a = b;
	c.b = a;
	other = score_in_order(&c);
	return score > other ? score : other;
}
