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
 *
 * Every variant gives the same bits, down to the order of the slots.
 */

/*
 * A set of keys other than 0: slots in buckets of one cache line, which bits
 * from WINDOW_HOME_SHIFT on of the key times a secret choose: XXH3 of 8 bytes
 * can be inverted, and content could be made whose keys are all for one bucket.
 * A bucket is filled from its first slot, then the bucket after it; 0 marks an
 * empty slot, and one is always empty.  The caller owns slots, aligned to
 * WINDOW_ALIGN, and reads and writes all members.
 */
#define WINDOW_BUCKET 8
#define WINDOW_ALIGN 64
#define WINDOW_HOME_SHIFT 40

struct window_set {
	uint64_t *slots;
	size_t slot_count; /* power of two, at least WINDOW_BUCKET */
	size_t count;      /* keys in the set */
	uint64_t secret;   /* odd */
};

/*
 * The distinct windows of a piece that is not large.  Each window has a place
 * in a table, and the first one that comes there owns it.
 */
#define WINDOW_TALLY_MOST 65535

struct window_tally {
	uint16_t *table;     /* (1 << place_bits) + 1, all 0; garbage after */
	unsigned place_bits; /* 1 to 31 */
	uint64_t *rest;      /* values; room for as many as there are windows */
	size_t rest_count;
	size_t count; /* windows in the sums */
	uint32_t sums[64];
};

/* Whether all windows are the same; the first two tell most often. */
static inline bool window_is_run(const uint8_t *bytes, size_t count)
{
	return memcmp(bytes, bytes + 1, 7) == 0 &&
	       memcmp(bytes, bytes + 1, count + 6) == 0;
}

struct kernel_window {
	/*
	 * Writes the keys from low up to high of the count windows that start
	 * at bytes, bytes + 1 and so on, and returns their number.  Reads
	 * count + 7 bytes, none if count is 0; writes within keys_out[count].
	 */
	size_t (*pick)(const uint8_t *bytes, size_t count, uint64_t low,
		       uint64_t high, uint64_t *keys_out);

	/* Adds keys; 0 among them changes nothing. */
	void (*insert)(struct window_set *set, const uint64_t *keys,
		       size_t count);

	/*
	 * Drops the keys above limit.  Keys that were not in the bucket they
	 * belong to come off, and the caller inserts them again: they go to
	 * strays_out, which has room for slot_count; what is behind them
	 * there may be overwritten.  Returns their number.
	 */
	size_t (*sift)(struct window_set *set, uint64_t limit,
		       uint64_t *strays_out);

	/* Writes the keys from low up to high, low > 0, in the order of their
	 * slots, within keys_out[count]; returns their number. */
	size_t (*between)(const uint64_t *slots, size_t count, uint64_t low,
			  uint64_t high, uint64_t *keys_out);

	/* Makes of each key the value of its window. */
	void (*evaluate)(uint64_t *keys, size_t count);

	/* Adds to sums[i] how many of the values have bit i set. */
	void (*sum)(const uint64_t *values, size_t count, uint32_t sums[64]);

	/*
	 * Counts those of count windows, at most WINDOW_TALLY_MOST, that own
	 * their places, and adds their values to the sums.  What is equal to
	 * the owner of its place is a repeat and dropped.  The values of the
	 * others, repeats among them, are left to the caller: they go behind
	 * the rest.  Reads count + 7 bytes, none if count is 0.
	 */
	void (*tally)(const uint8_t *bytes, size_t count,
		      struct window_tally *t);
};

extern const struct kernel_window window_scalar;
#ifdef __x86_64__
extern const struct kernel_window window_avx2;
extern const struct kernel_window window_avx512;
#endif

#endif
