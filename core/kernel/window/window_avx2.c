/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/window/window_avx2.h"

#ifdef __x86_64__

TARGET static void add_lanes(const struct window_sums *s, uint32_t sums[64])
{
	uint64_t lanes[11][4], low[3], bytes[8];
	unsigned lane, i;

	for (i = 0; i < 3; i++)
		_mm256_storeu_si256((void *)lanes[i], s->low[i]);
	for (i = 0; i < 8; i++)
		_mm256_storeu_si256((void *)lanes[3 + i], s->bytes[i]);
	for (lane = 0; lane < 4; lane++) {
		for (i = 0; i < 3; i++)
			low[i] = lanes[i][lane];
		for (i = 0; i < 8; i++)
			bytes[i] = lanes[3 + i][lane];
		window_add_lane(low, bytes, sums);
	}
}

/* A multiple of 32 keys, at most 254 times, so that no byte of the sums
 * overflows. */
TARGET static void sum_part(const uint64_t *keys, size_t count,
			    uint32_t sums[64])
{
	struct window_sums s = { 0 };
	vector v[8];
	size_t i;
	int k;

	for (i = 0; i < count; i += 32) {
		for (k = 0; k < 8; k++)
			v[k] = values_of(_mm256_loadu_si256(
				(const void *)(keys + i + 4 * k)));
		add_vectors(&s, v);
	}
	add_lanes(&s, sums);
}

TARGET static void sum(const uint64_t *keys, size_t count, uint32_t sums[64])
{
	const size_t most = 254 * 32;
	size_t i, part;

	for (i = 0; i + 32 <= count; i += part) {
		part = count - i < most ? (count - i) / 32 * 32 : most;
		sum_part(keys + i, part, sums);
	}
	window_scalar.sum(keys + i, count - i, sums);
}

const struct kernel_window window_avx2 = { window_pick_avx2, sum };

#endif
