/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_PASSAGE_H
#define CORE_INDEX_PASSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/index/score.h"

/*
 * How many bytes two contents have in common, whatever share of either that is
 * (INDEX_SHARES).
 *
 * The values that two sketches share, in the range that both cover, are a
 * sample of the windows that the contents share.
 *
 * A content repeats some of its windows, a table nearly all of them.  These say
 * nothing of a place, so a value counts if its window occurs once in both.
 *
 * Phrases of a language, and what a compiler puts into every program, add up to
 * as much as a passage, but are spread over both contents.  So a value counts
 * if PASSAGE_NEAR others are next to it in both, as far from it in the one as
 * in the other, to the larger unit of places (sif_place_unit()) and one more.
 *
 * The values that count are a part of all values of their place that occur
 * once, and they stand for that part of its bytes: for more bytes where much is
 * repeated or padding, but each for PASSAGE_REPEAT_KNOWN bytes to a window at
 * most.  So only the ends of a passage are estimated, as the places between
 * have no other values.  Both contents tell the length, and the mean counts.
 * In two tables of one kind the places have many other values: unless
 * PASSAGE_DENSE of them are shared, on average over what is shared, there is no
 * passage; where that fills less than one place, so much less is enough.
 *
 * A value that very many contents have counts by its weight, so boilerplate
 * adds hardly anything.  Several passages add up.  Sketches without places
 * count all values; each stands for as many bytes as it does on average in the
 * content where that is less, and where the sketch does not know how many
 * windows there are (sif.h), for PASSAGE_REPEAT bytes at most: long runs of one
 * byte have none.
 *
 * Fewer than PASSAGE_VALUES shared values tell too little.  A sketch has up to
 * SIF_MAX_VALUES values, so what is shared must be more than half a percent of
 * the larger content, and, where one window in SIF_SHARE has a value, less than
 * half of INDEX_SHARE_LEAST.
 */
#define PASSAGE_NEAR 4
#define PASSAGE_VALUES 6
#define PASSAGE_DENSE 0.5
#define PASSAGE_REPEAT 2
#define PASSAGE_REPEAT_KNOWN 16

/* a is the sketch of a content of size_a bytes.  Sets all of a match but the
 * content: bytes is an estimate, or 0 where the sketches tell too little; the
 * score is its percentage of size_a.  -EINVAL when the windows of the sketches
 * differ. */
int passage_compare(const struct weighed_sketch *a, uint64_t size_a,
		    const struct sif_sketch *b, uint64_t size_b,
		    struct index_match *out);

/*
 * Whether a content may share q->share_min bytes with the query.  Of the values
 * of the query's sketch, so many are in the range that the sketch of the
 * content covers as well; listed of them are in the posting lists of all
 * contents, and found of those may be shared.
 */
struct passage_sample {
	size_t values, listed, found;
};

bool passage_is_likely(const struct index_query *q,
		       const struct passage_sample *sample);

#endif
