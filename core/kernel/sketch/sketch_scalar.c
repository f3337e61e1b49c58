/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sketch/sketch.h"

/* clang-format off */
const uint8_t sketch_folded_ascii[128] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 0, 0, 0, 0, 0, 0,
	0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
	'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 0, 0, 0, 0, 0,
	0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
	'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 0, 0, 0, 0, 127,
};
/* clang-format on */

/* A byte is written before it is known whether it is kept: without a branch on
 * what cannot be foreseen. */
static size_t fold(const uint8_t *bytes, size_t count, uint8_t *out)
{
	size_t i, kept = 0;
	uint8_t folded;

	for (i = 0; i < count; i++) {
		folded = sketch_folded_ascii[bytes[i] & 0x7f];
		folded = bytes[i] & 0x80 ? bytes[i] : folded;
		out[kept] = folded;
		kept += folded != 0;
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
