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

void score_weigh(const struct frequency *f, const struct sif_sketch *sketch,
		 struct weighed_sketch *out)
{
	size_t i;

	out->sketch = sketch;
	out->has_common = false;
	for (i = 0; i < sketch->count; i++) {
		out->weights[i] = (float)frequency_weight(f, sketch->values[i]);
		out->has_common |= out->weights[i] < 1;
	}
}

struct sums {
	double a, b, common;
	double lost; /* of what is common, by its weights, 0..1 */
};

/* Of the values that both sketches know everything about. */
static struct sums add_up(const struct frequency *f,
			  const struct weighed_sketch *a,
			  const struct sif_sketch *b)
{
	uint64_t bound = sif_joint_bound(a->sketch, b);
	const uint64_t *values = a->sketch->values;
	struct sums sums = { 0 };
	size_t i = 0, j, shared = 0;

	for (j = 0; j < b->count && b->values[j] < bound; j++) {
		while (i < a->sketch->count && values[i] < b->values[j])
			sums.a += (double)a->weights[i++];
		if (i < a->sketch->count && values[i] == b->values[j]) {
			shared++;
			sums.common += (double)a->weights[i];
			sums.b += (double)a->weights[i];
		} else {
			sums.b += frequency_weight(f, b->values[j]);
		}
	}
	while (i < a->sketch->count && values[i] < bound)
		sums.a += (double)a->weights[i++];
	if (shared)
		sums.lost = 1 - sums.common / (double)shared;
	return sums;
}

static double divide(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* How far x is on the way from one number to a greater one, 0..1. */
static double on_the_way(double x, double from, double to)
{
	return fmax(0, fmin(1, (x - from) / (to - from)));
}

/* Of a share of a content whose values weigh so much. */
static double merit_of(double share, double weight, const struct sums *sums)
{
	double doubt = (1 - on_the_way(share, DOUBTFUL, SURE)) *
		       on_the_way(sums->lost, SOME, MOST);
	double weighed = divide(sums->common, weight);

	return weighed < share ? share - doubt * (share - weighed) : share;
}

int score_shares(const struct frequency *f, const struct weighed_sketch *a,
		 const struct sif_sketch *b, struct shares *out,
		 struct shares *merits_out)
{
	bool a_is_larger = a->sketch->distinct >= b->distinct;
	struct sif_relation r;
	struct shares merits;
	struct sums sums;
	int err = sif_compare(a->sketch, b, &r);

	if (err)
		return err;
	*out = (struct shares){ .within = r.a_in_b, .contains = r.b_in_a };
	out->larger = a_is_larger ? out->within : out->contains;
	merits = *out;
	/* What is not common on one side is not common on both. */
	if (a->has_common && (r.a_in_b > 0 || r.b_in_a > 0)) {
		sums = add_up(f, a, b);
		merits.within = merit_of(out->within, sums.a, &sums);
		merits.contains = merit_of(out->contains, sums.b, &sums);
		merits.larger = a_is_larger ? merits.within : merits.contains;
	}
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
