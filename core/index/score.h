/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SCORE_H
#define CORE_INDEX_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/digest/digest.h"
#include "core/digest/sif.h"
#include "core/index/frequency.h"

/*
 * The score of a listing: the estimated percentage of the larger content that
 * the smaller one contains (SiSe paper, 4.1).  100 means identical (equal
 * XXH128 and size) and nothing else does: an estimate ends at 99.
 *
 * It comes from the sketches (sif.h), whose values are a sample of the
 * distinct windows of 16 bytes.  Without a sketch SimHash and RDC traits give
 * a poorer one.
 */

/* An estimate from sizes, SimHash distance (64: not available) and equal RDC
 * traits (negative: not available) alone, 0..99. */
int score_estimate(uint64_t size_a, uint64_t size_b, int distance, int traits);

/* What score_estimate() cannot exceed at that distance or above and with at
 * most that many equal traits, whatever the sizes are. */
int score_ceiling(int distance, int traits);

/* What of each of two contents is in the other, 0..1. */
struct shares {
	double within;   /* of the first in the second */
	double contains; /* of the second in the first */
	double larger;   /* of the larger one, by its windows */
};

/* A sketch that is compared with many, and what its values count. */
struct weighed_sketch {
	const struct sif_sketch *sketch;   /* borrowed */
	bool has_common;                   /* whether a weight is below 1 */
	uint32_t weights[SIF_MAX_VALUES];  /* 1 is WEIGHT_ONE */
	uint64_t sums[SIF_MAX_VALUES + 1]; /* of so many weights */
};

#define WEIGHT_ONE (UINT32_C(1) << 30)

/* What a value counts: by its frequency, or if there is none as a function
 * says, 0..WEIGHT_ONE.  Values of weight 0 are left out of the merits, which
 * then come from the others. */
struct weigher {
	const struct frequency *frequency;
	uint32_t (*weight)(void *arg, uint64_t value);
	void *arg;
};

void score_weigh(const struct weigher *w, const struct sif_sketch *sketch,
		 struct weighed_sketch *out);

/*
 * The shares as they are, and their merits: the same when what is common in
 * very many contents counts little.  Merits decide what is alike, because
 * boilerplate must not make it so; shares say how much.  A merit takes time,
 * and none is sought of a share below least.  All are 0 where the sketches say
 * nothing.  -EINVAL when their windows differ.
 */
int score_shares(const struct weigher *w, const struct weighed_sketch *a,
		 const struct sif_sketch *b, double least, struct shares *out,
		 struct shares *merits_out);

/* 0..99 */
int score_percent(double share);

/* Two contents by themselves.  Empty ones score 0, even against each other.
 * -ENOMEM, -EINVAL as digest_compare(). */
int score_contents(const struct digests *a, const struct digests *b,
		   int *score_out);

#endif
