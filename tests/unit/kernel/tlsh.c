/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/kernel.h"
#include "core/kernel/tlsh/tlsh.h"
#include "tests/unit/kernel/fixture.h"

enum { LONGEST = 3000 };

typedef uint32_t tlsh_counts[KERNEL_TLSH_TRIPLETS][256];

static struct kernel_tlsh_table table;
static uint8_t pearson[256];

/* Any table will do; a permutation is what it is in fact. */
static int make_table(void **state)
{
	struct draws d = draws_of(7);
	size_t i, j;
	uint8_t swap;

	(void)state;
	for (i = 0; i < 256; i++)
		pearson[i] = (uint8_t)i;
	for (i = 255; i > 0; i--) {
		j = draw(&d) % (i + 1);
		swap = pearson[i];
		pearson[i] = pearson[j];
		pearson[j] = swap;
	}
	kernel_tlsh_init(&table, pearson);
	return 0;
}

/* As the definition reads. */
static uint8_t hash(uint8_t salt, uint8_t x, uint8_t y, uint8_t z)
{
	return pearson[pearson[pearson[pearson[salt] ^ x] ^ y] ^ z];
}

static uint8_t model(const uint8_t *bytes, size_t len, tlsh_counts counts,
		     uint8_t checksum)
{
	const uint8_t *p;
	size_t i;

	for (i = 4; i < len; i++) {
		p = bytes + i;
		counts[0][hash(2, p[0], p[-1], p[-2])]++;
		counts[1][hash(3, p[0], p[-1], p[-3])]++;
		counts[2][hash(5, p[0], p[-2], p[-3])]++;
		counts[3][hash(7, p[0], p[-2], p[-4])]++;
		counts[4][hash(11, p[0], p[-1], p[-4])]++;
		counts[5][hash(13, p[0], p[-3], p[-4])]++;
		checksum = hash(0, p[0], p[-1], checksum);
	}
	return checksum;
}

/* How often each bucket came, whatever table that was counted in. */
static void sum_of(const tlsh_counts counts, uint32_t out[KERNEL_TLSH_BUCKETS])
{
	size_t i, k;

	for (k = 0; k < KERNEL_TLSH_BUCKETS; k++) {
		out[k] = 0;
		for (i = 0; i < KERNEL_TLSH_TRIPLETS; i++)
			out[k] += counts[i][k];
	}
}

static void try_count(const uint8_t *bytes, size_t len, uint64_t seed)
{
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	uint32_t want[KERNEL_TLSH_BUCKETS], have[KERNEL_TLSH_BUCKETS];
	tlsh_counts counts = { { 3 } };
	uint8_t begin = (uint8_t)seed, checksum;

	checksum = model(bytes, len, counts, begin);
	sum_of(counts, want);
	for (i = 0; i < variants; i++) {
		uint8_t end;

		memset(counts, 0, sizeof(counts));
		counts[0][0] = 3;
		end = all[i].tlsh->count(&table, bytes, len, counts, begin);
		sum_of(counts, have);
		if (end != checksum || memcmp(have, want, sizeof(have)) != 0)
			fail_msg("%s: seed %llu, %zu bytes", all[i].name,
				 (unsigned long long)seed, len);
	}
}

static void test_every_length(void **state)
{
	struct guarded g = guarded_new(LONGEST);
	size_t len;

	(void)state;
	for (len = 0; len < 300; len++) {
		/* nothing behind is read, and nothing before */
		fill(g.data + g.len - len, len, len);
		try_count(g.data + g.len - len, len, len);
		fill(g.data, len, len + 1000);
		try_count(g.data, len, len + 1000);
	}
	guarded_free(&g);
}

static void test_random_lengths(void **state)
{
	struct guarded g = guarded_new(LONGEST);
	struct draws d = draws_of(11);
	uint64_t seed;
	size_t len;

	(void)state;
	for (seed = 0; seed < 500; seed++) {
		len = draw(&d) % LONGEST;
		fill(g.data + g.len - len, len, seed);
		try_count(g.data + g.len - len, len, seed);
	}
	guarded_free(&g);
}

/* All hashes are counted, or none is, in stretches of any length. */
static void test_one_value(void **state)
{
	struct guarded g = guarded_new(LONGEST);
	struct draws d = draws_of(13);
	uint64_t seed;
	size_t at, end;

	(void)state;
	for (seed = 0; seed < 500; seed++) {
		for (at = 0; at < LONGEST; at = end) {
			end = at + 1 + draw(&d) % 600;
			if (end > LONGEST)
				end = LONGEST;
			memset(g.data + at, (int)draw(&d), end - at);
		}
		try_count(g.data, LONGEST, seed);
	}
	guarded_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_random_lengths),
		cmocka_unit_test(test_one_value),
	};

	return cmocka_run_group_tests(tests, make_table, NULL);
}
