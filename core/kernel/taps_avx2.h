/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_TAPS_AVX2_H
#define CORE_KERNEL_TAPS_AVX2_H

#ifdef __x86_64__

#include <immintrin.h>
#include <stdint.h>

/*
 * Of a hash that is the xor of what each byte adds: what 16 bytes add to the
 * top bytes of the hashes after them and after the next 16.  A row of the table
 * is 16 zeros, what a byte adds to the next 16 hashes, 16 zeros; a load for
 * each byte, of its row at the place that puts it behind the ones before it.
 * Neither gathers nor shuffles look up as fast.
 */
__attribute__((target("avx2"))) static inline __m256i taps_add_up(
	const uint8_t (*taps)[64], const uint8_t *bytes)
{
	__m256i x = _mm256_setzero_si256(), y = x;
	const uint8_t *row;
	int k;

	/* Two sums: one would wait for each load. */
#pragma GCC unroll 8
	for (k = 0; k < 8; k++) {
		row = taps[bytes[k]] + 16 - k;
		x = _mm256_xor_si256(x, _mm256_loadu_si256((const void *)row));
		row = taps[bytes[k + 8]] + 8 - k;
		y = _mm256_xor_si256(y, _mm256_loadu_si256((const void *)row));
	}
	return _mm256_xor_si256(x, y);
}

#endif

#endif
