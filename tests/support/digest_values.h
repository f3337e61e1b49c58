/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_DIGEST_VALUES_H
#define TESTS_SUPPORT_DIGEST_VALUES_H

#include <stdbool.h>
#include <string.h>

#include "core/digest/digest.h"

/* Digests in tests: whether they are equal, and a digest's text. */

static inline bool digest_is_equal(const struct digests *a,
				   const struct digests *b, enum digest_id id)
{
	struct digest_value x = digest_value_of(a, id);
	struct digest_value y = digest_value_of(b, id);

	return x.len == y.len && (!x.len || !memcmp(x.bytes, y.bytes, x.len));
}

static inline bool digests_are_equal(const struct digests *a,
				     const struct digests *b)
{
	int id;

	for (id = 0; id < DIGEST_COUNT; id++)
		if (!digest_is_equal(a, b, id))
			return false;
	/* The identity is there only where the key of a catalog is. */
	return !((a->set ^ b->set) & DIGEST_ALL) && a->size == b->size;
}

/* One in both that differs, NULL if none does. */
static inline const char *digests_differ(const struct digests *a,
					 const struct digests *b)
{
	enum digest_id id;

	if (a->size != b->size)
		return "size";
	for (id = 0; id < DIGEST_COUNT; id++)
		if ((a->set & b->set & DIGEST_BIT(id)) &&
		    !digest_is_equal(a, b, id))
			return digest_table[id]->name;
	return NULL;
}

/* The caller frees it; NULL: there is none. */
static inline char *digest_text_of(const struct digests *d, enum digest_id id)
{
	struct buf text = { 0 };

	return digest_format(d, id, &text) ? NULL : buf_take(&text);
}

/* A digest of a SimHash alone. */
static inline struct digests simhash_digests(uint64_t size, uint64_t simhash)
{
	struct digests d = { .set = DIGEST_BIT(DIGEST_SIMHASH), .size = size };

	store_be64(d.simhash, simhash);
	return d;
}

#endif
