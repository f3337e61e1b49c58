/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include <xxhash.h>

#include "core/kernel/window/window_impl.h"
#include "tests/unit/window_fixture.h"

#define SLOTS 8192

static const struct range {
	uint64_t low, high;
} ranges[] = {
	{ 0, 0 },
	{ 0, UINT64_MAX / 500 },
	{ 0, UINT64_MAX / 50 },
	{ 0, UINT64_MAX / 12 },
	{ UINT64_MAX / 40, UINT64_MAX / 20 },
	{ UINT64_MAX / 500, UINT64_MAX / 100 },
	{ UINT64_MAX / 3, UINT64_MAX / 2 },
	{ 0, UINT64_MAX },
	{ UINT64_MAX, UINT64_MAX },
};
#define RANGES (sizeof(ranges) / sizeof(ranges[0]))

/* ---- keys and values are those of XXH3 ---- */

static void keys_and_values_are_xxh3(void **state)
{
	struct bytes b = recipe_random(1, 1007);
	uint64_t keys[1000], value;
	uint32_t sums[64];
	size_t i;
	unsigned bit;

	(void)state;
	assert_int_equal(window_scalar.pick(b.data, 1000, 0, UINT64_MAX, keys),
			 1000);
	for (i = 0; i < 1000; i++) {
		assert_true(keys[i] == XXH3_64bits_withSeed(b.data + i, 8, 1));
		value = XXH3_64bits(b.data + i, 8);
		window_scalar.evaluate(&keys[i], 1);
		assert_true(keys[i] == value);
		memset(sums, 0, sizeof(sums));
		window_scalar.sum(&keys[i], 1, sums);
		for (bit = 0; bit < 64; bit++)
			assert_int_equal(sums[bit], value >> bit & 1);
	}
	free(b.data);
}

static void pick_is_a_choice_of_keys(void **state)
{
	struct bytes b = recipe_random(2, MOST + 7);
	static uint64_t keys[MOST], have[MOST];
	size_t i, r, n, count;

	(void)state;
	n = window_scalar.pick(b.data, MOST, 0, UINT64_MAX, keys);
	assert_int_equal(n, MOST);
	for (r = 0; r < RANGES; r++) {
		n = window_scalar.pick(b.data, MOST, ranges[r].low,
				       ranges[r].high, have);
		for (i = 0, count = 0; i < MOST; i++)
			if (keys[i] >= ranges[r].low &&
			    keys[i] <= ranges[r].high)
				assert_true(have[count++] == keys[i]);
		assert_int_equal(n, count);
	}
	free(b.data);
}

/* A range of one key, which the others come close to. */
static void every_key_can_be_picked(void **state)
{
	struct bytes b = recipe_random(3, MOST + 7);
	static uint64_t keys[MOST], have[MOST];
	const struct kernel_ops *all;
	size_t i, v, count;

	(void)state;
	all = kernel_all(&count);
	(void)window_scalar.pick(b.data, MOST, 0, UINT64_MAX, keys);
	for (v = 0; v < count; v++) {
		for (i = 0; i < MOST; i++) {
			if (all[v].window->pick(b.data, MOST, keys[i], keys[i],
						have) != 1 ||
			    have[0] != keys[i])
				fail_of(&all[v], 3, i);
		}
	}
	free(b.data);
}

static uint64_t rotate(uint64_t x, unsigned left)
{
	return x << left | x >> (64 - left);
}

/* What y makes of x is undone by doing it 63 times more: doing it twice is as
 * doing it once with rotations twice as long. */
static uint64_t undo_y(uint64_t y)
{
	unsigned i;

	for (i = 0; i < 63; i++)
		y ^= rotate(y, 49) ^ rotate(y, 24);
	return y;
}

/* The window whose last product is of these low bits and has this on top. */
static uint64_t window_of(uint32_t low, uint32_t top)
{
	uint32_t inverse = (uint32_t)WINDOW_INVERSE;
	uint64_t x = low * WINDOW_PRIME;

	x = (uint64_t)((top - (uint32_t)(x >> 32)) * inverse) << 32 | low;
	x ^= (x >> 35) + 8;
	x = undo_y(x * WINDOW_INVERSE) ^ WINDOW_SEED_1;
	return htole64(x << 32 | x >> 32);
}

static void check_rounded(const struct kernel_ops *ops, uint32_t low,
			  uint32_t top)
{
	static uint64_t keys[32];
	uint64_t window = window_of(low, top), key;
	uint8_t bytes[32 + 7] = { 0 };

	memcpy(bytes, &window, sizeof(window));
	key = window_key(bytes);
	assert_int_equal(key >> (64 - WINDOW_TOP_BITS), top >> 4);
	if (ops->window->pick(bytes, 32, key, key, keys) != 1 || keys[0] != key)
		fail_of(ops, low, top);
}

/* Who computes a part of the last product only must know how far off it may
 * be. */
