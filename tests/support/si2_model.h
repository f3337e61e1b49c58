/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SI2_MODEL_H
#define TESTS_SUPPORT_SI2_MODEL_H

#include "core/base/bytes.h"
#include "tests/support/vectors.h"

/* The Similarity Index's own function: all shingles, sorted; a CRC bit by
 * bit. */

#define SI2_MODEL_POLYNOMIAL UINT64_C(0xd74307d3fd3382db)

/* A character is two bytes, the first of them 0. */
static inline uint64_t si2_model_fingerprint(uint32_t shingle)
{
	uint64_t f = SI2_MODEL_POLYNOMIAL;
	unsigned i, k;

	for (i = 0; i < 8; i++) {
		if (i % 2)
			f ^= shingle >> (24 - i / 2 * 8) & 0xff;
		for (k = 0; k < 8; k++)
			f = f & 1 ? f >> 1 ^ SI2_MODEL_POLYNOMIAL : f >> 1;
	}
	return f;
}

static inline int si2_model_by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static inline uint64_t si2_model(struct bytes b)
{
	size_t i, count = b.len < 4 ? 0 : b.len - 3;
	uint32_t *all = calloc(count + 1, sizeof(*all));
	long sums[64] = { 0 };
	uint64_t result = 0, f;
	unsigned bit;

	assert_non_null(all);
	for (i = 0; i < count; i++)
		all[i] = load_be32(b.data + i);
	qsort(all, count, sizeof(*all), si2_model_by_value);
	for (i = 0; i < count; i++) {
		if (i > 0 && all[i] == all[i - 1])
			continue;
		f = si2_model_fingerprint(all[i]);
		for (bit = 0; bit < 64; bit++)
			sums[bit] += f >> bit & 1 ? 1 : -1;
	}
	for (bit = 0; bit < 64; bit++)
		if (sums[bit] > 0)
			result |= UINT64_C(1) << bit;
	free(all);
	return result;
}

#endif
