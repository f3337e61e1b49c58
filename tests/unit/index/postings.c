/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/postings.h"
#include "tests/support/test.h"

#define LAST_KEY (POSTINGS_KEYS - 1)

static uint64_t draw(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static struct postings *make(size_t budget)
{
	struct postings *p;

	assert_int_equal(postings_new(budget, &p), 0);
	return p;
}

static void add(struct postings *p, uint32_t content, uint32_t key,
		size_t anchors)
{
	assert_int_equal(postings_add(p, content, &key, 1, anchors), 0);
}

/* ---- the model: a sorted array of key, content, anchor ---- */

#define MODEL_ROOM 100000

struct model {
	uint64_t entries[MODEL_ROOM];
	size_t count;
	size_t budget;
	uint64_t limit;
};

static uint64_t entry(uint32_t key, uint32_t content, bool anchor)
{
	return (uint64_t)key << 33 | (uint64_t)content << 1 | anchor;
}

static uint32_t entry_key(uint64_t e)
{
	return (uint32_t)(e >> 33);
}

static uint32_t entry_content(uint64_t e)
{
	return (uint32_t)(e >> 1);
}

static size_t model_place(const struct model *m, uint64_t e)
{
	size_t low = 0, high = m->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (m->entries[middle] < e)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void model_put(struct model *m, uint32_t key, uint32_t content,
		      bool anchor)
{
	uint64_t e = entry(key, content, anchor);
	size_t i = model_place(m, e & ~UINT64_C(1));

	if (!anchor && key >= m->limit)
		return;
	if (i < m->count && m->entries[i] >> 1 == e >> 1) {
		m->entries[i] |= e;
		return;
	}
	assert_true(m->count < MODEL_ROOM);
	memmove(&m->entries[i + 1], &m->entries[i],
		(m->count++ - i) * sizeof(m->entries[0]));
	m->entries[i] = e;
}

static void model_halve(struct model *m)
{
	size_t i, kept = 0;

	m->limit /= 2;
	for (i = 0; i < m->count; i++)
		if ((m->entries[i] & 1) || entry_key(m->entries[i]) < m->limit)
			m->entries[kept++] = m->entries[i];
	m->count = kept;
}

static void model_add(struct model *m, uint32_t content, const uint32_t *keys,
		      size_t count, size_t anchors)
{
	size_t i;

	for (i = 0; i < count; i++)
		model_put(m, keys[i], content, i < anchors);
	while (m->count > m->budget && m->limit)
		model_halve(m);
}

static void model_sweep(struct model *m, bool (*lives)(void *, uint32_t),
			void *arg)
{
	size_t i, kept = 0;

	for (i = 0; i < m->count; i++)
		if (lives(arg, entry_content(m->entries[i])))
			m->entries[kept++] = m->entries[i];
	m->count = kept;
}

/* The contents of the key at i; returns the place of the next key. */
static size_t compare_key(const struct postings *p, const struct model *m,
			  size_t i)
{
	static uint32_t have[MODEL_ROOM + 1];
	uint32_t key = entry_key(m->entries[i]);
	size_t end = i, count, j;

	while (end < m->count && entry_key(m->entries[end]) == key)
		end++;
	count = end - i;
	assert_int_equal(postings_find(p, key, have, count + 1), count);
	for (j = 0; j < count; j++)
		assert_int_equal(have[j], entry_content(m->entries[i + j]));
	return end;
}

static void compare(const struct postings *p, const struct model *m,
		    uint64_t *seed)
{
	uint32_t key, one = 0;
	size_t i;

	assert_int_equal(postings_count(p), m->count);
	assert_int_equal(postings_limit(p), m->limit);
	for (i = 0; i < m->count;)
		i = compare_key(p, m, i);
	for (i = 0; i < 1000; i++) {
		key = (uint32_t)draw(seed) % POSTINGS_KEYS;
		size_t at = model_place(m, entry(key, 0, false));

		if (at == m->count || entry_key(m->entries[at]) != key)
			assert_int_equal(postings_find(p, key, &one, 1), 0);
	}
}

/* ---- random programs ---- */

/* What keys and contents are like. */
struct shape {
	const char *name;
	uint32_t mask;   /* bits that keys may have */
	uint32_t spread; /* contents are 0..spread-1; 0: ascending */
	size_t budget;
	unsigned steps;
};

static const struct shape shapes[] = {
	{ "any key", LAST_KEY, 0, 30000, 4000 },
	{ "any key, contents again", LAST_KEY, 500, 1000000, 4000 },
	{ "one bucket", 0x7fff0000, 0, 20000, 3500 },
	{ "one bucket, contents again", 0x7fff0000, 3000, 1000000, 3500 },
	{ "two buckets, small budget", 0x7fff0001, 900, 3000, 3500 },
	{ "few keys", 0x10100303, 0, 1000000, 3500 },
	{ "few keys, contents again", 0x10100303, 5000, 1000000, 3500 },
	{ "one part", 0x0007ff00, 4000, 1000000, 3500 },
	{ "adjacent keys", 0x00000fff, 4000, 20000, 3500 },
	{ "a limit below the buckets", 0x000003ff, 0, 6500, 3500 },
};

static uint32_t draw_key(const struct shape *shape, uint64_t *seed)
{
	return (uint32_t)draw(seed) & shape->mask & LAST_KEY;
}

static void step_add(struct postings *p, struct model *m,
		     const struct shape *shape, uint32_t step, uint64_t *seed)
{
	uint32_t keys[24], content = step * 7;
	size_t count = draw(seed) % 24, anchors = draw(seed) % 4, i;

	if (shape->spread)
		content = (uint32_t)draw(seed) % shape->spread;
	for (i = 0; i < count; i++)
		keys[i] = draw_key(shape, seed);
	assert_int_equal(postings_add(p, content, keys, count, anchors), 0);
	model_add(m, content, keys, count, anchors);
}

/* All but one in arg. */
static bool lives_mostly(void *arg, uint32_t content)
{
	return content % *(uint32_t *)arg;
}

static void sweep_all(struct postings *p, bool (*lives)(void *, uint32_t),
		      void *arg)
{
	unsigned part;

	for (part = 0; part < POSTINGS_PARTS; part++)
		postings_sweep_part(p, part, lives, arg);
}

static void run_program(const struct shape *shape, uint64_t seed)
{
	static struct model m;
	struct postings *p = make(shape->budget);
	uint32_t step, period = 2 + (uint32_t)draw(&seed) % 9;

	m.count = 0;
	m.budget = shape->budget;
	m.limit = POSTINGS_KEYS;
	for (step = 0; step < shape->steps; step++) {
		step_add(p, &m, shape, step, &seed);
		if (step % 1000 == 900)
			compare(p, &m, &seed);
		if (step % 1500 == 1400) {
			sweep_all(p, lives_mostly, &period);
			model_sweep(&m, lives_mostly, &period);
			compare(p, &m, &seed);
		}
	}
	compare(p, &m, &seed);
	postings_free(p);
}

TEST(test_it_is_the_model)
{
	size_t i;
	uint64_t seed;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		for (seed = 1; seed <= 2; seed++) {
			print_message("%s, seed %d\n", shapes[i].name,
				      (int)seed);
			run_program(&shapes[i], seed);
		}
	}
}

/* ---- one promise each ---- */

TEST(test_an_empty_one_has_nothing)
{
	struct postings *p = make(0);

	assert_int_equal(postings_count(p), 0);
	assert_int_equal(postings_limit(p), POSTINGS_KEYS);
	assert_int_equal(postings_find(p, 0, NULL, 0), 0);
	assert_int_equal(postings_find(p, LAST_KEY, NULL, 0), 0);
	assert_int_equal(postings_add(p, 1, NULL, 0, 0), 0);
	sweep_all(p, lives_mostly, &(uint32_t){ 2 });
	assert_int_equal(postings_count(p), 0);
	postings_free(p);
	postings_free(NULL);
}

TEST(test_keys_and_contents_at_the_borders)
{
	static const uint32_t keys[] = { 0,
					 1,
					 0xff,
					 0x100,
					 0x7fffff,
					 0x800000,
					 LAST_KEY - 0x100,
					 LAST_KEY - 1,
					 LAST_KEY };
	static const uint32_t contents[] = { UINT32_MAX, 0, 1, UINT32_MAX - 1 };
	struct postings *p = make(1000);
	uint32_t found[5];
	size_t i;

	for (i = 0; i < 4; i++)
		assert_int_equal(postings_add(p, contents[i], keys, 9, 1), 0);
	assert_int_equal(postings_count(p), 36);
	for (i = 0; i < 9; i++) {
		assert_int_equal(postings_find(p, keys[i], found, 5), 4);
		assert_int_equal(found[0], 0);
		assert_int_equal(found[1], 1);
		assert_int_equal(found[2], UINT32_MAX - 1);
		assert_int_equal(found[3], UINT32_MAX);
	}
	assert_int_equal(postings_find(p, 2, found, 5), 0);
	assert_int_equal(postings_find(p, LAST_KEY - 2, found, 5), 0);
	postings_free(p);
}

TEST(test_anchors_stay_whatever_the_budget)
{
	enum { COUNT = 100000 };
	struct postings *p = make(COUNT / 2);
	uint32_t i, keys[2], found;
	uint64_t seed = 3;

	for (i = 0; i < COUNT; i++) {
		keys[0] = i * 20011 % POSTINGS_KEYS;
		keys[1] = (uint32_t)draw(&seed) % POSTINGS_KEYS;
		assert_int_equal(postings_add(p, i, keys, 2, 1), 0);
		assert_true(postings_count(p) <= COUNT / 2 ||
			    !postings_limit(p));
	}
	assert_int_equal(postings_limit(p), 0);
	assert_int_equal(postings_count(p), COUNT);
	for (i = 0; i < COUNT; i++) {
		keys[0] = i * 20011 % POSTINGS_KEYS;
		assert_int_equal(postings_find(p, keys[0], &found, 1), 1);
		assert_int_equal(found, i);
	}
	postings_free(p);
}

TEST(test_the_limit_goes_down_to_0)
{
	struct postings *p = make(1);

	add(p, 1, 0, 0);
	add(p, 2, 1, 0);
	assert_int_equal(postings_limit(p), 1);
	assert_int_equal(postings_count(p), 1);
	assert_int_equal(postings_find(p, 0, NULL, 0), 1);
	assert_int_equal(postings_find(p, 1, NULL, 0), 0);
	add(p, 3, 1, 1);
	assert_int_equal(postings_limit(p), 0);
	assert_int_equal(postings_count(p), 1);
	assert_int_equal(postings_find(p, 0, NULL, 0), 0);
	assert_int_equal(postings_find(p, 1, NULL, 0), 1);
	postings_free(p);
}

TEST(test_many_keys_of_one_bucket)
{
	static uint32_t keys[4096];
	struct postings *p = make(1u << 20);
	uint32_t i, n = sizeof(keys) / sizeof(keys[0]);

	for (i = 0; i < n; i++)
		keys[i] = i << 16;
	for (i = 1; i < 30; i++)
		assert_int_equal(postings_add(p, i, keys, n, 0), 0);
	assert_int_equal(postings_count(p), 29 * n);
	for (i = 0; i < n; i++)
		assert_int_equal(postings_find(p, keys[i], NULL, 0), 29);
	postings_free(p);
}

/* ---- a key that very many contents have ---- */

enum { POPULAR = 100000, POPULAR_KEY = 0x12345678 };

static uint32_t ascending(uint32_t i)
{
	return i;
}

static uint32_t descending(uint32_t i)
{
	return POPULAR - 1 - i;
}

/* A factor that has no divisor in common with POPULAR. */
static uint32_t scattered(uint32_t i)
{
	return (uint32_t)(i * UINT64_C(48271) % POPULAR);
}

static void check_popular(uint32_t (*order)(uint32_t))
{
	static uint32_t found[POPULAR];
	struct postings *p = make(1u << 20);
	uint32_t i;

	for (i = 0; i < POPULAR; i++) {
		uint32_t keys[] = { POPULAR_KEY, POPULAR_KEY + i };

		assert_int_equal(postings_add(p, order(i), keys, 2, 1), 0);
		assert_int_equal(postings_find(p, POPULAR_KEY, NULL, 0), i + 1);
	}
	assert_int_equal(postings_count(p), 2 * POPULAR - 1);
	assert_int_equal(postings_find(p, POPULAR_KEY, found, 10), POPULAR);
	assert_int_equal(postings_find(p, POPULAR_KEY, found, POPULAR),
			 POPULAR);
	for (i = 0; i < POPULAR; i++)
		assert_int_equal(found[i], i);
	for (i = 1; i < POPULAR; i++)
		assert_int_equal(postings_find(p, POPULAR_KEY + i, found, 2),
				 1);
	postings_free(p);
}

TEST(test_a_key_of_very_many)
{
	check_popular(ascending);
	check_popular(descending);
	check_popular(scattered);
}

TEST(test_no_more_than_fits_is_written)
{
	struct postings *p = make(1000);
	uint32_t found[5], i, capacity;

	for (i = 0; i < 4; i++)
		add(p, i, 77, 0);
	for (capacity = 0; capacity <= 4; capacity++) {
		memset(found, 0xee, sizeof(found));
		assert_int_equal(postings_find(p, 77, found, capacity), 4);
		for (i = 0; i < 5; i++)
			assert_int_equal(found[i] == 0xeeeeeeee, i >= capacity);
	}
	postings_free(p);
}

/* ---- sweeping ---- */

static bool lives_never(void *arg, uint32_t content)
{
	(void)arg;
	(void)content;
	return false;
}

TEST(test_a_part_is_swept_alone)
{
	struct postings *p = make(1u << 20);
	uint32_t i, keys = 200000;

	for (i = 0; i < keys; i++)
		add(p, i, i, i % 2);
	for (i = 0; i < POSTINGS_PARTS; i++) {
		assert_true(postings_count(p) > 0);
		postings_sweep_part(p, i, lives_never, NULL);
	}
	assert_int_equal(postings_count(p), 0);
	for (i = 0; i < keys; i++)
		assert_int_equal(postings_find(p, i, NULL, 0), 0);
	postings_free(p);
}

TEST(test_it_is_small)
{
	enum { COUNT = 1 << 21 };
	struct postings *p = make(COUNT);
	uint32_t i, j, keys[16];
	uint64_t seed = 5;

	for (i = 0; i < COUNT / 16; i++) {
		for (j = 0; j < 16; j++)
			keys[j] = (uint32_t)draw(&seed) % POSTINGS_KEYS;
		assert_int_equal(postings_add(p, i, keys, 16, 4), 0);
	}
	assert_in_range(postings_bytes(p), 6 * postings_count(p),
			9 * postings_count(p));
	postings_free(p);
}
