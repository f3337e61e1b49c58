/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_VISIBLE_H
#define CORE_INDEX_VISIBLE_H

#include "core/index/index_impl.h"
#include "core/index/weight.h"

/*
 * Posting lists and numbers of contents for a caller to whom not every content is
 * visible.  All functions are called without a lock.  Private to core/index.
 */

/* Finds the visible contents of a key, at most `most` and one more: so many are
 * in out then.  -ENOMEM. */
int visible_find(struct index *ix, const struct index_visibility *v,
		 uint32_t key, size_t most, uint32_t *out, size_t *count_out);

/* postings_limit(), with the lock taken. */
uint32_t visible_limit(struct index *ix);

struct visible_index {
	struct index *ix;
	struct index_visibility *visibility; /* NULL: all are visible */
	uint32_t limit;                      /* visible_limit() */
	int err; /* of the first number that could not be found */
};

/* Serves as weigher.contents; arg is a struct visible_index.  Of a value that
 * the postings hold for some contents only (as an anchor) it is not known. */
uint32_t visible_contents(void *arg, uint64_t value);

#endif
