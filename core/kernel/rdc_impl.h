/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_RDC_IMPL_H
#define CORE_KERNEL_RDC_IMPL_H

#include "core/kernel/rdc.h"

/*
 * For KERNEL_WINDOW the rotation is 2, so 16 steps go all the way round and a
 * hash is that of 16 bytes, xor that of the 16 before, xor that of the 16
 * before these.  Of 16 bytes, every fourth counts for whole bytes of the hash
 * to the left: byte 3 - k of what byte 4 * k back adds comes to the top.  So
 * two bytes for each place, the upper half of
 *
 *   sum = xor over k of rotate(value[4 * k back], 8 * k)
 *
 * are enough for the top of 16 bytes:
 *
 *   xor over m of (sum[m back] << 2 * m) >> 8
 */

static inline uint32_t rdc_rotate(uint32_t x, uint32_t bits)
{
	return x << bits | x >> (-bits & 31);
}

/* For any window, step by step. */
void rdc_roll_tops(const struct kernel_rolling *rolling, const uint8_t *data,
		   size_t count, uint8_t *tops_out);

void rdc_roll_hashes(const struct kernel_rolling *rolling, const uint8_t *data,
		     const uint32_t *places, size_t count,
		     uint32_t *hashes_out);

#endif
