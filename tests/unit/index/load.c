/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/index.h"
#include "core/index/postings.h"

/*
 * What was loaded at once is the same as what was added one by one.
 */
enum { CONTENTS = 400, KEYS_MOST = 40, ROOM = 2 * CONTENTS + 1 };

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 24;
}

/* Of few different ones, so that many contents have them; mask tells how few. */
static size_t draw_keys(uint64_t *state, uint32_t mask, uint32_t *keys)
{
	size_t most = next_random(state) % (KEYS_MOST + 1), count = 0, i, k;

	for (i = 0; i < most; i++) {
		keys[count] = (uint32_t)next_random(state) &
			      (i % 2 ? mask : POSTINGS_KEYS - 1) &
			      (POSTINGS_KEYS - 1);
		for (k = 0; k < count && keys[k] != keys[count]; k++)
			;
		count += k == count;
	}
	return count;
}

static int load_end(struct postings *p)
{
	unsigned part;
	int err = 0;

	for (part = 0; part < POSTINGS_PARTS && !err; part++)
		err = postings_load_end(p, part);
	return err;
}

static void add_from(struct postings *p, uint32_t first, uint64_t seed,
		     uint32_t mask)
{
	uint32_t keys[KEYS_MOST], content;
	size_t count;

	for (content = first; content < first + CONTENTS; content++) {
		count = draw_keys(&seed, mask, keys);
		assert_int_equal(postings_add(p, content, keys, count, 8), 0);
	}
}

static void add_all(struct postings *p, uint64_t seed, uint32_t mask)
{
	add_from(p, 1, seed, mask);
}

static size_t find(const struct postings *p, uint32_t key, uint32_t *out)
{
	size_t count = postings_find(p, key, out, ROOM);

	assert_true(count < ROOM);
	return count;
}

static void assert_same(const struct postings *a, const struct postings *b,
			uint64_t seed, uint32_t mask)
{
	uint32_t *x = calloc(ROOM, sizeof(*x)), *y = calloc(ROOM, sizeof(*y));
	uint32_t keys[KEYS_MOST], content;
	size_t count, i;

	assert_true(x && y);
	assert_int_equal(postings_count(a), postings_count(b));
	assert_int_equal(postings_limit(a), postings_limit(b));
	for (content = 1; content <= CONTENTS; content++) {
		count = draw_keys(&seed, mask, keys);
		for (i = 0; i < count; i++) {
			size_t n = find(a, keys[i], x);

			assert_int_equal(find(b, keys[i], y), n);
			assert_memory_equal(x, y, n * sizeof(*x));
		}
	}
	free(x);
	free(y);
}

TEST(test_equals_additions)
{
	static const size_t budgets[] = { 0, 100, 3000, 6000, 1 << 20 };
	static const uint32_t masks[] = { 0, 7, 0x700, 0xffff,
					  POSTINGS_KEYS - 1 };
	struct postings *loaded, *added;
	uint64_t seed;
	size_t i, j;

	for (i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
		for (j = 0; j < sizeof(masks) / sizeof(masks[0]); j++) {
			seed = 100 * i + j;
			assert_int_equal(postings_new(budgets[i], &loaded), 0);
			assert_int_equal(postings_new(budgets[i], &added), 0);
			add_all(added, seed, masks[j]);
			assert_int_equal(postings_load_begin(loaded), 0);
			add_all(loaded, seed, masks[j]);
			assert_int_equal(load_end(loaded), 0);
			assert_same(loaded, added, seed, masks[j]);
			/* Also what comes later. */
			add_all(loaded, seed + 50, masks[j]);
			add_all(added, seed + 50, masks[j]);
			assert_same(loaded, added, seed, masks[j]);
			assert_same(loaded, added, seed + 50, masks[j]);
			postings_free(loaded);
			postings_free(added);
		}
	}
}

/* What is there already is found meanwhile, what is loaded only at the end,
 * whichever part it is in. */
