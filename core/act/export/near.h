/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXPORT_NEAR_H
#define CORE_EXPORT_NEAR_H

#include "core/digest/digest.h"
#include "core/index/index.h"

/*
 * Near-duplicates among contents of which the digests alone are known: an index
 * that is made once and searched as often as needed, by one thread.  A zeroed
 * one is empty and valid.  The digests are borrowed.
 */
struct near_index {
	const struct digests **all; /* content i + 1 of a match is all[i] */
	size_t count;
	struct index *index;
	struct sketch sketch; /* of the query */
	struct index_match matches[2 * INDEX_MATCHES];
};

/* Before near_begin().  -ENOMEM. */
int near_add(struct near_index *n, const struct digests *d);
int near_begin(struct near_index *n);

/* Sets n->matches to those with a score of least and more, best first; an empty
 * content has none. */
int near_search(struct near_index *n, const struct digests *d, int least,
		size_t *count_out);
void near_release(struct near_index *n);

#endif
