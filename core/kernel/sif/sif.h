/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_SIF_SIF_H
#define CORE_KERNEL_SIF_SIF_H

#include <stddef.h>
#include <stdint.h>

/*
 * The cyclic polynomial of every window of a stream, of which only the small
 * ones are of interest:
 *
 *	h = rol(T[w[0]], n - 1) ^ ... ^ rol(T[w[n - 2]], 1) ^ T[w[n - 1]]
 */
#define KERNEL_SIF_MAX_WINDOW 32

/* T and what follows from it, made by kernel_sif_init(). */
struct kernel_sif_table {
	unsigned window; /* n, 2..KERNEL_SIF_MAX_WINDOW */
	uint64_t enter[256];
	uint64_t leave[256];    /* rotated by the window */
	uint8_t planes[3][256]; /* the upper three bytes of T, highest last */
	/* Rows of 64 bytes from taps_at on, lines of the cache: what a byte
	 * adds to the top byte of the hashes after it; 16 zeros, the next 16
	 * hashes, 16 zeros. */
	size_t taps_at;
	uint8_t taps[257 * 64];
};

void kernel_sif_init(struct kernel_sif_table *table, const uint64_t *values,
		     unsigned window);

struct kernel_sif {
	/*
	 * Writes the hashes up to bound of the count windows that start at
	 * bytes, bytes + 1 and so on, in this order, but not of windows that
	 * repeat one byte; returns their number.  Reads count + window - 1
	 * bytes, none if count is 0; writes within hashes_out[count].
	 */
	size_t (*pick)(const struct kernel_sif_table *table,
		       const uint8_t *bytes, size_t count, uint64_t bound,
		       uint64_t *hashes_out);
};

extern const struct kernel_sif sif_scalar;
#ifdef __x86_64__
extern const struct kernel_sif sif_avx2;
extern const struct kernel_sif sif_avx512;
#endif

#endif
