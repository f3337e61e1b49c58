/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_BEST_H
#define CORE_INDEX_BEST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/index/index.h"

/*
 * The best of many candidates.  Private to core/index.
 */

/* The best so far, out[0] being the worst of them. */
struct best {
	struct candidate *out;
	size_t count, capacity;
	int least; /* ranks below are of no interest */
};

bool best_wants(const struct best *best, const struct candidate *c);
void best_offer(struct best *best, const struct candidate *c);

/* At the end: best first. */
void best_sort(struct best *best);

#endif
