/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_JUDGE_IMPL_H
#define CORE_INDEX_JUDGE_IMPL_H

#include "core/index/weight.h"

/* What judge.c asks of two sketches.  Private to core/index and its tests. */

/*
 * The distinctive part of two contents: passages that very many contents have
 * do not belong to it.
 *
 * A value of a sketch is distinctive as far as few contents have it (weight.h).
 * Sketches tell that of small values only: the larger a value, the fewer
 * contents have a sketch that goes so far.  distinctive.c says up to where what
 * is seen of them counts.
 */
struct distinctive_parts {
	/* Of the distinctive values of each content, the part that is shared,
	 * 0..1. */
	double of_a, of_b;
	/* Of all its values. */
	double all_a, all_b;
};

/* Finds the parts of two sketches.  False: nothing is known about the shared
 * values, or none is common. */
bool distinctive_find(const struct weigher *w, const struct weighed_sketch *a,
		      const struct sketch *b, struct distinctive_parts *out);

/*
 * How much two contents have in common in passages, whatever share of either
 * that is (INDEX_SHARES).
 *
 * Phrases of a language, and what a compiler puts into every program, add up to
 * as much as a passage, but are spread over both contents.  So a shared value
 * counts if PASSAGE_NEAR others are next to it in both, to the larger unit of
 * places (sketch_place_unit()), which has PASSAGE_NEAR values or more on average,
 * and one more.  For example, of five shared values with the places 10, 10, 11, 11,
 * 40 in one content and 20, 20, 21, 21, 3 in the other, the first four have
 * each other, and the last one has none.  Only windows that occur once in both
 * are such evidence: what a format repeats is in every content of that format.
 *
 * In two tables of one kind the places have many other values: unless
 * PASSAGE_DENSE of the values of a place are shared, on average over what is
 * shared, there is no passage.
 *
 * What counts is a part of the shared windows, each as often as it occurs in
 * both, and passages are that part of what is shared.  A value that very many
 * contents have counts by its weight, so boilerplate adds hardly anything.
 * Contents too small to have places count all values.
 */
/* Bytes of the folded contents; 0 where the sketches tell too little.  shares:
 * of the two. */
uint64_t passage_bytes(const struct weighed_sketch *a, const struct sketch *b,
		       const struct sketch_shares *shares);

/*
 * Whether a content may have a passage of share_min bytes in common with the
 * query's.  Of the values of the query's sketch, so many are in the range that
 * the sketch of the content covers as well; listed of them are in the posting
 * lists of all contents, and found of those may be shared.
 */
bool passage_is_likely(const struct sketch *own, uint64_t share_min,
		       size_t values, size_t listed, double found);

#endif
