/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SIMHASH_MODEL_H
#define TESTS_SUPPORT_SIMHASH_MODEL_H

#include <xxhash.h>

#include "tests/support/vectors.h"

/* SimHash as the definition reads: all windows, sorted by their keys. */

#define SIMHASH_MODEL_SAMPLE 256

struct simhash_model_window {
	uint64_t key;
	uint64_t value;
};

static inline int simhash_model_by_key(const void *a, const void *b)
{
	const struct simhash_model_window *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* The distinct windows in the order of their keys. */
static inline size_t simhash_model_windows(struct bytes b,
					   struct simhash_model_window **out)
{
	size_t i, n = 0, count = b.len < 8 ? 0 : b.len - 7;
	struct simhash_model_window *all = calloc(count + 1, sizeof(*all));

	assert_non_null(all);
	for (i = 0; i < count; i++) {
		all[i].key = XXH3_64bits_withSeed(b.data + i, 8, 1);
		all[i].value = XXH3_64bits(b.data + i, 8);
	}
	qsort(all, count, sizeof(*all), simhash_model_by_key);
	for (i = 0; i < count; i++)
		if (i == 0 || all[i].key != all[i - 1].key)
			all[n++] = all[i];
	*out = all;
	return n;
}

static inline uint64_t simhash_model(struct bytes b)
{
	struct simhash_model_window *windows;
	size_t i, n = simhash_model_windows(b, &windows);
	uint64_t result = 0;
	long sum;
	int bit;

	n = n < SIMHASH_MODEL_SAMPLE ? n : SIMHASH_MODEL_SAMPLE;
	for (bit = 0; bit < 64; bit++) {
		sum = 0;
		for (i = 0; i < n; i++)
			sum += windows[i].value >> bit & 1 ? 1 : -1;
		if (sum > 0)
			result |= UINT64_C(1) << bit;
	}
	free(windows);
	if (b.len > 0 && b.len < 8)
		return XXH3_64bits(b.data, b.len);
	return result;
}

#endif
