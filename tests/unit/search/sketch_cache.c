/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"
#include "tests/unit/catalog/sketches.h"

#include "core/search/sketch_cache.h"

/* What the cache answers is what the catalog answers. */

static void assert_has(struct sketch_cache *c, struct fixture *f,
		       uint32_t content)
{
	static struct sketch have, want;
	struct catalog_txn *txn = begin_read(f);

	assert_int_equal(catalog_sketch_get(txn, content, &want), 0);
	assert_int_equal(sketch_cache_get(c, txn, content, &have), 0);
	assert_same_sketch(&have, &want);
	catalog_abort(txn);
}

static struct sketch_cache *new_cache(void)
{
	struct sketch_cache *c;

	assert_int_equal(sketch_cache_new(&c), 0);
	return c;
}

static uint32_t add(struct fixture *f, uint64_t inode, size_t count)
{
	static struct sketch sketch;

	make_sketch(count, inode, &sketch);
	return add_content(f, inode, &sketch);
}

static void test_a_sketch_comes_back_as_it_was(void **state)
{
	static const size_t counts[] = { 1, 2, 100, 130, 400, 1000, 1024 };
	struct sketch_cache *c = new_cache();
	struct fixture *f = *state;
	uint32_t contents[7];
	int i, round;

	for (i = 0; i < 7; i++)
		contents[i] = add(f, (uint64_t)i + 1, counts[i]);
	for (round = 0; round < 3; round++)
		for (i = 0; i < 7; i++)
			assert_has(c, f, contents[i]);
	sketch_cache_free(c);
}

/* The catalog is not asked again. */
static void test_a_sketch_is_remembered(void **state)
{
	static struct sketch sketch;
	struct sketch_cache *c = new_cache();
	struct fixture *f = *state;
	uint32_t content = add(f, 1, 200);
	struct catalog_txn *txn;

	assert_has(c, f, content);
	remove_file(f, 1);
	txn = begin_read(f);
	assert_int_equal(catalog_sketch_get(txn, content, &sketch), -ENOENT);
	assert_int_equal(sketch_cache_get(c, txn, content, &sketch), 0);
	catalog_abort(txn);
	sketch_cache_free(c);
}

static void test_a_missing_sketch_is_not_remembered(void **state)
{
	static struct sketch sketch;
	struct sketch_cache *c = new_cache();
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_read(f);
	uint32_t content;

	assert_int_equal(sketch_cache_get(c, txn, 1, &sketch), -ENOENT);
	catalog_abort(txn);
	content = add(f, 1, 100);
	assert_int_equal(content, 1);
	assert_has(c, f, content);
	sketch_cache_free(c);
}

/* More contents than slots, and more bytes than there is room for. */
static void test_many_contents_take_turns(void **state)
{
	enum { COUNT = SKETCH_CACHE_SLOTS + 200, LARGE = 1024 };
	struct sketch_cache *c = new_cache();
	struct fixture *f = *state;
	uint32_t i, round;

	for (i = 1; i <= COUNT; i++)
		assert_int_equal(add(f, i, i % 2 ? LARGE : 3), i);
	for (round = 0; round < 2; round++)
		for (i = 1; i <= COUNT; i++)
			assert_has(c, f, i);
	sketch_cache_free(c);
}

#define with_catalog(name)                                        \
	cmocka_unit_test_setup_teardown(name, fixture_setup_open, \
					fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_catalog(test_a_sketch_comes_back_as_it_was),
		with_catalog(test_a_sketch_is_remembered),
		with_catalog(test_a_missing_sketch_is_not_remembered),
		with_catalog(test_many_contents_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
