/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_BEST_H
#define CORE_INDEX_BEST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/index/index.h"

/*
 * Keeps the best of many candidates.  Private to core/index.
 */

/* A heap of the best so far; out[0] is the worst of them. */
struct best_candidates {
	struct index_candidate *out;
	size_t count, capacity;
	int least; /* lower ranks are not kept */
};

/* Whether best_add() would keep it. */
bool best_wants(const struct best_candidates *best,
		const struct index_candidate *c);
void best_add(struct best_candidates *best, const struct index_candidate *c);

/* Ends the heap: best first. */
void best_sort(struct best_candidates *best);

#endif
