/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_RDC_RDC_H
#define CORE_KERNEL_RDC_RDC_H

#include <stddef.h>
#include <stdint.h>

/*
 * The rolling hash of RDC and where it is high, [MS-RDC] 3.1.5.1.
 *
 * A byte cancels when it leaves the window.  So the hash after a byte depends
 * on the window that ends with it and on nothing else, and can be computed
 * anywhere:
 *
 *   hash = xor over d of rotate(values[byte d back], (d + 1) * rotation)
 */
#define KERNEL_MAX_WINDOW 96
#define KERNEL_WINDOW 48 /* the usual one; others are slow */

struct kernel_h3 {
	uint32_t values[256];
	/* Further forms, for KERNEL_WINDOW: byte k of each value rotated
	 * once; */
	uint8_t planes[4][256];
	/* and what a byte adds to the top byte of the hashes after it: 16
	 * zeros, the next 16 hashes, 16 zeros.  A row is a line of the
	 * cache. */
	_Alignas(64) uint8_t taps[256][64];
};

struct kernel_rolling {
	const struct kernel_h3 *h3; /* borrowed */
	uint32_t window;            /* 2..KERNEL_MAX_WINDOW */
	uint32_t rotation;          /* times window: a multiple of 32 */
};

/* One step: out is the byte that leaves the window. */
static inline uint32_t kernel_roll(const struct kernel_rolling *rolling,
				   uint32_t hash, uint8_t in, uint8_t out)
{
	const uint32_t *values = rolling->h3->values;

	hash ^= values[out] ^ values[in];
	return hash << rolling->rotation | hash >> (-rolling->rotation & 31);
}

#define KERNEL_PLACES 512

struct kernel_high {
	size_t count;
	uint32_t places[KERNEL_PLACES];
	uint32_t hashes[KERNEL_PLACES];
};

struct kernel_rdc {
	/*
	 * Of the hashes after each of count bytes, those that are not below
	 * limit, in order.  There may be more behind the last when they are
	 * KERNEL_PLACES.  The window bytes before data are read, too.
	 */
	void (*find)(const struct kernel_rolling *rolling, const uint8_t *data,
		     size_t count, uint32_t limit, struct kernel_high *out);
};

/* Fills in what follows from h3->values. */
void kernel_h3_init(struct kernel_h3 *h3);

/* The hash after data[0]; the bytes of its window are read. */
uint32_t kernel_hash(const struct kernel_rolling *rolling, const uint8_t *data);

extern const struct kernel_rdc rdc_scalar;
#ifdef __x86_64__
extern const struct kernel_rdc rdc_avx2;
extern const struct kernel_rdc rdc_avx512;
#endif

#endif
