/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/kernel.h"
#include "tests/unit/kernel_fixture.h"

#define LONGEST 4096
#define WINDOW 96

static struct kernel_h3 h3;
static uint32_t hashes[2 * LONGEST]; /* of what was modelled last */

static int make_h3(void **state)
{
	(void)state;
	fill((uint8_t *)h3.values, sizeof(h3.values), 3);
	kernel_h3_init(&h3);
	return 0;
}

static uint32_t rotate(uint32_t x, uint32_t bits)
{
	uint64_t y = (uint64_t)x << bits % 32;

	return (uint32_t)(y | y >> 32);
}

/* As the header puts it; the first hash is that of the first whole window. */
static void model(const struct kernel_rolling *r, const uint8_t *data,
		  size_t len)
{
	uint32_t hash, d;
	size_t i;

	for (i = r->window; i < len; i++) {
		hash = r->bias;
		for (d = 0; d < r->window; d++)
			hash ^= rotate(h3.values[data[i - d]],
				       (d + 1) * r->rotation);
		hashes[i] = hash;
	}
}

static void assert_tops(const char *variant, const uint8_t *tops,
			const uint32_t *want, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (tops[i] != want[i] >> 24)
			fail_msg("%s: byte %zu of %zu: want %#x, have %#x",
				 variant, i, count, want[i], tops[i]);
}

/* As many places of the largest byte as fit, and no more. */
static size_t try_largest(const struct kernel_ops *ops, const uint8_t *bytes,
			  size_t count, uint32_t *places)
{
	uint32_t want[KERNEL_PLACES];
	size_t i, found = 0;
	unsigned most = 0;

	for (i = 0; i < count; i++)
		most = bytes[i] > most ? bytes[i] : most;
	for (i = 0; i < count && found < KERNEL_PLACES; i++)
		if (bytes[i] == most)
			want[found++] = (uint32_t)i;
	i = ops->rdc->largest(bytes, count, places);
	if (i != found || memcmp(places, want, found * sizeof(want[0])) != 0)
		fail_msg("%s: %zu of %zu bytes are %u, have %zu", ops->name,
			 found, count, most, i);
	return found;
}

static void try_hashes(const struct kernel_ops *ops,
		       const struct kernel_rolling *r, const uint8_t *data,
		       const uint32_t *places, const uint32_t *values,
		       size_t count)
{
	uint32_t have[KERNEL_PLACES + 1] = { 0 };
	size_t i;

	ops->rdc->hashes(r, data, places, count, have);
	for (i = 0; i < count; i++)
		if (have[i] != values[places[i]])
			fail_msg("%s: byte %u, window %u: want %#x, have %#x",
				 ops->name, places[i], r->window,
				 values[places[i]], have[i]);
	assert_int_equal(have[count], 0);
}

/* All variants; values are the hashes of count bytes of data. */
static void try_all(const struct kernel_rolling *r, const uint8_t *data,
		    const uint32_t *values, size_t count, uint8_t *tops)
{
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	uint32_t places[KERNEL_PLACES], ends[2] = { 0, (uint32_t)count - 1 };
	size_t found;

	for (i = 0; i < variants; i++) {
		memset(tops, 0xa5, count);
		all[i].rdc->tops(r, data, count, tops);
		assert_tops(all[i].name, tops, values, count);
		found = try_largest(&all[i], tops, count, places);
		try_hashes(&all[i], r, data, places, values, found);
		if (count > 0)
			try_hashes(&all[i], r, data, ends, values, 2);
	}
}

/* Rotations as the specification has them: a multiple of 32 for a window. */
static struct kernel_rolling rolling_of(struct draws *d)
{
	static const uint32_t others[][2] = {
		{ 2, 16 }, { 4, 8 }, { 7, 0 }, { 16, 2 }, { 95, 0 }, { 96, 1 },
	};
	struct kernel_rolling r = { .h3 = &h3, .window = KERNEL_WINDOW };
	size_t i = draw(d) % 24;

