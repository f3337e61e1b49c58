/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_RDC_H
#define CORE_KERNEL_RDC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rolling hash of RDC and its local maxima, [MS-RDC] 3.1.5.1. */

struct kernel_h3 {
	uint32_t values[256];
	uint8_t planes[4][256]; /* planes[k][i]: byte k of values[i] */
};

#define KERNEL_MAX_WINDOW 96

struct kernel_rolling {
	const struct kernel_h3 *h3; /* borrowed */
	uint32_t window;            /* up to KERNEL_MAX_WINDOW */
	uint32_t rotation;          /* 0..31 */
};

struct kernel_peak {
	uint32_t value;
	uint32_t offset; /* of the first such value */
	bool unique;
};

struct kernel_rdc {
	/*
	 * The rolling hash after each of count bytes; hash is that before
	 * them.  The window bytes before data leave the window: they are read
	 * too.
	 */
	void (*hash_block)(const struct kernel_rolling *rolling,
			   const uint8_t *data, size_t count, uint32_t hash,
			   uint32_t *hashes_out);

	/* The largest value; 0 at 0 and not unique when there is none. */
	struct kernel_peak (*block_maximum)(const uint32_t *values,
					    size_t count);
};

extern const struct kernel_rdc rdc_scalar;
#ifdef __x86_64__
extern const struct kernel_rdc rdc_avx2;
extern const struct kernel_rdc rdc_avx512;
#endif

#endif
