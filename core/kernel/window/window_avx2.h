/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_WINDOW_WINDOW_AVX2_H
#define CORE_KERNEL_WINDOW_WINDOW_AVX2_H

#include "core/kernel/window/window_impl.h"

/* What the AVX2 files have in common: the hash of four windows, and the choice
 * of some of four words. */
#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi,popcnt")))

typedef __m256i vector;

TARGET static inline vector same(uint64_t word)
{
	return _mm256_set1_epi64x((long long)word);
}

TARGET static inline vector shift_right(vector x, int bits)
{
	return _mm256_srli_epi64(x, bits);
}

TARGET static inline vector add_bytes(vector a, vector b)
{
	return _mm256_add_epi8(a, b);
}

TARGET static inline vector xor3(vector a, vector b, vector c)
{
	return a ^ b ^ c;
}

TARGET static inline vector majority(vector a, vector b, vector c)
{
	return (a & b) | ((a ^ b) & c);
}

/* Windows at offsets 0..3 of 16 bytes, with their halves swapped. */
TARGET static inline vector spread(__m128i bytes)
{
	const vector order =
		_mm256_set_epi64x(0x060504030a090807, 0x0504030209080706,
				  0x0403020108070605, 0x0302010007060504);

	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), order);
}

TARGET static inline vector multiply(vector a, uint64_t factor)
{
	const vector low = same(factor), high = same(factor >> 32);
	vector cross =
		_mm256_add_epi64(_mm256_mul_epu32(shift_right(a, 32), low),
				 _mm256_mul_epu32(a, high));

	return _mm256_add_epi64(_mm256_mul_epu32(a, low),
				_mm256_slli_epi64(cross, 32));
}

TARGET static inline vector rotate(vector x, int left)
{
	return _mm256_or_si256(_mm256_slli_epi64(x, left),
			       _mm256_srli_epi64(x, 64 - left));
}

/* x to y. */
TARGET static inline vector blend(vector x)
{
	return _mm256_xor_si256(x,
				_mm256_xor_si256(rotate(x, 49), rotate(x, 24)));
}

#include "core/kernel/window/window_vector.h"

/* Bit i: whether key i is up to most; unsigned. */
TARGET static inline unsigned up_to(vector keys, vector most)
{
	const vector top = same(UINT64_C(1) << 63);
	vector above = _mm256_cmpgt_epi64(_mm256_xor_si256(keys, top),
					  _mm256_xor_si256(most, top));

	return ~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(above)) & 0xf;
}

/* For every choice of 4 quarters, the chosen ones' halves first. */
static const uint8_t compress[16][8] = {
	{ 0 },
	{ 0, 1 },
	{ 2, 3 },
	{ 0, 1, 2, 3 },
	{ 4, 5 },
	{ 0, 1, 4, 5 },
	{ 2, 3, 4, 5 },
	{ 0, 1, 2, 3, 4, 5 },
	{ 6, 7 },
	{ 0, 1, 6, 7 },
	{ 2, 3, 6, 7 },
	{ 0, 1, 2, 3, 6, 7 },
	{ 4, 5, 6, 7 },
	{ 0, 1, 4, 5, 6, 7 },
	{ 2, 3, 4, 5, 6, 7 },
	{ 0, 1, 2, 3, 4, 5, 6, 7 },
};

/* Writes 4 words, first those chosen. */
TARGET static inline size_t store_some(uint64_t *out, unsigned which,
				       vector keys)
{
	vector order = _mm256_cvtepu8_epi32(
		_mm_loadl_epi64((const void *)compress[which]));

	_mm256_storeu_si256((void *)out,
			    _mm256_permutevar8x32_epi32(keys, order));
	return (size_t)_mm_popcnt_u32(which);
}

#endif

#endif
