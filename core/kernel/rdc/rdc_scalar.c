/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/rdc/rdc_impl.h"

static inline void add(struct kernel_high *high, size_t place, uint32_t hash)
{
	if (high->count == KERNEL_PLACES)
		return;
	high->places[high->count] = (uint32_t)place;
	high->hashes[high->count++] = hash;
}

/*
 * Two halves side by side: a step has to wait for the one before it, but not
 * for those of the other half.
 */
void rdc_roll_over(const struct kernel_rolling *rolling, const uint8_t *data,
		   size_t first, size_t last, uint32_t limit,
		   struct kernel_high *high)
{
	const struct kernel_rolling r = *rolling;
	const size_t half = (last - first) / 2, middle = last - half;
	struct kernel_high behind = { .count = 0 };
	const uint8_t *x = data + first, *y = data + middle;
	uint32_t hash_x, hash_y = kernel_hash(&r, y - 1);
	size_t i;

	hash_x = kernel_hash(&r, x - 1);
	for (i = 0; i < half; i++) {
		hash_x = kernel_roll(&r, hash_x, x[i], (x - r.window)[i]);
		hash_y = kernel_roll(&r, hash_y, y[i], (y - r.window)[i]);
		if (hash_y >= limit)
			add(&behind, middle + i, hash_y);
		if (hash_x < limit)
			continue;
		add(high, first + i, hash_x);
		if (high->count == KERNEL_PLACES)
			return;
	}
	if (first + half < middle) {
		hash_x = kernel_roll(&r, hash_x, x[i], (x - r.window)[i]);
		if (hash_x >= limit)
			add(high, first + half, hash_x);
	}
	for (i = 0; i < behind.count; i++)
		add(high, behind.places[i], behind.hashes[i]);
}

static void find(const struct kernel_rolling *rolling, const uint8_t *data,
		 size_t count, uint32_t limit, struct kernel_high *out)
{
	out->count = 0;
	if (count > 0)
		rdc_roll_over(rolling, data, 0, count, limit, out);
}

const struct kernel_rdc rdc_scalar = { find };
