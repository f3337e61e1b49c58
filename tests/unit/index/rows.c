/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"
#include "tests/support/index_count.h"

/* The rows of the index: which ids they take, and what they cost. */

static struct digests plain_digests(uint64_t simhash)
{
	struct digests d = { .set = DIGEST_DEFAULT, .size = 10000 };

	store_be64(d.simhash, simhash);
	return d;
}

TEST(test_equal_ranks_come_by_id)
{
	struct digests d = plain_digests(0xff00ff00ff00ff00u);
	struct index_query query = { .digests = &d,
				     .rules = { .threshold = 1 },
				     .self = 2,
				     .first_content = 1 };
	struct index_candidate found[4];
	struct index *ix;
	size_t count;
	uint32_t id;

	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= 100; id++)
		assert_int_equal(index_add(ix, id, &d, NULL), 0);
	assert_int_equal(index_candidates(ix, &query, INDEX_BY_SIMHASH, found,
					  4, &count),
			 0);
	assert_int_equal(count, 4);
	assert_int_equal(found[0].content, 1);
	assert_int_equal(found[1].content, 3);
	assert_int_equal(found[3].content, 5);
	index_free(ix);
}

TEST(test_order_and_emptiness_are_refused)
{
	struct digests d = plain_digests(1), empty = { .set = DIGEST_DEFAULT };
	struct index *ix;

	assert_int_equal(index_new(&ix), 0);
	assert_int_equal(index_add(ix, 5, &d, NULL), 0);
	assert_int_equal(index_add(ix, 5, &d, NULL), -EINVAL);
	assert_int_equal(index_add(ix, 4, &d, NULL), -EINVAL);
	assert_int_equal(index_add(ix, 6, &empty, NULL), -EINVAL);
	index_remove(ix, 77);
	assert_int_equal(index_count(ix), 1);
	index_free(ix);
}

TEST(test_an_id_is_not_taken_back)
{
	struct digests d = plain_digests(1);
	struct index *ix;
	uint32_t id;

	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= 1000; id++)
		assert_int_equal(index_add(ix, id, &d, NULL), 0);
	for (id = 1; id <= 1000; id++)
		index_remove(ix, id);
	assert_int_equal(index_add(ix, 1000, &d, NULL), -EINVAL);
	assert_int_equal(index_add(ix, 1001, &d, NULL), 0);
	index_free(ix);
}

TEST(test_removed_rows_are_reclaimed)
{
	struct digests d = plain_digests(1);
	struct index *ix;
	size_t empty, full; /* what does not grow is in both */
	uint32_t id;

	assert_int_equal(index_new(&ix), 0);
	empty = index_bytes(ix);
	for (id = 1; id <= 100000; id++)
		assert_int_equal(index_add(ix, id, &d, NULL), 0);
	full = index_bytes(ix) - empty;
	assert_true(full < 100000 * 36 * 2);
	for (id = 1; id <= 99000; id++)
		index_remove(ix, id);
	assert_int_equal(index_count(ix), 1000);
	assert_true(index_bytes(ix) - empty < full / 10);
	index_free(ix);
}

TEST(test_every_change_is_counted)
{
	struct digests d = plain_digests(1);
	struct index *ix;
	uint64_t before;

	assert_int_equal(index_new(&ix), 0);
	before = index_change_count(ix);
	assert_int_equal(index_add(ix, 1, &d, NULL), 0);
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