static void check_products(const struct kernel_ops *ops)
{
	uint32_t high;

	for (high = 0; high <= 0xffff; high++) {
		check_rounded(ops, high << 16 | 0xffff, 0);
		check_rounded(ops, high << 16, 0xffff);
	}
}

static void keys_are_picked_however_products_are_rounded(void **state)
{
	(void)state;
	each_variant(check_products);
}

/* ---- pick ---- */

static void compare_pick(const struct kernel_ops *ops, const uint8_t *bytes,
			 size_t count, struct range r, uint64_t seed)
{
	static uint64_t want[MOST];
	static uint64_t *end;
	uint64_t *have;
	size_t n;

	if (!end)
		end = guarded_new(sizeof(want));
	have = end - count;
	n = window_scalar.pick(bytes, count, r.low, r.high, want);
	if (ops->window->pick(bytes, count, r.low, r.high, have) != n ||
	    memcmp(want, have, n * sizeof(want[0])) != 0)
		fail_of(ops, seed, count);
}

static void check_pick(const struct kernel_ops *ops)
{
	uint8_t *end = guarded_new(MOST + 7), *bytes;
	uint8_t *front = guarded_front_new(MOST + 7);
	const uint8_t *from;
	struct bytes b;
	size_t count;
	uint64_t seed;

	for (seed = 0; seed < 4; seed++) {
		b = input_of(seed, 2 * MOST + 7);
		for (count = 0; count <= MOST; count++) {
			/* Every alignment, by the count. */
			from = b.data + MOST - count;
			bytes = count ? end - (count + 7) : end;
			memcpy(bytes, from, count ? count + 7 : 0);
			compare_pick(ops, bytes, count, ranges[count % RANGES],
				     seed);
			memcpy(front, from, count + 7);
			compare_pick(ops, front, count,
				     ranges[count / 64 % RANGES], seed);
		}
		free(b.data);
	}
}

static void pick_is_the_same(void **state)
{
	(void)state;
	each_variant(check_pick);
}

/* ---- the set ---- */

static uint64_t *slots_end(void)
{
	return guarded_new(SLOTS * sizeof(uint64_t));
}

/* Some keys repeat, some fall into few buckets, some are 0. */
static size_t draw_keys(struct draws *d, uint64_t *keys, size_t count)
{
	uint64_t mask = draw(d) % 3 ? UINT64_MAX : ~UINT64_C(0xff);
	size_t i;

	for (i = 0; i < count; i++) {
		keys[i] = draw(d) & mask;
		if (draw(d) % 8 == 0)
			keys[i] = i && draw(d) % 4 ? keys[draw(d) % i] : 0;
	}
	return count;
}

struct step {
	uint64_t limit;
	const uint64_t *keys;
	size_t count;
};

/* Inserts keys, then sifts; returns the number of strays. */
static size_t take_step(const struct kernel_ops *ops, struct window_set *set,
			const struct step *step, uint64_t *strays)
{
	size_t n;

	ops->window->insert(set, step->keys, step->count);
	n = ops->window->sift(set, step->limit, strays);
	ops->window->insert(set, strays, n);
	return n;
}

static bool equal_sets(const struct window_set *a, const struct window_set *b)
{
	return a->slot_count == b->slot_count && a->count == b->count &&
	       memcmp(a->slots, b->slots,
		      a->slot_count * sizeof(a->slots[0])) == 0;
}

static struct window_set set_of(uint64_t *end, size_t slot_count)
{
	struct window_set set = { end - slot_count, slot_count, 0,
				  UINT64_C(0x9e3779b97f4a7c15) };

	memset(set.slots, 0, slot_count * sizeof(*set.slots));
	return set;
}

static void compare_steps(const struct kernel_ops *ops, uint64_t *ends[4],
			  uint64_t seed)
{
	struct draws d = draws_of(seed + 1);
	size_t slot_count = (size_t)8 << draw(&d) % 11;
	struct window_set a = set_of(ends[0], slot_count);
	struct window_set b = set_of(ends[1], slot_count);
	uint64_t *strays[2] = { ends[2] - slot_count, ends[3] - slot_count };
	static uint64_t keys[SLOTS];
	struct step step = { .keys = keys };
	size_t i, n, unused;

	for (i = 0; i < 10; i++) {
		step.limit = draw(&d) % 2 ? UINT64_MAX : draw(&d);
		step.count =
			draw_keys(&d, keys, draw(&d) % (slot_count - a.count));
		n = take_step(kernel_all(&unused), &a, &step, strays[0]);
		if (take_step(ops, &b, &step, strays[1]) != n ||
		    memcmp(strays[0], strays[1], n * sizeof(keys[0])) != 0 ||
		    !equal_sets(&a, &b))
			fail_of(ops, seed, slot_count);
	}
}

