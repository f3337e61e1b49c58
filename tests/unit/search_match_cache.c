/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/search/match_cache.h"
#include "tests/unit/recipe.h"

static struct match_cache *cache;

static int set_up(void **state)
{
	(void)state;
	return match_cache_new(&cache);
}

static int tear_down(void **state)
{
	(void)state;
	match_cache_free(cache);
	return 0;
}

/* As if the content were its id, repeated. */
static struct digests digests_of(uint32_t content)
{
	struct digests d = { .size = content };

	memset(d.xxh128, (int)(content & 0xff), sizeof(d.xxh128));
	return d;
}

static void put(uint32_t content, uint64_t changes, size_t count)
{
	struct digests d = digests_of(content);
	struct index_match matches[MATCH_CACHE_MOST + 1] = { { 0 } };
	size_t i;

	for (i = 0; i < count; i++)
		matches[i].content = content + (uint32_t)i + 1;
	match_cache_put(cache, content, &d, changes, matches, count);
}

/* How many matches the cache has, or -1. */
static int count_of(uint32_t content, uint64_t changes)
{
	struct digests d = digests_of(content);
	struct index_match *matches;
	size_t i, count;

	if (!match_cache_get(cache, content, &d, changes, &matches, &count))
		return -1;
	for (i = 0; i < count; i++)
		assert_int_equal(matches[i].content, content + i + 1);
	free(matches);
	return (int)count;
}

static void matches_are_kept(void **state)
{
	(void)state;
	put(7, 1, 3);
	put(8, 1, 0);
	assert_int_equal(count_of(7, 1), 3);
	assert_int_equal(count_of(7, 1), 3);
	assert_int_equal(count_of(8, 1), 0);
	assert_int_equal(count_of(9, 1), -1);
}

static void matches_of_another_index_are_not(void **state)
{
	(void)state;
	put(7, 1, 3);
	assert_int_equal(count_of(7, 2), -1);
	put(7, 2, 4);
	assert_int_equal(count_of(7, 2), 4);
	assert_int_equal(count_of(7, 1), -1);
}

static void a_content_takes_the_slot_of_another(void **state)
{
	(void)state;
	put(7, 1, 3);
	put(7 + MATCH_CACHE_SLOTS, 1, 2);
	assert_int_equal(count_of(7, 1), -1);
	assert_int_equal(count_of(7 + MATCH_CACHE_SLOTS, 1), 2);
}

/* The catalog names the content that a file had, its digests are of the one that
 * it has. */
static void matches_of_other_digests_are_not(void **state)
{
	struct digests size = digests_of(7), hash = size;
	struct index_match *matches;
	size_t count;

	(void)state;
	put(7, 1, 3);
	size.size++;
	hash.xxh128[15] ^= 1;
	assert_false(match_cache_get(cache, 7, &size, 1, &matches, &count));
	assert_false(match_cache_get(cache, 7, &hash, 1, &matches, &count));
	assert_int_equal(count_of(7, 1), 3);
}

static void very_many_matches_are_not_kept(void **state)
{
	(void)state;
	put(7, 1, MATCH_CACHE_MOST);
	assert_int_equal(count_of(7, 1), MATCH_CACHE_MOST);
	put(9, 1, MATCH_CACHE_MOST + 1);
	assert_int_equal(count_of(9, 1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_are_kept),
		cmocka_unit_test(matches_of_another_index_are_not),
		cmocka_unit_test(a_content_takes_the_slot_of_another),
		cmocka_unit_test(matches_of_other_digests_are_not),
		cmocka_unit_test(very_many_matches_are_not_kept),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
