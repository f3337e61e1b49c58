/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_SKETCH_SKETCH_H
#define CORE_KERNEL_SKETCH_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/bytes.h"

/*
 * The steps of a sketch that look at every byte: a content is folded, and the
 * filter of every window of the folded content is computed.
 *
 * Of the window at p, with the little-endian words w(p) of 32 bits and all sums
 * and products modulo 2^32:
 *
 *   half(p)   = w(p) * 9e3779b1 + w(p + 4)
 *   m         = half(p) * 85ebca77 + half(p + 8)
 *   filter(p) = (m ^ m >> 15) * 27d4eb2f
 */
#define KERNEL_SKETCH_WINDOW 16

struct kernel_sketch {
	/*
	 * Writes those of count bytes that are not left out, folded, to out;
	 * returns their number.  Writes within out[count].
	 */
	size_t (*fold)(const uint8_t *bytes, size_t count, uint8_t *out);

	/*
	 * Writes the filters up to most of the count windows at bytes, bytes + 1
	 * and so on, and the places of these windows, 0..count - 1, in any
	 * order; returns their number.  Reads count + 15 bytes, none if count is
	 * 0; writes within filters_out[count] and places_out[count].
	 */
	size_t (*scan)(const uint8_t *bytes, size_t count, uint32_t most,
		       uint32_t *filters_out, uint32_t *places_out);

	/*
	 * How many of the count windows at bytes, bytes + 1 and so on repeat
	 * one byte.  Reads count + 15 bytes, none if count is 0.
	 */
	size_t (*count_repeats)(const uint8_t *bytes, size_t count);
};

/*
 * The byte that a byte of ASCII is folded to; 0: it is left out.  NUL, TAB, LF, VT, FF, CR, SPACE
 * and the punctuation of ASCII are left out, and A to Z become a to z.  All other
 * bytes, the 128 from 80 on among them, stay as they are.
 */
extern const uint8_t sketch_folded_ascii[128];

static inline uint8_t sketch_fold_byte(uint8_t byte)
{
	return byte < 0x80 ? sketch_folded_ascii[byte] : byte;
}

#define SKETCH_HALF_FACTOR UINT32_C(0x9e3779b1)
#define SKETCH_WINDOW_FACTOR UINT32_C(0x85ebca77)
#define SKETCH_MIX_FACTOR UINT32_C(0x27d4eb2f)
#define SKETCH_MIX_SHIFT 15

static inline bool sketch_is_repeat(const uint8_t *window)
{
	uint64_t first = load_le64(window), second = load_le64(window + 8);

	return first == second && first == (first << 8 | first >> 56);
}

extern const struct kernel_sketch sketch_scalar;
#ifdef __x86_64__
extern const struct kernel_sketch sketch_avx2;
extern const struct kernel_sketch sketch_avx512;
#endif

#endif