static void check_set(const struct kernel_ops *ops)
{
	uint64_t *ends[4] = { slots_end(), slots_end(), slots_end(),
			      slots_end() };
	uint64_t seed;

	for (seed = 0; seed < 400; seed++)
		compare_steps(ops, ends, seed);
}

static void the_set_is_the_same(void **state)
{
	(void)state;
	each_variant(check_set);
}

static void the_scalar_set_is_a_set(void **state)
{
	static uint64_t keys[500], have[512], strays[512];
	uint64_t *end = slots_end();
	struct draws d = draws_of(3);
	struct window_set set;
	size_t i, n, count;

	(void)state;
	for (i = 0; i < 200; i++) {
		set = set_of(end, 512);
		count = draw_keys(&d, keys, draw(&d) % 500);
		window_scalar.insert(&set, keys, count);
		n = window_scalar.sift(&set, UINT64_MAX, strays);
		window_scalar.insert(&set, strays, n);
		n = window_scalar.between(set.slots, 512, 1, UINT64_MAX, have);
		qsort(have, n, sizeof(*have), by_value);
		assert_int_equal(set.count, n);
		assert_int_equal(sort_unique(keys, count), n);
		assert_memory_equal(keys, have, n * sizeof(*have));
	}
}

/* ---- between, evaluate and sum ---- */

static void check_between(const struct kernel_ops *ops)
{
	static uint64_t keys[MOST], want[MOST];
	uint64_t *in = guarded_new(sizeof(keys));
	uint64_t *end = guarded_new(sizeof(keys)), *have;
	struct draws d = draws_of(5);
	size_t count, n;
	uint64_t low, high;

	for (count = 0; count <= MOST; count++) {
		draw_keys(&d, keys, count);
		memcpy(in - count, keys, count * sizeof(keys[0]));
		low = count % 3 ? draw(&d) | 1 : 1;
		high = low + draw(&d) % (UINT64_MAX - low + (low > 1));
		have = end - count;
		n = window_scalar.between(keys, count, low, high, want);
		if (ops->window->between(in - count, count, low, high, have) !=
			    n ||
		    memcmp(want, have, n * sizeof(keys[0])) != 0)
			fail_of(ops, 5, count);
	}
}

static void between_is_the_same(void **state)
{
	(void)state;
	each_variant(check_between);
}

static void compare_sums(const struct kernel_ops *ops, const uint64_t *keys,
			 size_t count)
{
	uint32_t want[64] = { 0 }, have[64] = { 0 };

	window_scalar.sum(keys, count, want);
	ops->window->sum(keys, count, have);
	if (memcmp(want, have, sizeof(want)) != 0)
		fail_of(ops, 6, count);
}

static void check_sum(const struct kernel_ops *ops)
{
	static uint64_t many[70000];
	uint64_t *end = guarded_new(MOST * sizeof(*end));
	struct draws d = draws_of(6);
	size_t count;

	for (count = 0; count <= MOST; count++) {
		draw_keys(&d, end - count, count);
		compare_sums(ops, end - count, count);
	}
	/* The same value over and over: counters are as full as can be. */
	memset(many, 0, sizeof(many));
	compare_sums(ops, many, 70000);
	draw_keys(&d, many, 70000);
	compare_sums(ops, many, 70000);
}

static void sums_are_the_same(void **state)
{
	(void)state;
	each_variant(check_sum);
}

static void check_values(const struct kernel_ops *ops)
{
	static uint64_t want[MOST];
	uint64_t *end = guarded_new(MOST * sizeof(*end));
	struct draws d = draws_of(7);
	size_t count;

	for (count = 0; count <= MOST; count++) {
		draw_keys(&d, want, count);
		memcpy(end - count, want, count * sizeof(want[0]));
		window_scalar.evaluate(want, count);
		ops->window->evaluate(end - count, count);
		if (memcmp(want, end - count, count * sizeof(want[0])) != 0)
			fail_of(ops, 7, count);
	}
}

static void values_are_the_same(void **state)
{
	(void)state;
	each_variant(check_values);
}

static void a_variant_can_be_chosen(void **state)
{
	const struct kernel_ops *best = kernel_best();
	size_t count;

	(void)state;
	kernel_use(kernel_all(&count));
	assert_ptr_equal(kernel_best()->window, &window_scalar);
	kernel_use(NULL);
	assert_ptr_equal(kernel_best(), best);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_values_are_xxh3),
		cmocka_unit_test(pick_is_a_choice_of_keys),
		cmocka_unit_test(every_key_can_be_picked),
		cmocka_unit_test(keys_are_picked_however_products_are_rounded),
		cmocka_unit_test(pick_is_the_same),
		cmocka_unit_test(the_set_is_the_same),
		cmocka_unit_test(the_scalar_set_is_a_set),
		cmocka_unit_test(between_is_the_same),
		cmocka_unit_test(sums_are_the_same),
		cmocka_unit_test(values_are_the_same),
		cmocka_unit_test(a_variant_can_be_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
