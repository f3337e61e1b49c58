/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/run_count.h"

#include "tests/support/recipe.h"

/* Against a look at every window. */

static uint64_t model(const uint8_t *bytes, size_t len, size_t window)
{
	uint64_t others = 0;
	size_t i;

	for (i = 0; i + window <= len; i++)
		others += memcmp(bytes + i, bytes + i + 1, window - 1) != 0;
	return others;
}

/* Runs of any length next to each other and apart, some very long. */
static struct bytes make_runs(uint64_t seed, size_t len)
{
	struct draws d = draws_of(seed);
	struct bytes b = recipe_random(seed, len);
	size_t at = 0, run;

	while (at < len) {
		run = draw(&d) % (draw(&d) % 8 ? 40 : 3000);
		run = run < len - at ? run : len - at;
		if (draw(&d) % 3)
			memset(b.data + at, (int)(draw(&d) % 3), run);
		at += run + draw(&d) % 2 * (draw(&d) % 9);
	}
	return b;
}

static void windows_are_counted(void **state)
{
	struct run_count r;
	struct draws d;
	struct bytes b;
	size_t window, i, part;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 400; seed++) {
		d = draws_of(seed);
		b = make_runs(seed, draw(&d) % 5000);
		window = 4 + seed % 29;
		run_count_begin(&r, window);
		for (i = 0; i < b.len; i += part) {
			part = draw(&d) % (draw(&d) % 2 ? 20 : 4000);
			part = part < b.len - i ? part : b.len - i;
			run_count_update(&r, b.data + i, part);
		}
		assert_true(run_count_others(&r) ==
			    model(b.data, b.len, window));
		free(b.data);
	}
}

static void zeros_are_as_good_as_bytes(void **state)
{
	struct run_count r, want;
	struct draws d;
	struct bytes b;
	uint64_t seed, zeros;
	unsigned i;

	(void)state;
	for (seed = 1; seed <= 200; seed++) {
		d = draws_of(seed);
		run_count_begin(&r, 16);
		run_count_begin(&want, 16);
		for (i = 0; i < 6; i++) {
			b = make_runs(seed + i, draw(&d) % 50);
			run_count_update(&r, b.data, b.len);
			run_count_update(&want, b.data, b.len);
			free(b.data);
			zeros = draw(&d) % 40;
			b = recipe_repeat((const uint8_t *)"", 1, zeros);
			run_count_update_zeros(&r, zeros);
			run_count_update(&want, b.data, b.len);
			free(b.data);
		}
		assert_true(run_count_others(&r) == run_count_others(&want));
	}
	run_count_begin(&r, 16);
	run_count_update_zeros(&r, UINT64_C(1) << 60);
	run_count_update(&r, "x", 1);
	assert_int_equal(run_count_others(&r), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_are_counted),
		cmocka_unit_test(zeros_are_as_good_as_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