static void load_behind(struct postings *loaded, uint64_t seed, uint32_t mask)
{
	uint32_t key = 77, out;

	assert_int_equal(postings_add(loaded, 1, &key, 1, 1), 0);
	assert_int_equal(postings_load_begin(loaded), 0);
	add_from(loaded, CONTENTS + 1, seed, mask);
	assert_int_equal(postings_add(loaded, 2 * CONTENTS, &key, 1, 1), 0);
	assert_int_equal(postings_find(loaded, key, &out, 1), 1);
	assert_int_equal(out, 1);
	assert_int_equal(load_end(loaded), 0);
	assert_int_equal(postings_find(loaded, key, &out, 1), 2);
	assert_int_equal(load_end(loaded), 0);
}

TEST(test_equals_additions_behind_others)
{
	static const size_t budgets[] = { 0, 6000, 9000, 1 << 20 };
	const uint32_t mask = 0x700000, key = 77;
	struct postings *loaded, *added;
	size_t i;

	for (i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
		assert_int_equal(postings_new(budgets[i], &loaded), 0);
		assert_int_equal(postings_new(budgets[i], &added), 0);
		add_all(loaded, 5, mask);
		add_all(added, 5, mask);
		load_behind(loaded, 6, mask);
		assert_int_equal(postings_add(added, 1, &key, 1, 1), 0);
		add_from(added, CONTENTS + 1, 6, mask);
		assert_int_equal(postings_add(added, 2 * CONTENTS, &key, 1, 1),
				 0);
		assert_same(loaded, added, 5, mask);
		assert_same(loaded, added, 6, mask);
		postings_free(loaded);
		postings_free(added);
	}
}

TEST(test_ends_without_beginning_or_additions)
{
	uint32_t key = 5, out;
	struct postings *p;

	assert_int_equal(postings_new(100, &p), 0);
	assert_int_equal(load_end(p), 0);
	assert_int_equal(postings_load_begin(p), 0);
	assert_int_equal(postings_load_begin(p), -EINVAL);
	assert_int_equal(load_end(p), 0);
	assert_int_equal(postings_count(p), 0);
	assert_int_equal(postings_add(p, 1, &key, 1, 1), 0);
	assert_int_equal(postings_find(p, key, &out, 1), 1);
	postings_free(p);
}

TEST(test_takes_no_id_below_the_last)
{
	uint32_t key = 5, out[3];
	struct postings *p;

	assert_int_equal(postings_new(100, &p), 0);
	assert_int_equal(postings_load_begin(p), 0);
	assert_int_equal(postings_add(p, 2, &key, 1, 1), 0);
	assert_int_equal(postings_add(p, 2, &key, 1, 1), 0);
	assert_int_equal(postings_add(p, 1, &key, 1, 1), -EINVAL);
	assert_int_equal(load_end(p), 0);
	assert_int_equal(postings_find(p, key, out, 3), 1);
	assert_int_equal(out[0], 2);
	postings_free(p);
}

TEST(test_may_be_given_up)
{
	struct postings *p;

	assert_int_equal(postings_new(1000, &p), 0);
	assert_int_equal(postings_load_begin(p), 0);
	add_all(p, 1, POSTINGS_KEYS - 1);
	postings_free(p);
}

TEST(test_index_finds_what_was_loaded)
{
	static struct sketch sketch;
	struct index_query q = { .subject = subject_of_bytes(&sketch) };
	struct index_candidate out[2];
	struct index *ix;
	size_t count;

	sketch.values[0] = 12345;
	sketch.times[0] = 1;
	sketch.windows = sketch.count = 1;
	assert_int_equal(index_new(&ix), 0);
	assert_int_equal(index_load_begin(ix), 0);
	assert_int_equal(index_add(ix, 7, &sketch), 0);
	assert_int_equal(index_candidates(ix, &q, false, out, 2, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(index_load_end(ix), 0);
	assert_int_equal(index_candidates(ix, &q, false, out, 2, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(out[0].content, 7);
	index_free(ix);
}
