/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/kernel.h"
#include "tests/unit/kernel/fixture.h"

#define LONGEST 4096
#define WINDOW 96

static struct kernel_h3 h3;
static uint32_t hashes[2 * LONGEST]; /* of what was modelled last */

static int make_h3(void **state)
{
	(void)state;
	random_h3(&h3);
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
		hash = 0;
		for (d = 0; d < r->window; d++)
			hash ^= rotate(h3.values[data[i - d]],
				       (d + 1) * r->rotation);
		hashes[i] = hash;
	}
}

static void try_find(const struct kernel_ops *ops,
		     const struct kernel_rolling *r, const uint8_t *data,
		     const uint32_t *values, size_t count, uint32_t limit)
{
	struct kernel_high have, want = { .count = 0 };
	size_t i;

	for (i = 0; i < count && want.count < KERNEL_PLACES; i++) {
		if (values[i] < limit)
			continue;
		want.places[want.count] = (uint32_t)i;
		want.hashes[want.count++] = values[i];
	}
	memset(&have, 0xa5, sizeof(have));
	ops->rdc->find(r, data, count, limit, &have);
	if (have.count != want.count ||
	    memcmp(have.places, want.places,
		   want.count * sizeof(want.places[0])) != 0 ||
	    memcmp(have.hashes, want.hashes,
		   want.count * sizeof(want.hashes[0])) != 0)
		fail_msg("%s: %zu bytes, window %u, limit %#x: want %zu, "
			 "have %zu, or others",
			 ops->name, count, r->window, limit, want.count,
			 have.count);
}

/* All variants; values are the hashes of count bytes of data. */
static void try_all(const struct kernel_rolling *r, const uint8_t *data,
		    const uint32_t *values, size_t count)
{
	size_t i, k, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	uint32_t limits[8] = { 0, UINT32_MAX, 0xff000000, 0xf0000000 };

	for (i = 0; i < count; i++)
		if (values[i] > limits[4])
			limits[4] = values[i];
	limits[5] = limits[4] + 1;
	limits[6] = limits[4] - (limits[4] >> 6);
	limits[7] = count > 0 ? values[count / 2] : 0;
	for (i = 0; i < variants; i++) {
		for (k = 0; k < sizeof(limits) / sizeof(limits[0]); k++)
			try_find(&all[i], r, data, values, count, limits[k]);
		if (count > 0)
			assert_int_equal(kernel_hash(r, data), values[0]);
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
	if (i < sizeof(others) / sizeof(others[0])) {
		r.window = others[i][0];
		r.rotation = others[i][1];
	}
	return r;
}

/* Memory ends with the last byte or begins with the window. */
TEST(every_length_between_guards)
{
	struct guarded in = guarded_new(LONGEST + KERNEL_MAX_WINDOW);
	struct draws d = draws_of(1);
	struct kernel_rolling r;
	size_t len, start;

	for (len = 0; len <= LONGEST; len++) {
		if (len % 16 == 0) {
			r = rolling_of(&d);
			fill(in.data, in.len, 1 + len);
			model(&r, in.data, in.len);
		}
		start = in.len - len;
		try_all(&r, in.data + start, hashes + start, len);
		start = r.window;
		try_all(&r, in.data + start, hashes + start, len);
	}
	guarded_free(&in);
}

TEST(the_best_variant_is_the_last_unless_told)
{
	size_t count;
	const struct kernel_ops *all = kernel_all(&count);

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
	return test_run(make_h3, NULL);
}
