/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_WINDOW_WINDOW_H
#define CORE_KERNEL_WINDOW_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * What SimHash does with the 8-byte windows of a file, many at a time.
 *
 * The key of a window is XXH3 with seed 1, its value XXH3.  On 8 bytes XXH3 is
 * a permutation: the key says all about the window, and so keys are what is
 * kept; the value comes from the key.
 */

/* Whether all windows are the same; the first two tell most often. */
static inline bool window_is_run(const uint8_t *bytes, size_t count)
{
	return memcmp(bytes, bytes + 1, 7) == 0 &&
	       memcmp(bytes, bytes + 1, count + 6) == 0;
}

/* Leaves out the keys of windows that repeat one byte; returns the number of
 * the others. */
size_t window_drop_runs(uint64_t *keys, size_t count);

struct kernel_window {
	/*
	 * Writes the keys up to bound of the count windows that start at
	 * bytes, bytes + 1 and so on, and returns their number.  Reads
	 * count + 7 bytes, none if count is 0; writes within keys_out[count].
	 */
	size_t (*pick)(const uint8_t *bytes, size_t count, uint64_t bound,
		       uint64_t *keys_out);

	/* Adds to sums[i] how many of the windows with these keys have a value
	 * with bit i set. */
	void (*sum)(const uint64_t *keys, size_t count, uint32_t sums[64]);
};

extern const struct kernel_window window_scalar;
#ifdef __x86_64__
extern const struct kernel_window window_avx2;
extern const struct kernel_window window_avx512;
#endif

#endif