	r.rotation = 2;
	r.bias = (uint32_t)(draw(d) >> 20);
	if (i < sizeof(others) / sizeof(others[0])) {
		r.window = others[i][0];
		r.rotation = others[i][1];
	}
	return r;
}

/* Memory ends with the last byte or begins with the window. */
static void every_length_between_guards(void **state)
{
	struct guarded in = guarded_new(LONGEST + KERNEL_MAX_WINDOW);
	struct guarded out = guarded_new(LONGEST);
	struct draws d = draws_of(1);
	struct kernel_rolling r;
	size_t len, start;

	(void)state;
	for (len = 0; len <= LONGEST; len++) {
		if (len % 16 == 0) {
			r = rolling_of(&d);
			fill(in.data, in.len, 1 + len);
			model(&r, in.data, in.len);
		}
		start = in.len - len;
		try_all(&r, in.data + start, hashes + start, len,
			out.data + out.len - len);
		start = r.window;
		try_all(&r, in.data + start, hashes + start, len, out.data);
	}
	guarded_free(&in);
	guarded_free(&out);
}

static void every_alignment(void **state)
{
	static const size_t lengths[] = { 1, 15, 64, 129, 1000, 1024 };
	struct guarded in = guarded_new(LONGEST);
	struct guarded out = guarded_new(LONGEST);
	struct draws d = draws_of(2);
	struct kernel_rolling r;
	size_t align, i, start;

	(void)state;
	for (align = 0; align < 64; align++) {
		r = rolling_of(&d);
		fill(in.data, in.len, 7 + align);
		model(&r, in.data, in.len);
		start = KERNEL_MAX_WINDOW + align;
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			try_all(&r, in.data + start, hashes + start, lengths[i],
				out.data + align * 7 % 64);
	}
	guarded_free(&in);
	guarded_free(&out);
}

/* Equal windows have equal hashes: tops with ties. */
static void every_period(void **state)
{
	static uint8_t data[2 * LONGEST / 4], tops[LONGEST];
	struct draws d = draws_of(3);
	struct kernel_rolling r;
	size_t period, i, k;

	(void)state;
	for (period = 1; period <= 600; period += 1 + period / 64) {
		r = rolling_of(&d);
		for (i = 0; i < sizeof(data); i++)
			data[i] = i < period ? (uint8_t)draw(&d) :
					       data[i - period];
		for (k = 0; k < 3; k++) {
			model(&r, data, sizeof(data));
			try_all(&r, data + 100, hashes + 100, 1024, tops);
			data[100 + draw(&d) % 1024] ^= 0x55;
		}
	}
}

/* All bytes the same: the worst case of ties. */
static void zeros_and_ones(void **state)
{
	static uint8_t data[1200], tops[1200];
	struct draws d = draws_of(4);
	struct kernel_rolling r;
	size_t len;

	(void)state;
	for (len = 0; len <= 1100; len++) {
		r = rolling_of(&d);
		memset(data, len % 2 ? 0xff : 0, sizeof(data));
		model(&r, data, sizeof(data));
		try_all(&r, data + 96, hashes + 96, len, tops);
	}
}

static void the_best_variant_is_the_last_unless_told(void **state)
{
	size_t count;
	const struct kernel_ops *all = kernel_all(&count);

	(void)state;
	assert_true(count >= 1);
	assert_string_equal(all[0].name, "scalar");
	assert_ptr_equal(kernel_best(), &all[count - 1]);
	kernel_use(&all[0]);
	assert_ptr_equal(kernel_best(), &all[0]);
	kernel_use(NULL);
	assert_ptr_equal(kernel_best(), &all[count - 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_between_guards),
		cmocka_unit_test(every_alignment),
		cmocka_unit_test(every_period),
		cmocka_unit_test(zeros_and_ones),
		cmocka_unit_test(the_best_variant_is_the_last_unless_told),
	};

	return cmocka_run_group_tests(tests, make_h3, NULL);
}
