/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_SIF_SIF_IMPL_H
#define CORE_KERNEL_SIF_SIF_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/kernel/sif/sif.h"

/*
 * The wide variants look for windows of 16 bytes whose hash has a small
 * highest byte, and only those are hashed in full.
 *
 * AVX2 adds up what each byte brings to that byte.  For AVX-512 the hash of a
 * window that ends at t doubles four times, and each time the rotation is as
 * long as the shift:
 *
 *	a(t) = T[byte t]
 *	b(t) = a(t) ^ rol(a(t - 8), 8)
 *	c(t) = b(t) ^ rol(b(t - 4), 4)
 *	d(t) = c(t) ^ rol(c(t - 2), 2)
 *	h(t) = d(t) ^ rol(d(t - 1), 1)
 *
 * The highest byte of h depends on 23 bits of T.  From bytes 5 to 7 of a come
 * bytes 6 and 7 of b, for which the rotation is a choice of bytes; in words of
 * these two bytes the other rotations are shifts to the left, of which the
 * lowest 7 bits become wrong and none from there on.
 */
#define SIF_WIDE_WINDOW 16
#define SIF_BEFORE (SIF_WIDE_WINDOW - 1) /* bytes before the end of one */
#define SIF_WRONG_BITS 7                 /* of those words */

/* Above this, more windows are hashed in full than it takes to roll the hash
 * over all. */
#define SIF_WIDE_BOUND (UINT64_MAX / 10)

/* Above this, a branch on whether a hash is within the bound is too dear. */
#define SIF_FEW_BOUND (UINT64_MAX / 40)

/* Bytes before the choice of windows is worked off. */
#define SIF_PIECE 4096

static inline uint64_t sif_rotate(uint64_t v, unsigned bits)
{
	return v << (bits & 63) | v >> (-bits & 63);
}

static inline const uint8_t (
	*sif_taps(const struct kernel_sif_table *table))[64]
{
	return (const void *)(table->taps + table->taps_at);
}

static inline uint64_t sif_wide_hash(const struct kernel_sif_table *table,
				     const uint8_t *window)
{
	uint64_t a = 0, b = 0;
	size_t i;

#pragma GCC unroll 8
	for (i = 0; i < SIF_WIDE_WINDOW / 2; i++) {
		a = sif_rotate(a, 1) ^ table->enter[window[i]];
		b = sif_rotate(b, 1) ^
		    table->enter[window[i + SIF_WIDE_WINDOW / 2]];
	}
	return sif_rotate(a, SIF_WIDE_WINDOW / 2) ^ b;
}

static inline bool sif_repeats(const uint8_t *bytes, size_t len)
{
	return bytes[0] == bytes[1] && memcmp(bytes, bytes + 1, len - 1) == 0;
}

/* Of the windows that end within the bytes, those with a bit in chosen. */
static inline size_t sif_take(const struct kernel_sif_table *table,
			      const uint8_t *bytes, uint64_t chosen,
			      uint64_t bound, uint64_t *hashes_out)
{
	const uint8_t *window;
	size_t picked = 0;
	uint64_t hash;

	/* In a long run of one byte every window is chosen. */
	if (chosen == UINT64_MAX &&
	    sif_repeats(bytes - SIF_BEFORE, SIF_BEFORE + 64))
		return 0;
	for (; chosen; chosen &= chosen - 1) {
		window = bytes + __builtin_ctzll(chosen) - SIF_BEFORE;
		hash = sif_wide_hash(table, window);
		if (hash <= bound && !sif_repeats(window, SIF_WIDE_WINDOW))
			hashes_out[picked++] = hash;
	}
	return picked;
}

#endif
