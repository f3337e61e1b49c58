/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sketch/sketch_impl.h"

#include <string.h>

size_t sketch_count_at_level(const struct sketch *sketch, unsigned level)
{
	return sketch_count_below(sketch->values, sketch->count,
				  sketch_bound(level));
}

void sketch_raise(struct sketch *sketch, unsigned level)
{
	sketch->count = sketch_count_at_level(sketch, level);
	sketch->level = level;
	sketch->is_placed &= sketch->count > 0;
}

void sketch_cut(struct sketch *sketch, size_t most)
{
	while (sketch->count > most)
		sketch_raise(sketch, sketch->level + 1);
}

void sketch_merge(struct sketch *into, const struct sketch *from)
{
	uint64_t both[SKETCH_MOST + 1];
	size_t i = 0, j = 0, n;

	sketch_raise(into, sketch_joint_level(into, from));
	/* One more than a sketch has tells that the level must rise. */
	for (n = 0; n <= SKETCH_MOST; n++) {
		uint64_t x = i < into->count ? into->values[i] : UINT64_MAX;
		uint64_t y = j < from->count ? from->values[j] : UINT64_MAX;

		both[n] = x < y ? x : y;
		if (both[n] >= sketch_bound(into->level))
			break;
		i += x <= y;
		j += y <= x;
	}
	while (n > SKETCH_MOST)
		n = sketch_count_below(both, n, sketch_bound(++into->level));
	into->folded += from->folded;
	into->windows = 0;
	into->is_placed = false;
	into->count = n;
	memcpy(into->values, both, n * sizeof(*both));
	for (i = 0; i < n; i++)
		into->times[i] = 1;
}
