/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_RDC_H
#define CORE_KERNEL_RDC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The rolling hash of RDC and its local maxima, [MS-RDC] 3.1.5.1.
 *
 * A byte cancels when it leaves the window.  So the hash after a byte depends
 * on the window that ends with it and on nothing else, and can be computed
 * anywhere:
 *
 *   hash = bias ^ xor over d of rotate(values[byte d back], (d + 1) * rotation)
 */
#define KERNEL_MAX_WINDOW 96
#define KERNEL_WINDOW 48 /* the usual one; others are slow */

struct kernel_h3 {
	uint32_t values[256];
	/* Further forms, of the values rotated once as for KERNEL_WINDOW:
	 * byte k of each; */
	uint8_t planes[4][256];
	/* and two bytes that end where its bytes 3, 2, 1, 0 begin, from low to
	 * high. */
	uint64_t pairs[256];
};

struct kernel_rolling {
	const struct kernel_h3 *h3; /* borrowed */
	uint32_t window;            /* 2..KERNEL_MAX_WINDOW */
	uint32_t rotation;          /* times window: a multiple of 32 */
	uint32_t bias;
};

/* One step, of hashes without the bias: out is the byte that leaves the
 * window. */
static inline uint32_t kernel_roll(const struct kernel_rolling *rolling,
				   uint32_t hash, uint8_t in, uint8_t out)
{
	const uint32_t *values = rolling->h3->values;

	hash ^= values[out] ^ values[in];
	return hash << rolling->rotation | hash >> (-rolling->rotation & 31);
}

#define KERNEL_PLACES 16

struct kernel_rdc {
	/*
	 * The top byte of the hash after each of count bytes.  The window
	 * bytes before them are read, too.
	 */
	void (*tops)(const struct kernel_rolling *rolling, const uint8_t *data,
		     size_t count, uint8_t *tops_out);

	/*
	 * The first places of the largest byte, in order: their number.  There
	 * may be more when it is KERNEL_PLACES.
	 */
	size_t (*largest)(const uint8_t *bytes, size_t count,
			  uint32_t places_out[KERNEL_PLACES]);

	/* The hashes after the bytes at the given places. */
	void (*hashes)(const struct kernel_rolling *rolling,
		       const uint8_t *data, const uint32_t *places,
		       size_t count, uint32_t *hashes_out);
};

/* Fills in what follows from h3->values. */
void kernel_h3_init(struct kernel_h3 *h3);

extern const struct kernel_rdc rdc_scalar;
#ifdef __x86_64__
extern const struct kernel_rdc rdc_avx2;
extern const struct kernel_rdc rdc_avx512;
#endif

#endif
