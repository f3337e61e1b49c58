/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CATALOG_SKETCHES_H
#define TESTS_UNIT_CATALOG_SKETCHES_H

#include "tests/unit/catalog/fixture.h"

/* Sketches, and contents of a catalog that have them. */

static inline void make_sketch(size_t count, uint64_t seed, struct sketch *out)
{
	uint64_t value = 0;
	size_t i;

	*out = (struct sketch){ .folded = 1 << 20, .count = count };
	/* Without values all windows repeat one byte. */
	out->windows = count ? out->folded - SKETCH_WINDOW + 1 : 0;
	for (i = 0; i < count; i++) {
		/* Multiples of 2^24 below 2^48 have SKETCH_VALUE_BITS. */
		value += (1 + random_below(&seed, 1 << 13)) << 24;
		out->values[i] = value;
		out->places[i] = (uint8_t)(i * 7 % SKETCH_PLACES);
		out->times[i] =
			i % 10 ? 1 : sketch_round_times(1 + (uint32_t)i);
	}
	/* Some have places. */
	out->is_placed = count > 1 && count % 3 == 1;
}

static inline void assert_same_sketch(const struct sketch *have,
				      const struct sketch *want)
{
	assert_true(have->folded == want->folded);
	assert_true(have->windows == want->windows);
	assert_int_equal(have->level, want->level);
	assert_int_equal(have->count, want->count);
	assert_memory_equal(have->values, want->values,
			    want->count * sizeof(want->values[0]));
	assert_memory_equal(have->times, want->times,
			    want->count * sizeof(want->times[0]));
	assert_int_equal(have->is_placed, want->is_placed);
	if (want->is_placed)
		assert_memory_equal(have->places, want->places, want->count);
}

/* Sets the file, to a content with that sketch or (NULL) without. */
static inline uint32_t add_content(struct fixture *f, uint64_t inode,
				   const struct sketch *sketch)
{
	struct catalog_txn *txn = begin_write(f);
	char text[64];
	struct digests d = digests_of(inode, text, sizeof(text));
	struct file_identity id = identity_of(inode);
	struct file_key key = key_of(inode);
	static uint8_t packed[SKETCH_PACKED_MAX];
	uint32_t content;

	if (sketch)
		lend_digest(&d, DIGEST_SIF, packed,
			    sketch_pack(sketch, packed));
	else
		d.set &= ~DIGEST_BIT(DIGEST_SIF);
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
	assert_int_equal(catalog_content_find(txn, &d, &content), 0);
	commit(txn);
	return content;
}

static inline void remove_file(struct fixture *f, uint64_t inode)
{
	struct catalog_txn *txn = begin_write(f);
	struct file_key key = key_of(inode);

	assert_int_equal(catalog_file_remove(txn, &key), 0);
	commit(txn);
}

#endif
