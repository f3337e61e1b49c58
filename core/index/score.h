/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SCORE_H
#define CORE_INDEX_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/digest/digest.h"
#include "core/digest/sif/sif.h"
#include "core/index/index.h"
#include "core/index/weight.h"

/*
 * The score of a listing: the estimated percentage of the larger content that
 * the smaller one contains (SiSe paper, 4.1).  100 means identical (equal
 * XXH128 and size); estimates end at 99.
 *
 * It is computed from the sketches (sif.h), whose values are a sample of the
 * distinct windows of 16 bytes.  Without sketches it is estimated from SimHash
 * and RDC traits, with a larger error.
 */

/* Estimates the score from sizes, SimHash distance (64: not available) and the
 * number of equal RDC traits (negative: not available), 0..99. */
int score_estimate(uint64_t size_a, uint64_t size_b, int distance, int traits);

/* The greatest score_estimate() of any two sizes with at least this distance
 * and at most so many equal traits. */
int score_ceiling(int distance, int traits);

/* The part of each of two contents that the other one contains, 0..1. */
struct score_shares {
	double within;   /* the part of the first */
	double contains; /* the part of the second */
	double larger;   /* the part of the one with more windows */
};

/*
 * Compares two sketches: the shares, and the distinctive shares, for which
 * values count by their weight, so that those of very many contents count for
 * hardly anything.  A distinctive share takes time; it equals the plain one
 * where that is below least, or so high that it does not matter.  All shares
 * are 0 if there is nothing to compare.  -EINVAL when the windows of the
 * sketches differ.
 */
int score_compare_sketches(const struct weigher *w,
			   const struct weighed_sketch *a,
			   const struct sif_sketch *b, double least,
			   struct score_shares *out,
			   struct score_shares *distinctive_out);

/* Whether two contents are alike in mere boilerplate, by their score and their
 * distinctive score, 0..100: in passages that very many contents have, but not
 * in what sets them apart. */
bool score_is_boilerplate(int score, int distinctive);

/* Sets all of a match but the content and the bytes from shares of that
 * relation, which is not INDEX_SHARES. */
void score_set_match(const struct score_shares *shares,
		     const struct score_shares *distinctive,
		     enum index_relation relation, struct index_match *out);

/* 0..99. */
int score_percent(double share);

/* Whether a content repeats one byte, so that it has windows, and none that
 * counts.  It is like none but its exact copies. */
bool score_is_uniform(uint64_t size, const struct sif_sketch *sketch);

/* The score of two contents by their digests alone, 0..100.  An empty content
 * scores 0, even with another empty one.  -ENOMEM, -EINVAL as
 * digest_compare(). */
int score_compare_contents(const struct digests *a, const struct digests *b,
			   int *score_out);

#endif
