/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_DISTINCTIVE_H
#define CORE_INDEX_DISTINCTIVE_H

#include <stdbool.h>

#include "core/index/weight.h"

/*
 * The distinctive part of two contents: passages that very many contents have
 * do not belong to it.
 *
 * A value of a sketch is distinctive as far as few contents have it (weight.h).
 * Sketches tell that of small values only: the larger a value, the fewer
 * contents have a sketch that goes so far.  distinctive.c says up to where what
 * is seen of them counts.
 *
 * Private to core/index and its tests.
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

#endif
