/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/score.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/scan.h"

/* ---- without sketches ---- */

/*
 * SimHash: the expected distance is 64 * angle / 180 with cos(angle) =
 * shared / sqrt(A * B), A and B being the numbers of distinct windows, for
 * which the sizes stand in.  Without bias, but the distance scatters by 2 to
 * 4 bits, which is 2 points near 0 and more than 12 beyond 16.
 *
 * RDC traits: a sample of 16 from chunks of about 2 KiB, of which scattered
 * changes leave little.  Many equal traits prove something, few prove nothing.
 */
#define PI 3.14159265358979323846
#define DISTANCE_MAX 24       /* beyond, unrelated contents are as near */
#define CHUNK_BYTES 2048.0    /* average of RDC */
#define CHUNKS_MEANINGFUL 8.0 /* traits of fewer chunks come in lumps */

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

/* Nothing can share more of the larger content than the smaller one has. */
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
 * Boilerplate must not make contents alike; those that are alike in other ways
 * may well have some.  So common values count as others do where they are few
 * of the shared ones: up to SOME of what these weigh, and fully from MOST on.
 *
 * And where what is shared is nearly all, it is no boilerplate of a content
 * but the content: from SURE on, and from DOUBTFUL to there more and more.
 */
#define SOME 0.25
#define MOST 0.5
#define DOUBTFUL 0.85
#define SURE 0.95

static uint32_t weight_of(const struct weigher *w, uint64_t value)
{
	if (!w->frequency)
		return w->weight(w->arg, value);
	return (uint32_t)(WEIGHT_ONE * frequency_weight(w->frequency, value));
}

void score_weigh(const struct weigher *w, const struct sif_sketch *sketch,
		 struct weighed_sketch *out)
{
	size_t i;

	out->sketch = sketch;
	out->has_common = false;
	out->sums[0] = 0;
	for (i = 0; i < sketch->count; i++) {
		out->weights[i] = weight_of(w, sketch->values[i]);
		out->sums[i + 1] = out->sums[i] + out->weights[i];
		out->has_common |=
			out->weights[i] && out->weights[i] < WEIGHT_ONE;
	}
}

/* What two sketches have in common, of the values that both know everything
 * about. */
struct overlap {
	size_t a, b, common;        /* values */
	uint64_t weight;            /* of those in common */
	bool found[SIF_MAX_VALUES]; /* which ones of b are */
};

