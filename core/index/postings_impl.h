/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_POSTINGS_IMPL_H
#define CORE_INDEX_POSTINGS_IMPL_H

#include "core/index/postings.h"
#include "core/index/postings_part.h"

/*
 * The lowest bits of a key choose its part, so that the limit shrinks all parts
 * equally.
 */
_Static_assert(POSTINGS_MAX_ADD <= FRESH_MAX, "one part must take them all");
_Static_assert((uint64_t)POSTINGS_PARTS << (TAG_BITS - 1) == POSTINGS_KEYS,
	       "a key is a part and a tag");

struct postings_load;

struct postings {
	size_t budget;
	size_t count;
	size_t others[32]; /* entries that are no anchors, by the number of
			    * significant bits of their key */
	uint32_t limit;
	struct postings_part parts[POSTINGS_PARTS];
	struct part_scratch scratch;
	struct postings_load *load; /* owned; NULL: not loading */
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

/* Halves the limit until the budget is kept.  True if the caller has to drop
 * entries above it. */
bool postings_lower_limit(struct postings *p);

/* ---- postings_load.c ---- */

/* postings_add() while loading. */
int postings_load_add(struct postings *p, uint32_t content,
		      const uint32_t *keys, size_t count, size_t anchors);

/* Frees a load that was not ended. */
void postings_load_release(struct postings *p);

#endif
