/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/bottom_k.h"

#include "tests/support/recipe.h"

/* Against a sorted array. */

#define MOST 60000

static struct bottom_k smallest;

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t model(const uint64_t *values, size_t count, size_t max,
		    uint64_t *out)
{
	static uint64_t sorted[MOST];
	size_t i, n = 0;

	memcpy(sorted, values, count * sizeof(values[0]));
	qsort(sorted, count, sizeof(sorted[0]), by_value);
	for (i = 0; i < count && n < max; i++)
		if (i == 0 || sorted[i] != sorted[i - 1])
			out[n++] = sorted[i];
	return n;
}

/* In which part each value of the stream was presented. */
static uint32_t parts[MOST];

/* Those from first up to end of a stream. */
static void present(const uint64_t *values, size_t first, size_t end)
{
	size_t i, k, part, n;

	for (i = first; i < end; i += part) {
		part = bottom_k_part(&smallest);
		part = end - i < part ? end - i : part;
		for (k = n = 0; k < part; k++) {
			parts[i + k] = (uint32_t)i;
			if (values[i + k] <= smallest.bound)
				smallest.values[smallest.count + n++] =
					values[i + k];
		}
		bottom_k_add(&smallest, n, (uint32_t)i);
	}
}

static void expect(const uint64_t *values, size_t count, size_t max,
		   uint64_t seed)
{
	static uint64_t want[BOTTOM_K_MOST];
	size_t n = model(values, count, max, want);

	bottom_k_sort(&smallest);
	if (smallest.count != n ||
	    memcmp(smallest.values, want, n * sizeof(want[0])) != 0)
		fail_msg("seed %llu: the %zu smallest of %zu, want %zu have "
			 "%zu",
			 (unsigned long long)seed, max, count, n,
			 smallest.count);
}

/* Random; few different ones; in few slots; falling; in a narrow range. */
static void draw_values(struct draws *d, uint64_t seed, uint64_t *values,
			size_t count)
{
	size_t i, few = 1 + draw(d) % 3000;

	for (i = 0; i < count; i++) {
		values[i] = draw(d);
		if (seed % 5 == 1)
			values[i] = i < few ? draw(d) : values[draw(d) % few];
		if (seed % 5 == 2)
			values[i] &= UINT64_C(0xff0000000000ffff);
		if (seed % 5 == 3)
			values[i] = UINT64_MAX - i * (few << 20);
		if (seed % 5 == 4)
			values[i] = (values[i] & 0xfffff) + (few << 40);
	}
}

static void the_smallest_are_kept(void **state)
{
	static uint64_t values[MOST];
	struct draws d;
	size_t count, first, max;
	uint64_t seed;

	(void)state;
	for (seed = 0; seed < 300; seed++) {
		d = draws_of(seed + 1);
		count = draw(&d) % (seed % 3 ? 6000 : MOST);
		max = 2 + draw(&d) % (BOTTOM_K_MOST - 1);
		draw_values(&d, seed, values, count);
		bottom_k_begin(&smallest, max);
		present(values, 0, count);
		expect(values, count, max, seed);

		/* Some with a guess, then the others. */
		first = count ? draw(&d) % count : 0;
		bottom_k_begin(&smallest, max);
		bottom_k_guess(&smallest, first);
		do
			present(values, 0, first);
		while (!bottom_k_suffices(&smallest));
		present(values, first, count);
		expect(values, count, max, seed);
	}
}

static void a_guess_spares_most_values(void **state)
{
	static uint64_t values[MOST];
	struct draws d = draws_of(1);
	size_t i, looked_at = 0;

	(void)state;
	draw_values(&d, 0, values, MOST);
	bottom_k_begin(&smallest, 128);
	bottom_k_guess(&smallest, MOST);
	for (i = 0; i < MOST; i++)
		looked_at += values[i] <= smallest.bound;
	assert_in_range(looked_at, 128, 512);
	present(values, 0, MOST);
	assert_true(bottom_k_suffices(&smallest));
	expect(values, MOST, 128, 1);
}

/* ---- with how often they come, and where ---- */

/* Those of the smallest values. */
static void expect_times(const uint64_t *values, size_t count, uint64_t seed)
{
	static uint64_t sorted[MOST];
	size_t i, k = 0, times;

	memcpy(sorted, values, count * sizeof(values[0]));
	qsort(sorted, count, sizeof(sorted[0]), by_value);
	for (i = 0; i < smallest.count; i++) {
		for (times = 0; k < count && sorted[k] == smallest.values[i];
		     k++)
			times++;
		if (smallest.seen[i].times != times)
			fail_msg("seed %llu: value %zu comes %zu times, have "
				 "%u",
				 (unsigned long long)seed, i, times,
				 smallest.seen[i].times);
	}
}

/* As for the values, which leave room for places. */
static void draw_counted(struct draws *d, uint64_t seed, uint64_t *values,
			 size_t count)
{
	size_t i;

	draw_values(d, seed, values, count);
	for (i = 0; i < count; i++)
		values[i] = seed % 5 == 2 ? values[i] >> 56 << 56 |
						    (values[i] & 0xfff) << 16 :
					    values[i] >> 16 << 16;
}

/* Of the smallest values; where a value was seen last. */
static void expect_last(const uint64_t *values, size_t count, uint64_t seed)
{
	size_t i, k;

	for (i = 0; i < smallest.count; i += 1 + smallest.count / 8) {
		for (k = count - 1; values[k] != smallest.values[i];)
			k--;
		if (smallest.seen[i].last != parts[k])
			fail_msg("seed %llu: value %zu is in part %u last, "
				 "have %u",
				 (unsigned long long)seed, i, parts[k],
				 smallest.seen[i].last);
	}
}

static void it_is_known_how_often_they_come_and_where(void **state)
{
	static uint64_t values[MOST];
	struct draws d;
	size_t count, first, max;
	uint64_t seed;

	(void)state;
	for (seed = 0; seed < 300; seed++) {
		d = draws_of(seed + 1);
		count = draw(&d) % (seed % 3 ? 6000 : MOST);
		max = 2 + draw(&d) % (BOTTOM_K_MOST - 1);
		draw_counted(&d, seed, values, count);
		first = count ? draw(&d) % count : 0;
		bottom_k_begin(&smallest, max);
		bottom_k_count(&smallest);
		bottom_k_guess(&smallest, first);
		do
			present(values, 0, first);
		while (!bottom_k_suffices(&smallest));
		if (seed % 2)
			bottom_k_sort(&smallest);
		present(values, first, count);
		expect(values, count, max, seed);
		expect_times(values, count, seed);
		expect_last(values, count, seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smallest_are_kept),
		cmocka_unit_test(a_guess_spares_most_values),
		cmocka_unit_test(it_is_known_how_often_they_come_and_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
