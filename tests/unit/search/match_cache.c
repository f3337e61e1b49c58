/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/search/search_impl.h"
#include "tests/support/recipe.h"

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

static void put(uint32_t content, uint64_t changes, size_t count)
{
	struct index_match matches[MATCH_CACHE_MOST + 1] = { { 0 } };
	size_t i;

	for (i = 0; i < count; i++)
		matches[i] = (struct index_match){
			.content = content + (uint32_t)i + 1,
			.verdict = { .score = (int)(i % 100),
				     .distinctive = (int)(i % 50) },
		};
	match_cache_put(cache, content, changes, matches, count);
}

/* How many matches the cache has, or -1. */
static int count_of(uint32_t content, uint64_t changes)
{
	struct index_match *matches;
	size_t i, count;

	if (!match_cache_get(cache, content, changes, &matches, &count))
		return -1;
	for (i = 0; i < count; i++) {
		assert_int_equal(matches[i].content, content + i + 1);
		assert_int_equal(matches[i].verdict.score, i % 100);
		assert_int_equal(matches[i].verdict.distinctive, i % 50);
		assert_int_equal(matches[i].verdict.reason, VERDICT_LISTED);
		assert_true(matches[i].verdict.bytes == 0);
	}
	free(matches);
	return (int)count;
}

TEST(matches_are_kept)
{
	put(7, 1, 3);
	put(8, 1, 0);
	assert_int_equal(count_of(7, 1), 3);
	assert_int_equal(count_of(7, 1), 3);
	assert_int_equal(count_of(8, 1), 0);
	assert_int_equal(count_of(9, 1), -1);
}

TEST(matches_of_another_index_are_not)
{
	put(7, 1, 3);
	assert_int_equal(count_of(7, 2), -1);
	put(7, 2, 4);
	assert_int_equal(count_of(7, 2), 4);
	assert_int_equal(count_of(7, 1), -1);
}

TEST(a_content_takes_the_slot_of_another)
{
	put(7, 1, 3);
	put(7 + MATCH_CACHE_SLOTS, 1, 2);
	assert_int_equal(count_of(7, 1), -1);
	assert_int_equal(count_of(7 + MATCH_CACHE_SLOTS, 1), 2);
}

TEST(very_many_matches_are_not_kept)
{
	put(7, 1, MATCH_CACHE_MOST);
	assert_int_equal(count_of(7, 1), MATCH_CACHE_MOST);
	put(9, 1, MATCH_CACHE_MOST + 1);
	assert_int_equal(count_of(9, 1), -1);
}

/* There is room again when a slot gets fewer. */
TEST(all_matches_are_bounded)
{
	uint32_t content, kept = 0, many = MATCH_CACHE_BYTES / 2048;

	for (content = 1; content <= many; content++)
		put(content, 1, MATCH_CACHE_MOST);
	for (content = 1; content <= many; content++)
		kept += count_of(content, 1) == MATCH_CACHE_MOST;
	assert_in_range(kept, many / 4, many - 1);
	for (content = 1; content <= many; content++)
		put(content, 2, 0);
	put(7, 2, MATCH_CACHE_MOST);
	assert_int_equal(count_of(7, 2), MATCH_CACHE_MOST);
}

int main(void)
{
	return test_run(set_up, tear_down);
}