static size_t count_below(const uint64_t *values, size_t count, uint64_t bound)
{
	size_t low = 0, middle;

	while (low < count) {
		middle = low + (count - low) / 2;
		if (values[middle] < bound)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* A way through two ascending arrays in step. */
struct walk {
	size_t i, i_end, j, j_end;
};

/* That many steps end in neither array before the last one. */
static size_t safe_steps(const struct walk *w)
{
	size_t i = w->i_end - w->i, j = w->j_end - w->j;

	return i < j ? i : j;
}

/* No branch depends on the values, which are as good as random. */
static inline uint32_t step(const struct weighed_sketch *a,
			    const uint64_t *values, const uint64_t *b,
			    size_t *i, size_t *j, bool *found)
{
	uint64_t x = values[*i], y = b[*j];
	uint32_t weight = a->weights[*i] & -(uint32_t)(x == y);

	found[*j] = x == y;
	*i += x <= y;
	*j += y <= x;
	return weight;
}

static void walk_on(const struct weighed_sketch *a, const uint64_t *b,
		    struct walk *w, struct overlap *o)
{
	const uint64_t *values = a->sketch->values;
	size_t steps;

	while ((steps = safe_steps(w)))
		while (steps--)
			o->weight += step(a, values, b, &w->i, &w->j, o->found);
}

/* Each step waits for the one before, but not for those of another way. */
static void walk_both(const struct weighed_sketch *a, const uint64_t *b,
		      struct walk *v, struct walk *w, struct overlap *o)
{
	const uint64_t *values = a->sketch->values;
	size_t i = v->i, j = v->j, k = w->i, l = w->j, steps, other;
	uint64_t weight = 0;

	for (;;) {
		steps = safe_steps(v);
		other = safe_steps(w);
		steps = steps < other ? steps : other;
		if (!steps)
			break;
		while (steps--) {
			weight += step(a, values, b, &i, &j, o->found);
			weight += step(a, values, b, &k, &l, o->found);
		}
		v->i = i;
		v->j = j;
		w->i = k;
		w->j = l;
	}
	o->weight = weight;
	walk_on(a, b, v, o);
	walk_on(a, b, w, o);
}

static void find_overlap(const struct weighed_sketch *a,
			 const struct sif_sketch *b, struct overlap *o)
{
	uint64_t bound = sif_joint_bound(a->sketch, b);
	const uint64_t *values = a->sketch->values;
	size_t half, b_half = 0, i;

	o->a = count_below(values, a->sketch->count, bound);
	o->b = count_below(b->values, b->count, bound);
	o->weight = 0;
	memset(o->found, 0, o->b * sizeof(o->found[0]));
	half = o->a / 2;
	if (half)
		b_half = count_below(b->values, o->b, values[half]);
	walk_both(a, b->values, &(struct walk){ 0, half, 0, b_half },
		  &(struct walk){ half, o->a, b_half, o->b }, o);
	o->common = 0;
	for (i = 0; i < o->b; i++)
		o->common += o->found[i];
}

/* What the values of b count.  Which ones are not in common is first written
 * down, without a branch, so that their counts are fetched all at once. */
static uint64_t weigh_other(const struct weigher *w, const struct sif_sketch *b,
			    const struct overlap *o)
{
	uint16_t rest[SIF_MAX_VALUES + 1];
	uint64_t sum = o->weight;
	size_t count = 0, j;

	for (j = 0; j < o->b; j++) {
		rest[count] = (uint16_t)j;
		count += !o->found[j];
	}
	for (j = 0; j < count; j++)
		sum += weight_of(w, b->values[rest[j]]);
	return sum;
}

static double divide(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* How far x is on the way from one number to a greater one, 0..1. */
static double on_the_way(double x, double from, double to)
{
	return fmax(0, fmin(1, (x - from) / (to - from)));
}

/* weighed: the share when common values count little. */
static double merit_of(double share, double weighed, double lost)
{
	double doubt = (1 - on_the_way(share, DOUBTFUL, SURE)) *
		       on_the_way(lost, SOME, MOST);

	return weighed < share ? share - doubt * (share - weighed) : share;
}

/* How many of the values in common have a weight. */
static size_t count_weighed(const struct weigher *w, const struct sif_sketch *b,
			    const struct overlap *o)
{
	size_t count = 0, j;

	if (w->frequency)
		return o->common;
	for (j = 0; j < o->b; j++)
		count += o->found[j] && weight_of(w, b->values[j]);
	return count;
}

static void weigh_shares(const struct weigher *w,
			 const struct weighed_sketch *a,
			 const struct sif_sketch *b, const struct overlap *o,
			 double least, struct shares *merits)
{
	size_t weighed = count_weighed(w, b, o);
	double lost = 1 - divide(o->weight, weighed * (uint64_t)WEIGHT_ONE);
	double within = merits->within, contains = merits->contains;

	if (!weighed || lost <= SOME)
		return;
	if (within >= least && within < SURE)
		merits->within = merit_of(
			within, divide(o->weight, a->sums[o->a]), lost);
	if (contains >= least && contains < SURE)
		merits->contains =
			merit_of(contains,
				 divide(o->weight, weigh_other(w, b, o)), lost);
}

/* Of two equal ones the lower share, so that each has the same score in the
 * listing of the other. */
static double of_larger(const struct shares *s, const struct sif_sketch *a,
			const struct sif_sketch *b)
{
	if (a->distinct == b->distinct)
		return fmin(s->within, s->contains);
	return a->distinct > b->distinct ? s->within : s->contains;
}

int score_shares(const struct weigher *w, const struct weighed_sketch *a,
		 const struct sif_sketch *b, double least, struct shares *out,
		 struct shares *merits_out)
{
	struct shares shares, merits;
	struct overlap o;

	if (a->sketch->window != b->window)
		return -EINVAL;
	find_overlap(a, b, &o);
	shares.within = divide(o.common, o.a);
	shares.contains = divide(o.common, o.b);
	shares.larger = of_larger(&shares, a->sketch, b);
	merits = shares;
	/* What is not common on one side is not common on both. */
	if (a->has_common && o.common)
		weigh_shares(w, a, b, &o, least, &merits);
	merits.larger = of_larger(&merits, a->sketch, b);
	*out = shares;
	*merits_out = merits;
	return 0;
}

int score_percent(double share)
{
	return (int)lround(fmax(0, fmin(99, 100 * share)));
}

/* ---- two contents ---- */

static int estimate_of(const struct digests *a, const struct digests *b)
{
	struct scan_query query;
	uint8_t traits[TRAIT_COUNT];

	scan_query_init(&query, a);
	scan_traits_of(b, traits);
	return score_estimate(a->size, b->size,
			      scan_distance(&query, scan_simhash_of(b)),
			      scan_equal_traits(&query, traits));
}

int score_contents(const struct digests *a, const struct digests *b,
		   int *score_out)
{
	int score, err;

	if (!a->size || !b->size) {
		*score_out = 0;
		return 0;
	}
	err = digest_compare(DIGEST_XXH128, a, b, &score);
	if (err || score != 100) {
		err = digest_compare(DIGEST_SIF, a, b, &score);
		if (!err && score > 99)
			score = 99;
	}
	if (err == -ENODATA) {
		score = estimate_of(a, b);
		err = 0;
	}
	if (!err)
		*score_out = score;
	return err;
}
