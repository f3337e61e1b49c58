/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_MATCH_CACHE_H
#define CORE_SEARCH_MATCH_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/index.h"

/*
 * A cache of the matches of contents.  A program that walks the virtual tree
 * first asks which files of a directory have a near-duplicate, and then for the
 * listing of each of them; the second query needs the matches of the first.
 * Without the cache, a walk through 8,000 files takes twice as long.
 *
 * It is only for INDEX_ALIKE, and for callers that may see every content.
 * Matches are valid until the index changes.  Any thread may call these
 * functions.
 */
struct match_cache;

#define MATCH_CACHE_SLOTS 131072            /* contents; direct-mapped; 3 MiB */
#define MATCH_CACHE_MOST 512                /* matches of a content */
#define MATCH_CACHE_BYTES ((size_t)8 << 20) /* of all matches */

int match_cache_new(struct match_cache **out);
void match_cache_free(struct match_cache *c);

/* Copies the matches of a content, if they were found at that change count of
 * the index (index_change_count()).  The caller frees the copy. */
bool match_cache_get(struct match_cache *c, uint32_t content, uint64_t changes,
		     struct index_match **out, size_t *count_out);

/* Copies the matches into the cache, if there are at most MATCH_CACHE_MOST and
 * there is memory.  changes: index_change_count() from before the search. */
void match_cache_put(struct match_cache *c, uint32_t content, uint64_t changes,
		     const struct index_match *matches, size_t count);

#endif
