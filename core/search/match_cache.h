/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_MATCH_CACHE_H
#define CORE_SEARCH_MATCH_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"
#include "core/index/index.h"

/*
 * The matches of contents that were searched for a moment ago.  A program that
 * walks the virtual tree asks for each directory which of its files have a
 * near-duplicate, and then for the listing of each of them: the second query
 * needs what the first one found.
 *
 * It is for queries that see every content.  Matches hold as long as the index
 * does not change.  Any thread may call these functions.
 */
struct match_cache;

/* Contents in the cache, direct-mapped, and matches of one: at most 4 MiB. */
#define MATCH_CACHE_SLOTS 4096
#define MATCH_CACHE_MOST 64

int match_cache_new(struct match_cache **out);
void match_cache_free(struct match_cache *c);

/*
 * A copy of the matches of a content, for the caller to free, if they were
 * found for these digests when the index had seen that many changes.  Only size
 * and XXH128 of d count: a file that was just hashed has digests of one content
 * while the catalog still says that it has another.
 */
bool match_cache_get(struct match_cache *c, uint32_t content,
		     const struct digests *d, uint64_t changes,
		     struct index_match **out, size_t *count_out);

/* More than MATCH_CACHE_MOST are not kept, and nothing when there is no memory.
 * changes: those the index had seen before the search. */
void match_cache_put(struct match_cache *c, uint32_t content,
		     const struct digests *d, uint64_t changes,
		     const struct index_match *matches, size_t count);

#endif
