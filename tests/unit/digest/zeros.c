/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Zeros that are announced have the digests of zeros that are there: random
 * layouts of data and zeros, taken in both ways.
 */
#include "core/digest/fingerprint.h"
#include "core/digest/rdc/rdc.h"
#include "tests/support/digest_values.h"
#include "tests/support/recipe.h"
#include "tests/unit/digest/variants.h"

enum { LAYOUTS = 60, MOST_PIECES = 6 };

#define SET (DIGEST_DEFAULT | DIGEST_BIT(DIGEST_SDHASH))

static const uint8_t zeros[1 << 16];

static void take_dense(struct fingerprint *fp, uint64_t len)
{
	size_t part;

	for (; len > 0; len -= part) {
		part = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);
		assert_int_equal(fingerprint_update(fp, zeros, part), 0);
	}
}

struct piece {
	uint64_t zeros; /* 0: data */
	struct bytes data;
};

struct layout {
	struct piece pieces[MOST_PIECES];
	size_t count;
	uint64_t size;
};

static void add_zeros(struct layout *l, uint64_t len)
{
	l->pieces[l->count++] = (struct piece){ .zeros = len };
	l->size += len;
}

static void add_data(struct layout *l, struct bytes data)
{
	l->pieces[l->count++] = (struct piece){ .data = data };
	l->size += data.len;
}

static void layout_release(struct layout *l)
{
	while (l->count > 0)
		free(l->pieces[--l->count].data.data);
}

static struct digests digest(const struct layout *l, uint32_t set, bool known,
			     bool dense)
{
	struct fingerprint *fp;
	struct digests d;
	size_t i;

	assert_int_equal(fingerprint_new(set, &fp), 0);
	assert_int_equal(fingerprint_begin_file(fp, "x",
						known ? l->size : UINT64_MAX,
						SIZE_MAX),
			 0);
	for (i = 0; i < l->count; i++) {
		const struct piece *p = &l->pieces[i];

		if (!p->zeros)
			assert_int_equal(fingerprint_update(fp, p->data.data,
							    p->data.len),
					 0);
		else if (dense)
			take_dense(fp, p->zeros);
		else
			assert_int_equal(fingerprint_update_zeros(fp, p->zeros),
					 0);
	}
	assert_int_equal(fingerprint_final(fp, &d), 0);
	fingerprint_free(fp);
	return d;
}

static void assert_alike(const struct layout *l, uint32_t set, bool known)
{
	struct digests dense = digest(l, set, known, true);
	struct digests sparse = digest(l, set, known, false);
	const char *id = digests_differ(&sparse, &dense);

	assert_int_equal(sparse.set, dense.set);
	if (id)
		fail_msg("%s differs", id);
	digests_release(&dense);
	digests_release(&sparse);
}

/* Near a boundary of something, or anything. */
static uint64_t draw_length(struct draws *d)
{
	static const uint64_t boundaries[] = { 7,      8,       16,     1024,
					       4096,   16384,   65535,  65536,
					       262144, 1048576, 3145728 };
	uint64_t at = boundaries[draw(d) % 11];

	if (draw(d) % 4 == 0)
		return 1 + draw(d) % at;
	return at + draw(d) % 17 - (at > 8 ? 8 : 0) + 1;
}

static struct bytes draw_data(struct draws *d)
{
	uint64_t seed = draw(d), len = draw_length(d) % (1 << 19) + 1;

	return draw(d) % 2 ? recipe_random(seed, len) : recipe_text(seed, len);
}

TEST(test_random_layouts)
{
	struct draws d = draws_of(20260714);
	size_t i, n;

	for (i = 0; i < LAYOUTS; i++) {
		struct layout l = { .count = 0 };

		for (n = 1 + draw(&d) % MOST_PIECES; n > 0; n--)
			if (draw(&d) % 2)
				add_zeros(&l, draw_length(&d));
			else
				add_data(&l, draw_data(&d));
		assert_alike(&l, i % 4 ? DIGEST_DEFAULT : SET, i % 2);
		layout_release(&l);
	}
}

/* Around the number of zeros after which chunks and blocks of RDC are again
 * as they were. */
TEST(test_long_runs)
{
	const uint64_t period = (uint64_t)RDC_MAX_CHUNK * RDC_HORIZON;
	struct draws d = draws_of(7);
	int i;

	for (i = 0; i < 4; i++) {
		struct layout l = { .count = 0 };

		if (i)
			add_data(&l, draw_data(&d));
		add_zeros(&l,
			  period * (1 + (uint64_t)i % 2) + draw(&d) % 300000);
		if (i != 1)
			add_data(&l, draw_data(&d));
		assert_alike(&l, DIGEST_DEFAULT, i % 2);
		layout_release(&l);
	}
}

TEST(test_nothing_but_zeros)
{
	static const uint64_t sizes[] = { 1,       7,       15,      16,
					  4095,    4096,    65535,   65536,
					  1048575, 1048576, 1048577, 9999999 };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct layout l = { .count = 0 };

		add_zeros(&l, sizes[i]);
		assert_alike(&l, DIGEST_DEFAULT, true);
		assert_alike(&l, DIGEST_DEFAULT, false);
	}
}
