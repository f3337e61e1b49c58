/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_POSTINGS_IMPL_H
#define CORE_INDEX_POSTINGS_IMPL_H

#include "core/index/postings.h"
#include "core/index/postings_part.h"

/*
 * The lowest bits of a key tell its part, so that all parts are of a size
 * whatever the limit is.
 */
_Static_assert(POSTINGS_MAX_ADD <= FRESH_MAX, "one part must take them all");
_Static_assert((uint64_t)POSTINGS_PARTS << (TAG_BITS - 1) == POSTINGS_KEYS,
	       "a key is a part and a tag");

struct load;

struct postings {
	size_t budget;
	size_t count;
	size_t others[32]; /* entries that are no anchors: keys of that many
			    * significant bits */
	uint32_t limit;
	struct part parts[POSTINGS_PARTS];
	struct part_scratch scratch;
	struct load *load; /* owned; NULL: not loading */
};

static inline unsigned part_of(uint32_t key)
{
	return key % POSTINGS_PARTS;
}

static inline uint32_t tag_of(uint32_t key, bool anchor)
{
	return key / POSTINGS_PARTS << 1 | (anchor ? TAG_ANCHOR : 0);
}

static inline unsigned significant_bits(uint32_t key)
{
	return key ? 32 - (unsigned)__builtin_clz(key) : 0;
}

/* The first tag of a part whose key is not below the limit. */
static inline uint32_t limit_tag(const struct postings *p, unsigned part)
{
	return tag_of(p->limit + POSTINGS_PARTS - 1 - part, false);
}

/* Halves the limit as often as it takes; whether what is beyond it is to be
 * dropped. */
bool postings_lower_limit(struct postings *p);

/* ---- postings_load.c ---- */

/* As postings_add(), while loading. */
int postings_load_add(struct postings *p, uint32_t content,
		      const uint32_t *keys, size_t count, size_t anchors);

/* Drops what was not brought to an end. */
void postings_load_release(struct postings *p);

#endif
