/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SCORE_H
#define CORE_INDEX_SCORE_H

#include <stdint.h>

#include "core/digest/digest.h"

/*
 * The score of a listing: the estimated percentage of the larger content that
 * the smaller one contains (SiSe paper, 4.1).  100 means identical (equal
 * XXH128 and size) and nothing else does: an estimate ends at 99.
 */

/* A cheap estimate from sizes, SimHash distance (64: not available) and equal
 * RDC traits (negative: not available) alone, 0..99. */
int score_estimate(uint64_t size_a, uint64_t size_b, int distance, int traits);

/* What score_estimate() cannot exceed at that distance or above and with at
 * most that many equal traits, whatever the sizes are. */
int score_ceiling(int distance, int traits);

/* The best estimate all digests of both allow.  Empty contents score 0, even
 * against each other. -ENOMEM, -EINVAL as digest_compare(). */
int score_contents(const struct digests *a, const struct digests *b,
		   int *score_out);

#endif
