/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_RDC_RDC_IMPL_H
#define CORE_KERNEL_RDC_RDC_IMPL_H

#include "core/kernel/rdc/rdc.h"

/*
 * For KERNEL_WINDOW the rotation is 2, so 16 steps go all the way round and a
 * hash is that of 16 bytes, xor that of the 16 before, xor that of the 16
 * before these.
 *
 * Vectors compute only the top bytes of the hashes and mark those that are
 * not below that of the limit.  The few hashes that are marked are computed
 * as a whole.
 */
#define RDC_SECTION 4096 /* bytes whose marks are kept */

struct rdc_ways {
	/*
	 * Bit i % 64 of marks[i / 64] tells whether the top byte after byte i
	 * of count <= RDC_SECTION, at least one, is not below top; those
	 * behind the last are 0.  Bit i of the result tells whether marks[i]
	 * has any.
	 */
	uint64_t (*mark)(const struct kernel_rolling *rolling,
			 const uint8_t *data, size_t count, uint8_t top,
			 uint64_t marks_out[RDC_SECTION / 64]);

	/* The hashes after the bytes at the given places. */
	void (*hashes)(const struct kernel_rolling *rolling,
		       const uint8_t *data, const uint32_t *places,
		       size_t count, uint32_t *hashes_out);
};

static inline uint32_t rdc_rotate(uint32_t x, uint32_t bits)
{
	return x << bits | x >> (-bits & 31);
}

/* As find of struct kernel_rdc.  The ways are for KERNEL_WINDOW; any other
 * window is rolled over. */
void rdc_find(const struct rdc_ways *ways, const struct kernel_rolling *rolling,
	      const uint8_t *data, size_t count, uint32_t limit,
	      struct kernel_high *out);

/* Adds the places of high hashes from first to last - 1 to those in high. */
void rdc_roll_over(const struct kernel_rolling *rolling, const uint8_t *data,
		   size_t first, size_t last, uint32_t limit,
		   struct kernel_high *high);

#endif
