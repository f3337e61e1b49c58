/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/digest/sdhash/sdhash_impl.h"

#define MIN_FEATURES 16 /* of a filter that means something */
#define FOLDED_BYTES (SDHASH_FILTER_BYTES / 4)
#define FILTER_BITS (8 * SDHASH_FILTER_BYTES)
#define HASHES 5
#define MAX_FEATURES SDHASH_BLOCK_FEATURES
#define ALPHA 0.3 /* of the paper's cut-off */
/* How much a part of a filter may be below its share of the cut-off without
 * the rest being looked at. */
#define SLACK 48

struct comparison {
	const struct sdhash_digest *a;
	const struct sdhash_digest *b;
	enum sdhash_measure measure;
	/* Chance of a bit to be zero after so many features, times 2048. */
	double zeros[2 * MAX_FEATURES + 1];
};

/* ---- counting bits ---- */

/* Number of one bits in each byte. */
static uint64_t ones_in_bytes(uint64_t word)
{
	word -= word >> 1 & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) +
	       (word >> 2 & UINT64_C(0x3333333333333333));
	return (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

static unsigned sum_of_bytes(uint64_t bytes)
{
	uint64_t pairs = (bytes & UINT64_C(0x00ff00ff00ff00ff)) +
			 (bytes >> 8 & UINT64_C(0x00ff00ff00ff00ff));

	return (unsigned)(pairs * UINT64_C(0x0001000100010001) >> 48);
}

/* One bits of a & b from byte from up to end, 128 bytes at most. */
static inline unsigned common_bits(const uint8_t *a, const uint8_t *b,
				   size_t from, size_t end)
{
	uint64_t x, y, bytes = 0;

	for (; from < end; from += sizeof(x)) {
		memcpy(&x, a + from, sizeof(x));
		memcpy(&y, b + from, sizeof(y));
		bytes += ones_in_bytes(x & y);
	}
	return sum_of_bytes(bytes);
}

void sdhash_weigh(struct sdhash_digest *d)
{
	const size_t half = SDHASH_FILTER_BYTES / 2;
	struct sdhash_filter *f;
	size_t i;

	for (i = 0; i < d->count; i++) {
		f = &d->filters[i];
		f->weight = (uint16_t)(common_bits(f->bits, f->bits, 0, half) +
				       common_bits(f->bits, f->bits, half,
						   2 * half));
	}
}

/* ---- two filters ---- */

static int least_weight(const struct sdhash_filter *a,
			const struct sdhash_filter *b)
{
	return a->weight < b->weight ? a->weight : b->weight;
}

/* The paper's: a share of the way from the overlap that chance makes to the
 * largest that is possible. */
static int paper_cutoff(const struct comparison *c,
			const struct sdhash_filter *a,
			const struct sdhash_filter *b)
{
	double chance =
		round(FILTER_BITS - c->zeros[a->count] - c->zeros[b->count] +
		      c->zeros[a->count + b->count]);

	return (int)round(ALPHA * (least_weight(a, b) - chance) + chance);
}

static int cutoff(const struct comparison *c, const struct sdhash_filter *a,
		  const struct sdhash_filter *b)
{
	if (c->measure == SDHASH_SCORE_4_0)
		return sdhash_cutoff[4096 / (a->count + b->count)];
	return paper_cutoff(c, a, b);
}

/* Number of common bits; 0 when some part of the filters has so few that the
 * program looks no further.  That changes scores. */
static int overlap(const uint8_t *a, const uint8_t *b, int cut)
{
	int common = (int)common_bits(a, b, 0, 32);

	if (8 * common + SLACK < cut)
		return 0;
	common += (int)common_bits(a, b, 32, 64);
	if (4 * common + SLACK < cut)
		return 0;
	common += (int)common_bits(a, b, 64, 128);
	if (2 * common + SLACK < cut)
		return 0;
	return common + (int)common_bits(a, b, 128, SDHASH_FILTER_BYTES);
}

/* The share that is common of what can be, above a cut-off. */
static double share(int common, int cut, int least)
{
	return common <= cut ? 0 : (double)(common - cut) / (least - cut);
}

static void fold(const uint8_t *bits, uint8_t out[FOLDED_BYTES])
{
	size_t i;

	for (i = 0; i < FOLDED_BYTES; i++)
		out[i] = bits[i] | bits[i + FOLDED_BYTES] |
			 bits[i + 2 * FOLDED_BYTES] |
			 bits[i + 3 * FOLDED_BYTES];
}

static double compare_folded(const struct sdhash_filter *a,
			     const struct sdhash_filter *b)
{
	int cut = sdhash_cutoff_folded[1024 / (a->count + b->count)];
	uint8_t x[FOLDED_BYTES], y[FOLDED_BYTES];
	int common, in_x, in_y;

	fold(a->bits, x);
	fold(b->bits, y);
	common = (int)common_bits(x, y, 0, FOLDED_BYTES / 2);
	if (2 * common + SLACK < cut)
		return 0;
	common += (int)common_bits(x, y, FOLDED_BYTES / 2, FOLDED_BYTES);
	in_x = (int)common_bits(x, x, 0, FOLDED_BYTES);
	in_y = (int)common_bits(y, y, 0, FOLDED_BYTES);
	return share(common, cut, in_x < in_y ? in_x : in_y);
}

static double compare_filters(const struct comparison *c,
			      const struct sdhash_filter *a,
			      const struct sdhash_filter *b)
{
	int cut;

	if (c->measure == SDHASH_SCORE_4_0_FOLDED)
		return compare_folded(a, b);
	cut = cutoff(c, a, b);
	return share(overlap(a->bits, b->bits, cut), cut, least_weight(a, b));
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
	bool take_sparse = c->measure == SDHASH_SCORE_3_4 && c->a->count == 1;
	double value, best = -1;
	size_t i;

	if (is_sparse(filter))
		return 0;
	for (i = 0; i < c->b->count; i++) {
		if (is_sparse(&c->b->filters[i]) && !take_sparse)
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

static unsigned last_count(const struct sdhash_digest *d)
{
	return d->filters[d->count - 1].count;
}

static int compare_names(const struct buf *a, const struct buf *b)
{
	size_t len = a->len < b->len ? a->len : b->len;
	int order = len ? memcmp(a->data, b->data, len) : 0;

	return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* Of digests with equally many filters: whether the program swaps them. */
static bool swaps(const struct sdhash_digest *a, const struct sdhash_digest *b)
{
	return last_count(a) > last_count(b) ||
	       compare_names(&a->name, &b->name) > 0;
}

static void swap(struct comparison *c)
{
	const struct sdhash_digest *a = c->a;

	c->a = c->b;
	c->b = a;
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

int sdhash_score(const struct sdhash_digest *a, const struct sdhash_digest *b,
		 enum sdhash_measure measure)
{
	struct comparison c = { .a = a, .b = b, .measure = measure };
	int score, other;

	if (a->count == 0 || b->count == 0)
		return -1;
	fill_zeros(c.zeros);
	if (a->count > b->count ||
	    (a->count == b->count && measure != SDHASH_SCORE && swaps(a, b)))
		swap(&c);
	score = score_in_order(&c);
	if (a->count != b->count || measure != SDHASH_SCORE)
		return score;
	swap(&c);
	other = score_in_order(&c);
	return score > other ? score : other;
}
