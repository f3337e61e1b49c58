/* SPDX-License-Identifier: Apache-2.0 */
#include <xxhash.h>

#include "core/digest/simhash.h"
#include "core/kernel/kernel.h"
#include "core/kernel/window/window_impl.h"
#include "tests/support/recipe.h"
#include "tests/support/simhash_model.h"
#include "tests/unit/digest/variants.h"

static struct simhash simhash;

/* ---- against the definition, with sorted arrays ---- */

static uint64_t simhash_of(struct bytes b, uint64_t seed)
{
	struct draws d = draws_of(seed);
	size_t i, part;

	simhash_init(&simhash);
	for (i = 0; i < b.len; i += part) {
		part = seed ? draw(&d) % (draw(&d) % 4 ? 12 : 9000) : b.len;
		part = b.len - i < part ? b.len - i : part;
		simhash_update(&simhash, b.data + i, part);
	}
	return simhash_final(&simhash);
}

static int check(struct bytes b, uint64_t want, uint64_t seed)
{
	return simhash_of(b, 0) == want && simhash_of(b, seed) == want;
}

static void compare_with_model(struct bytes b, uint64_t seed)
{
	if (!check(b, simhash_model(b), seed))
		fail_msg("seed %llu, %zu bytes", (unsigned long long)seed,
			 b.len);
}

static void all_small_sizes(void **state)
{
	struct bytes b;
	size_t len;

	(void)state;
	for (len = 0; len < 600; len++) {
		b = recipe_random(len + 1, len);
		compare_with_model(b, len + 1);
		free(b.data);
	}
	b = bytes_new(0);
	assert_true(simhash_of(b, 0) == 0);
	free(b.data);
}

static void random_sizes(void **state)
{
	struct draws d = draws_of(99);
	struct bytes b;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 60; seed++) {
		b = recipe_random(seed, draw(&d) % 200000);
		compare_with_model(b, seed);
		free(b.data);
		b = recipe_text(seed, draw(&d) % 200000);
		compare_with_model(b, seed);
		free(b.data);
	}
}

/* Around the size of the sample, and around what is kept of it at a time. */
static void sizes_at_the_limits(void **state)
{
	static const size_t limits[] = { SIMHASH_SAMPLE,
					 BOTTOM_K_LIMIT(SIMHASH_SAMPLE),
					 BOTTOM_K_PART, 2 * BOTTOM_K_PART };
	struct bytes b;
	size_t i, k;

	(void)state;
	for (i = 0; i < 4; i++) {
		for (k = 0; k < 5; k++) {
			b = recipe_random(k + 1, limits[i] + 7 - 2 + k);
			compare_with_model(b, k + 1);
			free(b.data);
		}
	}
}

static void many_distinct_windows(void **state)
{
	struct bytes b = recipe_random(5, 3000000);

	(void)state;
	compare_with_model(b, 5);
	/* The window of zeros is one like any other. */
	memset(b.data + 1000000, 0, 500);
	memset(b.data + 2000000, 0, 500000);
	compare_with_model(b, 5);
	free(b.data);
	b = recipe_text(5, 3000000);
	compare_with_model(b, 5);
	free(b.data);
}

/* The windows are a set. */
static void repeats_count_once(void **state)
{
	struct bytes b = recipe_random(7, 20000);
	struct bytes twice = bytes_new(2 * b.len);
	uint64_t all;

	(void)state;
	/* Zeros at both ends: the seam makes the window of zeros only. */
	memset(b.data, 0, 7);
	memset(b.data + b.len - 7, 0, 7);
	memcpy(twice.data, b.data, b.len);
	memcpy(twice.data + b.len, b.data, b.len);
	all = simhash_of(twice, 0);
	twice.len = b.len + 7;
	assert_true(simhash_of(twice, 0) == all);
	free(twice.data);
	free(b.data);
}

static void zeros(void **state)
{
	struct bytes b = recipe_repeat((const uint8_t *)"", 1, 100000);
	uint64_t zero = 0;

	(void)state;
	assert_true(simhash_of(b, 3) == XXH3_64bits(&zero, 8));
	memcpy(b.data, "some other windows, ", 20);
	compare_with_model(b, 3);
	free(b.data);
}

