/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/score.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/index/scan.h"
#include "core/index/speak.h"

/*
 * Three measures look at the same quantity, the shared percentage of the
 * larger content, and err in their own ways.
 *
 * SimHash: the expected distance is 64 * angle / 180 with cos(angle) =
 * shared / sqrt(A * B), A and B being the numbers of distinct windows, for
 * which the sizes stand in.  Without bias, but the distance scatters by 2 to
 * 4 bits, which is 2 points near 0 and more than 12 beyond 16.
 *
 * SiSe: exact about the pieces that are equal, but one changed byte costs a
 * whole piece, so it is low, and lower the longer the pieces are, which grow
 * with the content.
 *
 * RDC traits: a sample of 16 from chunks of about 2 KiB, of which scattered
 * changes leave little.  Many equal traits prove something, few prove nothing.
 *
 * The constants were fitted to real files against exact counts of shared
 * 16-byte windows.
 */
#define PI 3.14159265358979323846
#define DISTANCE_MAX 24       /* beyond, unrelated contents are as near */
#define DISTANCE_SURE 8       /* up to here SimHash alone is believed */
#define DISTANCE_DOUBTFUL 20  /* from here on it is not */
#define SISE_ERROR 4.0        /* points, once straightened */
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

/* Standard deviation of simhash_percent, in points. */
static double simhash_error(int distance)
{
	double p = distance / 64.0;

	return 1.5 + 100 * PI / 64 * sin(PI * p) * sqrt(64 * p * (1 - p));
}

/* What a SiSe score becomes when all changes are small and scattered: the
 * same up to 1 KiB, then more with every doubling. */
static double sise_scattered(double sise, uint64_t larger)
{
	double doublings = log2((double)larger) - 10;
	double exponent = fmax(0.4, 1 - 0.16 * fmax(0, doublings));

	return 100 * pow(sise / 100, exponent);
}

/* SiSe has nothing to say: SimHash as far as it can be believed. */
static double without_sise(double simhash, int distance, double traits)
{
	double trust = (double)(DISTANCE_DOUBTFUL - distance) /
		       (DISTANCE_DOUBTFUL - DISTANCE_SURE);

	return fmax(simhash * fmax(0, fmin(1, trust)), traits);
}

/* The truth is between what SiSe says and what it would be of scattered
 * changes; SimHash tells where.  The nearer, the more SimHash itself counts. */
static double with_sise(double simhash, int distance, double sise,
			double scattered)
{
	double error = simhash_error(distance) / SISE_ERROR;
	double weight = 1 / (1 + error * error);
	double between = fmin(fmax(simhash, sise), scattered);

	return weight * simhash + (1 - weight) * (between + scattered) / 2;
}

static void small_measures(const struct digests *a, const struct digests *b,
			   int *distance_out, int *traits_out)
{
	struct scan_query query;
	uint8_t traits[TRAIT_COUNT];

	scan_query_init(&query, a);
	scan_traits_of(b, traits);
	*distance_out = scan_distance(&query, scan_simhash_of(b));
	*traits_out = scan_equal_traits(&query, traits);
}

static int different_contents(const struct digests *a, const struct digests *b,
			      int *score_out)
{
	uint64_t smaller = a->size < b->size ? a->size : b->size;
	uint64_t larger = a->size < b->size ? b->size : a->size;
	double ratio = size_ratio(a->size, b->size), simhash, traits, percent;
	int distance, equal, sise, err;

	small_measures(a, b, &distance, &equal);
	simhash = simhash_percent(distance, ratio);
	traits = traits_percent(equal, ratio, (double)smaller / CHUNK_BYTES);
	err = speak_sise(a, b, &sise);
	if (err && err != -ENODATA)
		return err;
	if (err)
		percent = without_sise(simhash, distance, traits);
	else if (distance == DISTANCE_NONE)
		percent = sise;
	else
		percent = with_sise(simhash, distance, sise,
				    sise_scattered(sise, larger));
	*score_out = bounded(percent, ratio);
	return 0;
}

static bool is_identical(const struct digests *a, const struct digests *b)
{
	return (a->set & b->set & DIGEST_BIT(DIGEST_XXH128)) &&
	       a->size == b->size &&
	       !memcmp(a->xxh128, b->xxh128, sizeof(a->xxh128));
}

int score_contents(const struct digests *a, const struct digests *b,
		   int *score_out)
{
	if (!a->size || !b->size) {
		*score_out = 0;
		return 0;
	}
	if (is_identical(a, b)) {
		*score_out = 100;
		return 0;
	}
	return different_contents(a, b, score_out);
}
