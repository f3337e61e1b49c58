/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sketch/sketch.h"

/* A byte is written before it is known whether it is kept: without a branch on
 * what cannot be foreseen. */
static size_t fold(const uint8_t *bytes, size_t count, uint8_t *out)
{
	size_t i, kept = 0;

	for (i = 0; i < count; i++) {
		out[kept] = bytes[i];
		kept += !sketch_is_blank(bytes[i]);
	}
	return kept;
}

static uint32_t half_at(const uint8_t *p)
{
	return load_le32(p) * SKETCH_HALF_FACTOR + load_le32(p + 4);
}

/* The second half of a window is the first half of the window 8 places on, so
 * the last 8 halves are kept. */
static size_t scan(const uint8_t *bytes, size_t count, uint32_t most,
		   uint32_t *filters_out, uint32_t *places_out)
{
	uint32_t halves[8], second, x;
	size_t i, found = 0;

	for (i = 0; i < 8 && count; i++)
		halves[i] = half_at(bytes + i);
	for (i = 0; i < count; i++) {
		second = half_at(bytes + i + 8);
		x = halves[i % 8] * SKETCH_WINDOW_FACTOR + second;
		x = (x ^ x >> SKETCH_MIX_SHIFT) * SKETCH_MIX_FACTOR;
		halves[i % 8] = second;
		filters_out[found] = x;
		places_out[found] = (uint32_t)i;
		found += x <= most;
	}
	return found;
}

/* The eight windows at i to i + 7 all contain the nine bytes at i + 7. */
static size_t count_repeats(const uint8_t *bytes, size_t count)
{
	size_t i, p, repeats = 0;

	for (i = 0; i < count; i += 8) {
		if (load_le64(bytes + i + 7) != load_le64(bytes + i + 8))
			continue;
		for (p = i; p < i + 8 && p < count; p++)
			repeats += sketch_is_repeat(bytes + p);
	}
	return repeats;
}

const struct kernel_sketch sketch_scalar = { fold, scan, count_repeats };
