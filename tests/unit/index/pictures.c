/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/index.h"
#include "tests/support/test.h"

/* Pictures in the index: found by few bits, turned or not; removed; hidden. */

static int no_sketch(void *arg, uint32_t id, struct sketch *out)
{
	(void)arg;
	(void)id;
	(void)out;
	return -ENOENT;
}

static const struct index_store store = { .sketch = no_sketch };

static struct pdq hash_of(unsigned seed)
{
	struct pdq hash;
	uint32_t x = seed;
	size_t i;

	for (i = 0; i < PDQ_BYTES; i++) {
		x = x * 1664525 + 1013904223;
		hash.bytes[i] = (uint8_t)(x >> 24);
	}
	return hash;
}

/* With so many bits changed. */
static struct pdq changed(struct pdq hash, unsigned bits)
{
	for (; bits; bits--)
		hash.bytes[bits % PDQ_BYTES] ^=
			(uint8_t)(1 << bits / PDQ_BYTES);
	return hash;
}

static size_t search(struct index *ix, struct pdq hash,
		     enum index_relation relation,
		     struct index_visibility *visibility,
		     struct index_match out[INDEX_MATCHES])
{
	const struct index_query query = {
		.subject = { .picture = hash, .has_picture = true },
		.rules = { .relation = relation, .threshold = 60 },
		.self = 1,
		.visibility = visibility,
	};
	size_t count;

	assert_int_equal(index_search(ix, &query, &store, out, &count), 0);
	return count;
}

static bool is_odd(void *arg, uint32_t content, uint32_t id)
{
	(void)arg;
	(void)id;
	return content % 2;
}

TEST(pictures)
{
	struct index_match *m = calloc(INDEX_MATCHES, sizeof(*m));
	struct index_visibility *visibility = calloc(1, sizeof(*visibility));
	const struct pdq hash = hash_of(7), stranger = hash_of(8);
	struct pdq other;
	struct index *ix;
	uint32_t i;

	assert_non_null(m);
	assert_non_null(visibility);
	assert_int_equal(index_new(&ix), 0);
	assert_int_equal(index_add_picture(ix, 11, 1, &hash), 0);
	other = changed(hash, 31);
	assert_int_equal(index_add_picture(ix, 12, 2, &other), 0);
	pdq_turn(&hash, PDQ_ROTATED_90, &other);
	assert_int_equal(index_add_picture(ix, 13, 3, &other), 0);
	other = changed(hash, 32);
	assert_int_equal(index_add_picture(ix, 14, 4, &other), 0);
	assert_int_equal(index_add_picture(ix, 15, 5, &stranger), 0);

	assert_int_equal(search(ix, hash, INDEX_ALIKE, NULL, m), 2);
	assert_int_equal(m[0].content, 3);
	assert_int_equal(m[0].verdict.score, 99);
	assert_int_equal(m[0].verdict.by, SUBJECT_PICTURE);
	assert_int_equal(m[1].content, 2);
	assert_int_equal(m[1].verdict.score, 60);
	assert_int_equal(search(ix, hash, INDEX_WITHIN, NULL, m), 0);

	visibility->is_visible = is_odd;
	assert_int_equal(search(ix, hash, INDEX_ALIKE, visibility, m), 1);
	assert_int_equal(m[0].content, 3);

	/* Very many that the caller does not see take no room of others, and the
	 * nearest of those comes first. */
	other = changed(hash, 20);
	for (i = 0; i < 2 * INDEX_MATCHES; i++)
		assert_int_equal(
			index_add_picture(ix, 100 + i, 100 + 2 * i, &other), 0);
	other = changed(hash, 10);
	assert_int_equal(index_add_picture(ix, 9000, 9001, &other), 0);
	assert_int_equal(search(ix, hash, INDEX_ALIKE, visibility, m), 2);
	assert_int_equal(m[1].content, 9001);
	assert_int_equal(search(ix, hash, INDEX_ALIKE, NULL, m), INDEX_MATCHES);
	assert_int_equal(m[1].content, 9001);
	for (i = 0; i < 2 * INDEX_MATCHES; i++)
		index_remove(ix, 100 + i);
	index_remove(ix, 9000);

	index_remove(ix, 13);
	assert_int_equal(search(ix, hash, INDEX_ALIKE, NULL, m), 1);
	assert_int_equal(m[0].content, 2);
	assert_int_equal(index_end(ix), 9001);
	index_free(ix);
	free(visibility);
	free(m);
}