/* The window that has the key. */
static void store_window(uint8_t *bytes, uint64_t key)
{
	uint64_t x = key ^ key >> 28 ^ key >> 56;
	int i;

	x *= WINDOW_INVERSE;
	x ^= (x >> 35) + 8;
	x *= WINDOW_INVERSE;
	/* 64 times this changes nothing: 63 times more undo it. */
	for (i = 0; i < 63; i++)
		x ^= (x << 49 | x >> 15) ^ (x << 24 | x >> 40);
	x ^= WINDOW_SEED_1;
	x = x << 32 | x >> 32;
	for (i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(x >> 8 * i);
	assert_true(XXH3_64bits_withSeed(bytes, 8, 1) == key);
}

/* The smallest key.  Among few windows each tells. */
static void the_key_zero_counts(void **state)
{
	static const size_t sizes[] = { 8, 5000, 200000, 3000000 };
	uint8_t pattern[17] = "........ pattern";
	struct bytes b;
	size_t i, period;

	(void)state;
	store_window(pattern, 0);
	for (i = 0; i < 4; i++) {
		for (period = 9; period <= 16; period++) {
			b = recipe_repeat(pattern, period, sizes[i]);
			compare_with_model(b, i + 1);
			free(b.data);
		}
	}
}

/* Where the sample ends cannot be foreseen: many keys are small, or differ by
 * little, or each is smaller than all before. */
static void keys_that_are_not_spread_evenly(void **state)
{
	static const struct {
		uint64_t first, step;
		size_t count;
	} keys[] = {
		{ 0, 1, 64000 },
		{ 0, 1, 110000 },
		{ 0, 1, 150000 },
		{ 1, (UINT64_C(1) << 20) + 1, 110000 },
		{ UINT64_MAX / 32, 3, 110000 },
		{ 130000, UINT64_MAX, 130000 },
		{ UINT64_MAX, ~UINT64_C(0) << 42, 130000 },
		{ UINT64_MAX - 130000, 1, 130000 },
		{ 5, (UINT64_C(1) << 42) + 1, 130000 },
	};
	struct bytes b;
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		b = recipe_random(i + 1, 8 * keys[i].count);
		for (k = 0; k < keys[i].count; k++)
			store_window(b.data + 8 * k,
				     keys[i].first + k * keys[i].step);
		compare_with_model(b, i + 1);
		free(b.data);
	}
}

/* Few letters make few windows, and many files end before the sample does. */
static void windows_that_repeat(void **state)
{
	struct bytes b;
	size_t i, len;
	unsigned letters;

	(void)state;
	for (letters = 2; letters <= 8; letters += 2) {
		for (len = 1000; len < 2000000; len *= 11) {
			b = recipe_random(letters, len);
			for (i = 0; i < len; i++)
				b.data[i] = "acgtnxyz"[b.data[i] % letters];
			compare_with_model(b, letters);
			free(b.data);
		}
	}
}

static void the_check_notices_a_wrong_value(void **state)
{
	struct bytes b = recipe_random(1, 10000);

	(void)state;
	assert_true(check(b, simhash_model(b), 1));
	assert_false(check(b, simhash_model(b) ^ 1, 1));
	free(b.data);
}

/* These must never change: stored digests would mean something else. */
static void pinned_values(void **state)
{
	struct tsv lines = tsv_open("tests/vectors/simhash/values.tsv");
	struct bytes b;
	char have[17];

	(void)state;
	while (tsv_next(&lines)) {
		b = recipe_parse(lines.fields[1]);
		(void)snprintf(have, sizeof(have), "%016llx",
			       (unsigned long long)simhash_of(b, 0));
		assert_string_equal(have, lines.fields[0]);
		free(b.data);
	}
	tsv_close(&lines);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_small_sizes),
		cmocka_unit_test(random_sizes),
		cmocka_unit_test(sizes_at_the_limits),
		cmocka_unit_test(many_distinct_windows),
		cmocka_unit_test(repeats_count_once),
		cmocka_unit_test(zeros),
		cmocka_unit_test(the_key_zero_counts),
		cmocka_unit_test(keys_that_are_not_spread_evenly),
		cmocka_unit_test(windows_that_repeat),
		cmocka_unit_test(the_check_notices_a_wrong_value),
		cmocka_unit_test(pinned_values),
	};

	return run_with_variants(tests, sizeof(tests) / sizeof(tests[0]));
}
