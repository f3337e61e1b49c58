/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_VISIBLE_H
#define CORE_INDEX_VISIBLE_H

#include "core/index/index_impl.h"
#include "core/index/score.h"

/*
 * The index as a viewer sees it who must not learn of every content.  Private
 * to core/index.  The caller holds no lock.
 */

/* The contents with that key that the viewer sees, ascending: the first
 * INDEX_SEEN and one more.  -ENOMEM. */
int visible_find(struct index *ix, const struct index_viewer *v, uint32_t key,
		 uint32_t out[INDEX_SEEN + 1], size_t *count_out);

/* As postings_limit(). */
uint32_t visible_limit(struct index *ix);

struct visible {
	struct index *ix;
	struct index_viewer *viewer;
	uint32_t limit; /* visible_limit() */
	int err;        /* of the first weight that could not be had */
};

/* For a struct weigher; arg is a struct visible.  What is not in the postings
 * for all contents has no weight. */
uint32_t visible_weight(void *arg, uint64_t value);

#endif
