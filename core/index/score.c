/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/score.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/score_impl.h"

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

/* SiSe included where it has something to say. */
static int different_contents(const struct subject *s,
			      const struct digests *other,
			      const struct sise_signature *signature)
{
	uint64_t a = s->digests->size, b = other->size;
	double ratio = size_ratio(a, b), simhash, traits, percent;
	uint8_t others_traits[TRAIT_COUNT];
	int distance, sise;

	scan_traits_of(other, others_traits);
	distance = scan_distance(&s->query, scan_simhash_of(other));
	simhash = simhash_percent(distance, ratio);
	traits = traits_percent(scan_equal_traits(&s->query, others_traits),
				ratio, (double)(a < b ? a : b) / CHUNK_BYTES);
	if (!s->speaks || !signature ||
	    speak_sise(&s->speaker, signature, &sise))
		percent = without_sise(simhash, distance, traits);
	else if (distance == DISTANCE_NONE)
		percent = sise;
	else
		percent = with_sise(simhash, distance, sise,
				    sise_scattered(sise, a < b ? b : a));
	return bounded(percent, ratio);
}

static bool is_identical(const struct digests *a, const struct digests *b)
{
	return (a->set & b->set & DIGEST_BIT(DIGEST_XXH128)) &&
	       a->size == b->size &&
	       !memcmp(a->xxh128, b->xxh128, sizeof(a->xxh128));
}

int subject_init(struct subject *s, const struct digests *d)
{
	int err = speaker_init(&s->speaker, d);

	if (err && err != -ENODATA)
		return err;
	s->speaks = !err;
	s->digests = d;
	scan_query_init(&s->query, d);
	return 0;
}

int subject_score(const struct subject *s, const struct digests *other,
		  const struct sise_signature *sise)
{
	if (!s->digests->size || !other->size)
		return 0;
	if (is_identical(s->digests, other))
		return 100;
	return different_contents(s, other, sise);
}

int score_contents(const struct digests *a, const struct digests *b,
		   int *score_out)
{
	struct {
		struct subject subject;
		struct sise_signature other;
	} *s = malloc(sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	err = subject_init(&s->subject, a);
	if (!err) {
		err = speak_read(b, &s->other);
		if (!err || err == -ENODATA) {
			*score_out = subject_score(&s->subject, b,
						   err ? NULL : &s->other);
			err = 0;
		}
	}
	free(s);
	return err;
}
