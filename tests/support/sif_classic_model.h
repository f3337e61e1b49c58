/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SIF_CLASSIC_MODEL_H
#define TESTS_SUPPORT_SIF_CLASSIC_MODEL_H

#include "tests/support/vectors.h"

/* The original rule of sif: every window's polynomial from the start. */

#define SIF_CLASSIC_MODEL_WINDOW 50

static inline int sif_classic_model_by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static inline uint32_t sif_classic_model_value(const uint8_t *window,
					       uint32_t base)
{
	uint64_t f = 0;
	size_t i;

	for (i = 0; i < SIF_CLASSIC_MODEL_WINDOW; i++)
		f = (f * base + window[i]) % (UINT64_C(1) << 30);
	return (uint32_t)f;
}

/* Ascending, without repeats; the caller frees them. */
static inline uint32_t *sif_classic_model(struct bytes b, uint32_t base,
					  unsigned zero_bits, size_t *count_out)
{
	uint32_t *all = calloc(b.len + 1, sizeof(*all));
	size_t i, kept = 0, count = 0;
	uint32_t f;

	assert_non_null(all);
	for (i = 0; i + SIF_CLASSIC_MODEL_WINDOW <= b.len; i++) {
		f = sif_classic_model_value(b.data + i, base);
		if (f % (UINT32_C(1) << zero_bits) == 0)
			all[count++] = f;
	}
	qsort(all, count, sizeof(*all), sif_classic_model_by_value);
	for (i = 0; i < count; i++)
		if (i == 0 || all[i] != all[i - 1])
			all[kept++] = all[i];
	*count_out = kept;
	return all;
}

#endif
