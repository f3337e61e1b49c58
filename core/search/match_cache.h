/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_MATCH_CACHE_H
#define CORE_SEARCH_MATCH_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/index.h"

/*
 * The matches of contents that were searched for since the index changed.  A
 * program that walks the virtual tree asks for each directory which of its
 * files have a near-duplicate, and then for the listing of each of them: the
 * second query needs what the first one found.  The next walk needs it again.
 *
 * It is for queries of INDEX_ALIKE that see every content.  Matches hold as
 * long as the index does not change.  Any thread may call these functions.
 */
struct match_cache;

/* Contents in the cache, direct-mapped; matches of one; and bytes of all of
 * these, beside 1.5 MiB for the slots that are in use. */
#define MATCH_CACHE_SLOTS 65536
#define MATCH_CACHE_MOST 512
#define MATCH_CACHE_BYTES ((size_t)8 << 20)

int match_cache_new(struct match_cache **out);
void match_cache_free(struct match_cache *c);

/* A copy of the matches of a content, for the caller to free, if they were
 * found when the index had seen that many changes. */
bool match_cache_get(struct match_cache *c, uint32_t content, uint64_t changes,
		     struct index_match **out, size_t *count_out);

/* More than MATCH_CACHE_MOST are not kept, and nothing when there is no memory.
 * changes: those the index had seen before the search. */
void match_cache_put(struct match_cache *c, uint32_t content, uint64_t changes,
		     const struct index_match *matches, size_t count);

#endif
