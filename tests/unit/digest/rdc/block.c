/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/rdc/rdc_block.h"
#include "tests/unit/kernel/fixture.h"

#define BLOCK RDC_MAX_BLOCK

static struct kernel_h3 h3;
static struct rdc_hasher hasher = { NULL, { &h3, KERNEL_WINDOW, 2 } };

/* A block with the window before it, and its hashes one step after the
 * other. */
static uint8_t bytes[KERNEL_WINDOW + BLOCK];
static uint32_t hashes[BLOCK];
static uint8_t *const data = bytes + KERNEL_WINDOW;

static int make_h3(void **state)
{
	(void)state;
	random_h3(&h3);
	return 0;
}

static void make_hashes(void)
{
	uint32_t hash = 0;
	size_t i;

	for (i = 0; i < KERNEL_WINDOW; i++) {
		hash ^= h3.values[bytes[i]];
		hash = hash << 2 | hash >> 30;
	}
	for (i = 0; i < BLOCK; i++) {
		hash ^= h3.values[data[i]] ^ h3.values[bytes[i]];
		hash = hash << 2 | hash >> 30;
		hashes[i] = hash;
	}
}

static struct rdc_peak model_peak(size_t count)
{
	struct rdc_peak peak = { 0, 0, false };
	size_t i, same = 0;

	for (i = 0; i < count; i++)
		if (hashes[i] > peak.hash)
			peak.hash = hashes[i];
	for (i = count; i-- > 0;) {
		if (hashes[i] != peak.hash)
			continue;
		peak.place = (uint32_t)i;
		same++;
	}
	peak.unique = same == 1;
	return peak;
}

static bool model_below(size_t first, size_t last, uint32_t limit)
{
	for (; first < last; first++)
		if (hashes[first] >= limit)
			return false;
	return true;
}

static void try_below(const struct rdc_block *block, size_t count,
		      struct draws *d)
{
	size_t first = draw(d) % count;
	size_t last = first + 1 + draw(d) % (count - first);
	uint32_t limit = hashes[draw(d) % count] + (uint32_t)(draw(d) % 3) - 1;
	bool want;

	/* Mostly what is near the largest: that is what it is asked. */
	if (draw(d) % 4)
		limit = block->hashes[draw(d) % block->count] +
			(uint32_t)(draw(d) % 3) - 1;
	want = model_below(first, last, limit);
	if (rdc_block_below(&hasher, data, block, first, last, limit) != want)
		fail_msg("%zu..%zu of %zu below %#x: %d", first, last, count,
			 limit, want);
}

static void try_all(size_t count, uint64_t seed)
{
	struct rdc_peak want;
	struct rdc_block block;
	struct rdc_row row;
	struct draws d = draws_of(seed);
	size_t i, k, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	make_hashes();
	want = model_peak(count);
	for (i = 0; i < variants; i++) {
		hasher.ops = all[i].rdc;
		rdc_row_hash(&hasher, data, count, 1, &row);
		rdc_row_next(&row, &block);
		if (block.peak.hash != want.hash ||
		    block.peak.place != want.place ||
		    block.peak.unique != want.unique)
			fail_msg("%s, seed %llu, %zu bytes: want %#x at %u, "
				 "%d; have %#x at %u, %d",
				 all[i].name, (unsigned long long)seed, count,
				 want.hash, want.place, want.unique,
				 block.peak.hash, block.peak.place,
				 block.peak.unique);
		for (k = 0; k < 20; k++)
			try_below(&block, count, &d);
	}
}

TEST(random_bytes)
{
	uint64_t seed;

	for (seed = 1; seed <= 300; seed++) {
		fill(bytes, sizeof(bytes), seed);
		try_all(seed % 3 ? BLOCK : 1 + seed * 7 % BLOCK, seed);
	}
}

static void repeat(size_t period, size_t from, uint64_t seed)
{
	size_t i;

	fill(bytes, sizeof(bytes), seed);
	for (i = from + period; i < sizeof(bytes); i++)
		bytes[i] = bytes[i - period];
}

/* The whole block, all of it but the start, and with a byte changed. */
TEST(every_period)
{
	struct draws d = draws_of(1);
	size_t period;

	for (period = 1; period < BLOCK; period++) {
		repeat(period, 0, period);
		try_all(BLOCK, period);
		try_all(1 + draw(&d) % BLOCK, period);
		repeat(period, draw(&d) % 200, period);
		try_all(BLOCK, period);
		bytes[draw(&d) % sizeof(bytes)] ^= 1;
		try_all(BLOCK, period);
	}
}

TEST(equal_bytes)
{
	unsigned value;

	for (value = 0; value < 256; value++) {
		memset(bytes, (int)value, sizeof(bytes));
		try_all(BLOCK, value);
		try_all(1 + value, value);
		bytes[value * 4] ^= 1;
		try_all(BLOCK, value);
	}
}

/* ---- rows ---- */

static uint8_t long_bytes[KERNEL_WINDOW + RDC_ROW * BLOCK];

/* Random, with stretches that repeat and a byte changed here and there. */
static void fill_row(struct draws *d)
{
	size_t i, period = 1 + draw(d) % 300;
	bool repeats = false;

	for (i = 0; i < sizeof(long_bytes); i++) {
		if (draw(d) % 2048 == 0)
			repeats = !repeats;
		long_bytes[i] = repeats && i >= period ?
					long_bytes[i - period] :
					(uint8_t)draw(d);
		if (draw(d) % 4096 == 0)
			long_bytes[i] ^= 0x55;
	}
}

static void try_row(size_t size, size_t count, uint64_t seed)
{
	const uint8_t *start = long_bytes + KERNEL_WINDOW;
	struct rdc_row row, alone;
	struct rdc_block have, want;
	size_t i;

	rdc_row_hash(&hasher, start, size, count, &row);
	for (i = 0; i < count; i++, start += size) {
		rdc_row_next(&row, &have);
		rdc_row_hash(&hasher, start, size, 1, &alone);
		rdc_row_next(&alone, &want);
		if (have.peak.hash != want.peak.hash ||
		    have.peak.place != want.peak.place ||
		    have.peak.unique != want.peak.unique)
			fail_msg("seed %llu, block %zu of %zu, %zu bytes: "
				 "want %#x at %u, have %#x at %u",
				 (unsigned long long)seed, i, count, size,
				 want.peak.hash, want.peak.place,
				 have.peak.hash, have.peak.place);
		if (rdc_block_below(&hasher, start, &have, 0, size,
				    want.peak.hash) ||
		    (want.peak.hash < UINT32_MAX &&
		     !rdc_block_below(&hasher, start, &have, 0, size,
				      want.peak.hash + 1)))
			fail_msg("seed %llu, block %zu of %zu: below %#x",
				 (unsigned long long)seed, i, count,
				 have.peak.hash);
	}
}

TEST(a_block_of_a_row_is_like_one_alone)
{
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	struct draws d;
	uint64_t seed;

	for (seed = 1; seed <= 200; seed++) {
		d = draws_of(seed);
		fill_row(&d);
		for (i = 0; i < variants; i++) {
			hasher.ops = all[i].rdc;
			try_row(BLOCK, RDC_ROW, seed);
			try_row(128 + seed * 7 % 897, 1 + seed % RDC_ROW, seed);
		}
	}
}

int main(void)
{
	return test_run(make_h3, NULL);
}
