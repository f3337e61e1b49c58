/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sketch/sketch.h"
#include "tests/support/sketch_model.h"
#include "tests/unit/kernel/fixture.h"

enum { LONGEST = 3000 };

/* Blanks and others, in runs. */
static void fill_runs(uint8_t *data, size_t len, uint64_t seed)
{
	struct draws d = draws_of(seed);
	unsigned plain = (unsigned)(draw(&d) % 12),
		 runs = (unsigned)(draw(&d) % 40);
	size_t i;

	for (i = 0; i < len; i++) {
		data[i] = (uint8_t) "\0\t\n\v\f\r \b\016\037!\200\211\240a"
			[draw(&d) % 16];
		if (draw(&d) % 12 < plain)
			data[i] = (uint8_t)(draw(&d) >> 32);
		if (i && draw(&d) % 40 < runs)
			data[i] = data[i - 1];
	}
}

static void try_fold(struct guarded *g, size_t len, uint64_t seed)
{
	size_t i, variants, have;
	const struct kernel_ops *all = kernel_all(&variants);
	struct bytes b = { g->data + g->len - len, len }, want;
	struct guarded out = guarded_new(LONGEST);
	uint8_t *at = out.data + out.len - len; /* no room behind */

	want = model_fold(b);
	for (i = 0; i < variants; i++) {
		have = all[i].sketch->fold(b.data, len, at);
		if (have != want.len || memcmp(at, want.data, have) != 0)
			fail_msg("%s: seed %llu, %zu bytes: %zu, not %zu",
				 all[i].name, (unsigned long long)seed, len,
				 have, want.len);
	}
	guarded_free(&out);
	free(want.data);
}

TEST(folding_keeps_letters_and_digits)
{
	struct guarded g = guarded_new(LONGEST);
	struct draws d = draws_of(3);
	uint64_t seed;
	size_t len;

	for (seed = 0; seed < 1500; seed++) {
		len = seed < 400 ? seed : draw(&d) % LONGEST;
		fill_runs(g.data + g.len - len, len, seed);
		try_fold(&g, len, seed);
	}
	guarded_free(&g);
}

TEST(every_byte_is_folded)
{
	struct guarded g = guarded_new(LONGEST);
	size_t i;

	for (i = 0; i < 512; i++)
		g.data[g.len - 512 + i] = (uint8_t)i;
	try_fold(&g, 512, 0);
	guarded_free(&g);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Filters behind their places, so that they can be sorted. */
static size_t model_scan(const uint8_t *bytes, size_t count, uint32_t most,
			 uint64_t *out)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		if (model_filter(bytes + i) <= most)
			out[n++] = (uint64_t)i << 32 | model_filter(bytes + i);
	return n;
}

static void try_scan(const uint8_t *bytes, size_t count, unsigned level,
		     uint64_t seed)
{
	uint32_t filters[LONGEST], places[LONGEST];
	uint64_t want[LONGEST], have[LONGEST];
	size_t i, k, variants, n, found;
	const struct kernel_ops *all = kernel_all(&variants);
	uint32_t most = level < 32 ? UINT32_MAX >> level : 0;

	n = model_scan(bytes, count, most, want);
	for (i = 0; i < variants; i++) {
		filters[count] = places[count] = 77;
		found = all[i].sketch->scan(bytes, count, most, filters,
					    places);
		assert_int_equal(filters[count], 77);
		assert_int_equal(places[count], 77);
		for (k = 0; k < found; k++)
			have[k] = (uint64_t)places[k] << 32 | filters[k];
		qsort(have, found, sizeof(*have), by_number);
		if (found != n || memcmp(have, want, n * sizeof(*want)) != 0)
			fail_msg("%s: seed %llu, %zu windows, level %u",
				 all[i].name, (unsigned long long)seed, count,
				 level);
	}
}

TEST(scanning_finds_small_filters)
{
	struct guarded g = guarded_new(LONGEST);
	struct draws d = draws_of(4);
	uint64_t seed;
	size_t len;

	for (seed = 0; seed < 1500; seed++) {
		len = seed < 300 ? 16 + seed : 16 + draw(&d) % (LONGEST - 16);
		fill(g.data + g.len - len, len, seed);
		try_scan(g.data + g.len - len, len - 15,
			 (unsigned)draw(&d) % 10, seed);
		try_scan(g.data + g.len - len, len - 15,
			 (unsigned)draw(&d) % 34, seed);
	}
	guarded_free(&g);
}

TEST(repeats_of_one_byte_are_counted)
{
	struct guarded g = guarded_new(LONGEST);
	size_t i, k, variants, len, want;
	const struct kernel_ops *all = kernel_all(&variants);
	struct draws d = draws_of(5);
	const uint8_t *bytes;
	uint64_t seed;

	for (seed = 0; seed < 4000; seed++) {
		len = seed < 600 ? 16 + seed : 16 + draw(&d) % (LONGEST - 16);
		bytes = g.data + g.len - len;
		fill_runs(g.data + g.len - len, len, seed);
		for (want = 0, k = 0; k + 16 <= len; k++)
			want += model_is_repeat(bytes + k);
		for (i = 0; i < variants; i++) {
			k = all[i].sketch->count_repeats(bytes, len - 15);
			if (k != want)
				fail_msg("%s: seed %llu: %zu, not %zu",
					 all[i].name, (unsigned long long)seed,
					 k, want);
		}
	}
	guarded_free(&g);
}

/* A run as long as one window, at every place. */
TEST(a_single_repeat_is_found_anywhere)
{
	struct guarded g = guarded_new(LONGEST);
	size_t i, at, variants, len = 700;
	const struct kernel_ops *all = kernel_all(&variants);
	uint8_t *bytes = g.data + g.len - len;

	for (at = 0; at + 16 <= len; at++) {
		for (i = 0; i < len; i++)
			bytes[i] = (uint8_t)(i % 50);
		memset(bytes + at, 'x', 16);
		for (i = 0; i < variants; i++)
			assert_int_equal(
				all[i].sketch->count_repeats(bytes, len - 15),
				1);
	}
	guarded_free(&g);
}

TEST(nothing_is_read_of_no_windows)
{
	struct guarded g = guarded_new(1);
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	uint32_t unused;

	for (i = 0; i < variants; i++) {
		const struct kernel_sketch *k = all[i].sketch;

		assert_int_equal(k->fold(g.map, 0, g.map), 0);
		assert_int_equal(
			k->scan(g.map, 0, UINT32_MAX, &unused, &unused), 0);
		assert_int_equal(k->count_repeats(g.map, 0), 0);
	}
	guarded_free(&g);
}
