/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/kernel.h"
#include "tests/unit/kernel_fixture.h"

#define LONGEST 4096
#define WINDOW 96

static struct kernel_h3 h3;
static uint32_t want[LONGEST];

static int make_h3(void **state)
{
	size_t i, k;

	(void)state;
	fill((uint8_t *)h3.values, sizeof(h3.values), 3);
	for (i = 0; i < 256; i++)
		for (k = 0; k < 4; k++)
			h3.planes[k][i] = (uint8_t)(h3.values[i] >> 8 * k);
	return 0;
}

/* As the definition reads. */
static void model_hashes(const struct kernel_rolling *r, const uint8_t *data,
			 size_t count, uint32_t hash)
{
	uint64_t x;
	size_t i;

	for (i = 0; i < count; i++) {
		x = hash ^ h3.values[(data - r->window)[i]] ^
		    h3.values[data[i]];
		x <<= r->rotation;
		want[i] = hash = (uint32_t)(x | x >> 32);
	}
}

static void try_hashes(const struct kernel_rolling *r, const uint8_t *data,
		       size_t count, uint32_t hash, uint32_t *out)
{
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	model_hashes(r, data, count, hash);
	for (i = 0; i < variants; i++) {
		memset(out, 0xa5, count * sizeof(*out));
		all[i].rdc->hash_block(r, data, count, hash, out);
		if (memcmp(out, want, count * sizeof(*out)) != 0)
			fail_msg("%s: %zu bytes, window %u, rotation %u",
				 all[i].name, count, r->window, r->rotation);
	}
}

static void hashes_of_every_length_between_guards(void **state)
{
	struct guarded in = guarded_new(WINDOW + LONGEST);
	struct guarded out = guarded_new(sizeof(want));
	struct kernel_rolling r = { .h3 = &h3 };
	struct draws d = draws_of(1);
	size_t len;

	(void)state;
	for (len = 0; len <= LONGEST; len++) {
		if (len % 64 == 0)
			fill(in.data, in.len, 1 + len);
		r.window = 2 + (uint32_t)draw(&d) % (WINDOW - 1);
		r.rotation = len % 2 ? 2 : (uint32_t)draw(&d) % 32;
		try_hashes(&r, in.data + in.len - len, len, (uint32_t)draw(&d),
			   (uint32_t *)(out.data + out.len) - len);
		try_hashes(&r, in.data + r.window, len, (uint32_t)draw(&d),
			   (uint32_t *)out.data);
	}
	guarded_free(&in);
	guarded_free(&out);
}

static void hashes_at_every_alignment(void **state)
{
	static const size_t lengths[] = { 1, 15, 64, 129, 1000, 1024 };
	struct guarded in = guarded_new(WINDOW + LONGEST);
	struct guarded out = guarded_new(sizeof(want) + 64);
	struct kernel_rolling r = { .h3 = &h3, .window = 48, .rotation = 2 };
	size_t align, i;

	(void)state;
	fill(in.data, in.len, 7);
	for (align = 0; align < 64; align++)
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			try_hashes(&r, in.data + WINDOW + align, lengths[i],
				   (uint32_t)align,
				   (uint32_t *)out.data + align % 16);
	guarded_free(&in);
	guarded_free(&out);
}

static struct kernel_peak model_maximum(const uint32_t *values, size_t count)
{
	struct kernel_peak peak = { 0, 0, false };
	size_t i, same = 0;

	for (i = 0; i < count; i++)
		if (values[i] > peak.value)
			peak.value = values[i];
	for (i = count; i-- > 0;) {
		if (values[i] != peak.value)
			continue;
		peak.offset = (uint32_t)i;
		same++;
	}
	peak.unique = same == 1;
	return peak;
}

static void try_maximum(const uint32_t *values, size_t count)
{
	struct kernel_peak expected = model_maximum(values, count), have;
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	for (i = 0; i < variants; i++) {
		have = all[i].rdc->block_maximum(values, count);
		if (have.value != expected.value ||
		    have.offset != expected.offset ||
		    have.unique != expected.unique)
			fail_msg("%s, %zu values: want %u at %u, %d; have %u "
				 "at %u, %d",
				 all[i].name, count, expected.value,
				 expected.offset, expected.unique, have.value,
				 have.offset, have.unique);
	}
}

static void maxima_of_every_length_between_guards(void **state)
{
	struct guarded g = guarded_new(LONGEST * sizeof(uint32_t));
	uint32_t *end = (uint32_t *)(g.data + g.len);
	struct draws d = draws_of(2);
	size_t len, i;

	(void)state;
	for (len = 0; len <= LONGEST; len++) {
		fill(g.data, g.len, 1 + draw(&d) % 100000);
		try_maximum(end - len, len);
		try_maximum((uint32_t *)g.data, len);
		/* Twice the largest, anywhere. */
		for (i = 0; i < 2 && len > 0; i++)
			(end - len)[draw(&d) % len] = UINT32_MAX;
		try_maximum(end - len, len);
		memset(end - len, len % 2 ? 0xff : 0, len * sizeof(uint32_t));
		try_maximum(end - len, len);
	}
	guarded_free(&g);
}

/* One largest value at each place of a block, then a second one. */
static void maxima_at_every_place(void **state)
{
	static uint32_t values[300];
	size_t i, k;

	(void)state;
	for (i = 0; i < 300; i++) {
		values[i] = 0x80000000;
		try_maximum(values, 300);
		for (k = 0; k < 300; k += 7) {
			values[k] |= 0x80000000;
			try_maximum(values, 300);
			values[k] = i == k ? 0x80000000 : 0x7fffffff;
		}
		values[i] = 0x7fffffff;
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
		cmocka_unit_test(hashes_of_every_length_between_guards),
		cmocka_unit_test(hashes_at_every_alignment),
		cmocka_unit_test(maxima_of_every_length_between_guards),
		cmocka_unit_test(maxima_at_every_place),
		cmocka_unit_test(the_best_variant_is_the_last_unless_told),
	};

	return cmocka_run_group_tests(tests, make_h3, NULL);
}
