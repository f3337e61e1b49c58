/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>

#include "core/digest/reference/sif_classic.h"
#include "tests/support/recipe.h"

/* ---- the original rule: every window's polynomial from the start ---- */

#define WINDOW 50

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t model_value(const uint8_t *window, uint32_t base)
{
	uint64_t f = 0;
	size_t i;

	for (i = 0; i < WINDOW; i++)
		f = (f * base + window[i]) % (UINT64_C(1) << 30);
	return (uint32_t)f;
}

/* Ascending, without repeats; the caller frees them. */
static uint32_t *model(struct bytes b, uint32_t base, unsigned zero_bits,
		       size_t *count_out)
{
	uint32_t *all = calloc(b.len + 1, sizeof(*all));
	size_t i, kept = 0, count = 0;
	uint32_t f;

	assert_non_null(all);
	for (i = 0; i + WINDOW <= b.len; i++) {
		f = model_value(b.data + i, base);
		if (f % (UINT32_C(1) << zero_bits) == 0)
			all[count++] = f;
	}
	qsort(all, count, sizeof(*all), by_value);
	for (i = 0; i < count; i++)
		if (i == 0 || all[i] != all[i - 1])
			all[kept++] = all[i];
	*count_out = kept;
	return all;
}

/* seed != 0 cuts b into updates of random lengths. */
static void feed(struct sif_classic *s, struct bytes b, uint64_t seed)
{
	struct draws d = draws_of(seed);
	size_t i, part;

	for (i = 0; i < b.len; i += part) {
		part = seed ? draw(&d) % (draw(&d) % 4 ? 70 : 9000) : b.len;
		part = b.len - i < part ? b.len - i : part;
		assert_int_equal(sif_classic_update(s, b.data + i, part), 0);
	}
}

static void compare_with_model(struct bytes b, uint32_t base,
			       unsigned zero_bits, uint64_t seed)
{
	size_t have_count, want_count;
	uint32_t *want = model(b, base, zero_bits, &want_count);
	const uint32_t *have;
	struct sif_classic s;

	assert_int_equal(sif_classic_init(&s, base, zero_bits), 0);
	feed(&s, b, seed);
	have = sif_classic_values(&s, &have_count);
	if (have_count != want_count ||
	    (want_count && memcmp(have, want, want_count * sizeof(*want)) != 0))
		fail_msg("seed %llu, %zu bytes, base %u, %u bits: %zu values, "
			 "want %zu",
			 (unsigned long long)seed, b.len, base, zero_bits,
			 have_count, want_count);
	sif_classic_release(&s);
	free(want);
}

TEST(all_small_sizes)
{
	struct bytes b;
	size_t len;

	for (len = 0; len < 300; len++) {
		b = recipe_random(len + 1, len);
		compare_with_model(b, 7, 0, len);
		compare_with_model(b, 3, 2, len + 1);
		free(b.data);
	}
}

TEST(larger_sizes)
{
	static const uint32_t bases[] = { 3, 7, 101, 65599, 4294967291u };
	struct bytes b;
	uint64_t seed;

	for (seed = 1; seed <= 20; seed++) {
		b = recipe_random(seed, 7777 * seed);
		compare_with_model(b, bases[seed % 5], (unsigned)(seed % 10),
				   seed);
		free(b.data);
		b = recipe_text(seed, 7777 * seed);
		memset(b.data + b.len / 2, 0, b.len / 4);
		compare_with_model(b, bases[seed % 5], (unsigned)(seed % 10),
				   0);
		free(b.data);
	}
}

/* Repeats are thrown out on the way: memory is that of the set. */
TEST(repeats_take_no_room)
{
	struct bytes b =
		recipe_repeat((const uint8_t *)"0123456789", 10, 1000000);
	struct sif_classic s;
	size_t count;

	assert_int_equal(sif_classic_init(&s, 7, 0), 0);
	feed(&s, b, 0);
	assert_true(s.capacity <= 1024);
	(void)sif_classic_values(&s, &count);
	assert_int_equal(count, 10);
	sif_classic_release(&s);
	sif_classic_release(&s);
	free(b.data);
}

TEST(what_init_refuses)
{
	struct sif_classic s;

	assert_int_equal(sif_classic_init(&s, 0, 8), -EINVAL);
	assert_int_equal(sif_classic_init(&s, 7, 31), -EINVAL);
	assert_int_equal(sif_classic_init(&s, 7, 30), 0);
	sif_classic_release(&s);
}
