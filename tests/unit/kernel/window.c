/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include <xxhash.h>

#include "core/kernel/window/window_impl.h"
#include "tests/unit/kernel/window_fixture.h"

static const uint64_t bounds[] = {
	0,
	UINT64_MAX / 500,
	UINT64_MAX / 50,
	UINT64_MAX / 12,
	UINT64_MAX / 20,
	UINT64_MAX / 2,
	UINT64_MAX,
};
#define BOUNDS (sizeof(bounds) / sizeof(bounds[0]))

/* ---- keys and values are those of XXH3 ---- */

static void keys_and_values_are_xxh3(void **state)
{
	struct bytes b = recipe_random(1, 1007);
	uint64_t keys[1000], value;
	uint32_t sums[64];
	size_t i;
	unsigned bit;

	(void)state;
	assert_int_equal(window_scalar.pick(b.data, 1000, UINT64_MAX, keys),
			 1000);
	for (i = 0; i < 1000; i++) {
		assert_true(keys[i] == XXH3_64bits_withSeed(b.data + i, 8, 1));
		value = XXH3_64bits(b.data + i, 8);
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
	n = window_scalar.pick(b.data, MOST, UINT64_MAX, keys);
	assert_int_equal(n, MOST);
	for (r = 0; r < BOUNDS; r++) {
		n = window_scalar.pick(b.data, MOST, bounds[r], have);
		for (i = 0, count = 0; i < MOST; i++)
			if (keys[i] <= bounds[r])
				assert_true(have[count++] == keys[i]);
		assert_int_equal(n, count);
	}
	free(b.data);
}

static bool has_key(const uint64_t *keys, size_t count, uint64_t key)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (keys[i] == key)
			return true;
	return false;
}

/* A bound that is a key, and others that come close to it. */
static void every_key_can_be_picked(void **state)
{
	struct bytes b = recipe_random(3, MOST + 7);
	static uint64_t keys[MOST], have[MOST];
	const struct kernel_ops *all;
	size_t i, v, n, count;

	(void)state;
	all = kernel_all(&count);
	(void)window_scalar.pick(b.data, MOST, UINT64_MAX, keys);
	for (v = 0; v < count; v++) {
		for (i = 0; i < MOST; i++) {
			n = all[v].window->pick(b.data, MOST, keys[i], have);
			if (!has_key(have, n, keys[i]))
				fail_of(&all[v], 3, i);
			n = all[v].window->pick(b.data, MOST, keys[i] - 1,
						have);
			if (has_key(have, n, keys[i]))
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
	if (!has_key(keys, ops->window->pick(bytes, 32, key, keys), key))
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
			 size_t count, uint64_t bound, uint64_t seed)
{
	static uint64_t want[MOST];
	static uint64_t *end;
	uint64_t *have;
	size_t n;

	if (!end)
		end = guarded_new(sizeof(want));
	have = end - count;
	n = window_scalar.pick(bytes, count, bound, want);
	if (ops->window->pick(bytes, count, bound, have) != n ||
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
			compare_pick(ops, bytes, count, bounds[count % BOUNDS],
				     seed);
			memcpy(front, from, count + 7);
			compare_pick(ops, front, count,
				     bounds[count / 64 % BOUNDS], seed);
		}
		free(b.data);
	}
}

static void pick_is_the_same(void **state)
{
	(void)state;
	each_variant(check_pick);
}

/* ---- sum ---- */

static void draw_keys(struct draws *d, uint64_t *keys, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		keys[i] = draw(d) % 8 ? draw(d) : 0;
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
		cmocka_unit_test(sums_are_the_same),
		cmocka_unit_test(a_variant_can_be_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
