/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_PASSAGE_H
#define CORE_INDEX_PASSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/weight.h"

/*
 * How much two contents have in common in passages, whatever share of either
 * that is (INDEX_SHARES).
 *
 * Phrases of a language, and what a compiler puts into every program, add up to
 * as much as a passage, but are spread over both contents.  So a shared value
 * counts if PASSAGE_NEAR others are next to it in both, as far from it in the
 * one as in the other, to the larger unit of places (sketch_place_unit()) and
 * one more.  For example, of five shared values with the places 10, 10, 11, 11,
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
 *
 * Private to core/index and its tests.
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
struct passage_sample {
	size_t values, listed, found;
};

bool passage_is_likely(const struct sketch *own, uint64_t share_min,
		       const struct passage_sample *sample);

#endif
