/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"
#include "tests/support/index_count.h"

/* The rows of the index: which ids they take, and what they cost. */

static int add(struct index *ix, uint32_t id)
{
	static const struct sketch without_windows;

	return index_add(ix, id, &without_windows);
}

TEST(test_equal_ranks_come_by_id)
{
	static struct sketch sketch;
	struct index_query query = { .subject = subject_of_bytes(&sketch),
				     .self = 2 };
	struct index_candidate found[4];
	struct index *ix;
	size_t count;
	uint32_t id;

	sketch_add(&sketch, value_of(1));
	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= 100; id++)
		assert_int_equal(index_add(ix, id, &sketch), 0);
	assert_int_equal(index_candidates(ix, &query, false, found, 4, &count),
			 0);
	assert_int_equal(count, 4);
	assert_int_equal(found[0].content, 1);
	assert_int_equal(found[1].content, 3);
	assert_int_equal(found[3].content, 5);
	index_free(ix);
}

TEST(test_another_order_is_refused)
{
	struct index *ix;

	assert_int_equal(index_new(&ix), 0);
	assert_int_equal(add(ix, 0), -EINVAL);
	assert_int_equal(add(ix, 5), 0);
	assert_int_equal(add(ix, 5), -EINVAL);
	assert_int_equal(add(ix, 4), -EINVAL);
	index_remove(ix, 77);
	assert_int_equal(index_count(ix), 1);
	index_free(ix);
}

TEST(test_an_id_is_not_taken_back)
{
	struct index *ix;
	uint32_t id;

	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= 1000; id++)
		assert_int_equal(add(ix, id), 0);
	for (id = 1; id <= 1000; id++)
		index_remove(ix, id);
	assert_int_equal(add(ix, 1000), -EINVAL);
	assert_int_equal(add(ix, 1001), 0);
	index_free(ix);
}

TEST(test_removed_rows_are_reclaimed)
{
	struct index *ix;
	size_t empty, full; /* what does not grow is in both */
	uint32_t id;

	assert_int_equal(index_new(&ix), 0);
	empty = index_bytes(ix);
	for (id = 1; id <= 100000; id++)
		assert_int_equal(add(ix, id), 0);
	full = index_bytes(ix) - empty;
	assert_true(full < 100000 * 16 * 2);
	for (id = 1; id <= 99000; id++)
		index_remove(ix, id);
	assert_int_equal(index_count(ix), 1000);
	assert_true(index_bytes(ix) - empty < full / 10);
	index_free(ix);
}

TEST(test_every_change_is_counted)
{
	struct index *ix;
	uint64_t before;

	assert_int_equal(index_new(&ix), 0);
	before = index_change_count(ix);
	assert_int_equal(add(ix, 1), 0);
	assert_true(index_change_count(ix) > before);
	before = index_change_count(ix);
	index_remove(ix, 1);
	assert_true(index_change_count(ix) > before);
	before = index_change_count(ix);
	assert_int_equal(index_load_begin(ix), 0);
	assert_int_equal(index_load_end(ix), 0);
	assert_true(index_change_count(ix) > before);
	index_free(ix);
}
