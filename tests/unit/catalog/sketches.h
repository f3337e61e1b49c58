/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CATALOG_SKETCHES_H
#define TESTS_UNIT_CATALOG_SKETCHES_H

#include "tests/unit/catalog/fixture.h"

/* Sketches, and contents of a catalog that have them. */

static inline void make_sketch(size_t count, uint64_t seed,
			       struct sif_sketch *out)
{
	uint64_t value = 0;
	size_t i;

	*out = (struct sif_sketch){ .window = SIF_WINDOW, .count = count };
	for (i = 0; i < count; i++) {
		value += 1 + random_below(&seed, UINT64_C(1) << 37);
		out->values[i] = value;
		out->places[i] = (uint8_t)(i * 7 % SIF_PLACES);
	}
	/* Some have places. */
	out->is_placed = count > 1 && count % 3 == 1;
	out->distinct = count < 128 ? count : 1000 * count;
	out->windows = 2 * out->distinct;
	for (i = 0; i < count; i++)
		out->times[i] = i % 10 ? 1 : sif_round(1 + (uint32_t)i);
	sif_thin(out, 400);
	sif_round_values(out);
}

static inline void assert_same_sketch(const struct sif_sketch *have,
				      const struct sif_sketch *want)
{
	assert_int_equal(have->window, want->window);
	assert_true(have->distinct == want->distinct);
	assert_true(have->windows == want->windows);
	assert_int_equal(have->count, want->count);
	assert_int_equal(have->rest, want->rest);
	assert_int_equal(have->rest_shift, want->rest_shift);
	assert_memory_equal(have->values, want->values,
			    (want->count + want->rest) *
				    sizeof(want->values[0]));
	assert_memory_equal(have->times, want->times,
			    (want->count + want->rest) *
				    sizeof(want->times[0]));
	assert_int_equal(have->is_placed, want->is_placed);
	if (want->is_placed)
		assert_memory_equal(have->places, want->places, want->count);
}

/* Sets the file, to a content with that sketch or (NULL) without. */
static inline uint32_t add_content(struct fixture *f, uint64_t inode,
				   const struct sif_sketch *sketch)
{
	struct catalog_txn *txn = begin_write(f);
	char text[64];
	struct digests d = digests_of(inode, text, sizeof(text));
	struct file_identity id = identity_of(inode);
	struct file_key key = key_of(inode);
	struct buf sif = { 0 };
	uint32_t content;

	if (sketch)
		assert_int_equal(sif_format(sketch, &sif), 0);
	else
		d.set &= ~DIGEST_BIT(DIGEST_SIF);
	d.text[DIGEST_SIF] = sif.data;
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
	assert_int_equal(catalog_content_find(txn, &d, &content), 0);
	commit(txn);
	buf_release(&sif);
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
