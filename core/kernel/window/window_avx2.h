/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_WINDOW_WINDOW_AVX2_H
#define CORE_KERNEL_WINDOW_WINDOW_AVX2_H

#include "core/kernel/window/window_impl.h"

/* What the AVX2 files have in common: the hash of four windows, and the choice
 * of some of four words. */
#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi,popcnt")))

/* Windows at offsets 0..3 of 16 bytes, with their halves swapped. */
TARGET static inline __m256i spread(__m128i bytes)
{
	const __m256i order =
		_mm256_set_epi64x(0x060504030a090807, 0x0504030209080706,
				  0x0403020108070605, 0x0302010007060504);

	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), order);
}

TARGET static inline __m256i multiply(__m256i a, uint64_t factor)
{
	const __m256i low = _mm256_set1_epi64x((long long)factor);
	const __m256i high = _mm256_set1_epi64x((long long)(factor >> 32));
	__m256i cross;

	cross = _mm256_add_epi64(
		_mm256_mul_epu32(_mm256_srli_epi64(a, 32), low),
		_mm256_mul_epu32(a, high));
	return _mm256_add_epi64(_mm256_mul_epu32(a, low),
				_mm256_slli_epi64(cross, 32));
}

TARGET static inline __m256i rotate(__m256i x, int left)
{
	return _mm256_or_si256(_mm256_slli_epi64(x, left),
			       _mm256_srli_epi64(x, 64 - left));
}

/* x to y. */
TARGET static inline __m256i blend(__m256i x)
{
	return _mm256_xor_si256(x,
				_mm256_xor_si256(rotate(x, 49), rotate(x, 24)));
}

/* The last step of the hash but for its last xor, and that xor: see
 * window_impl.h. */
TARGET static inline __m256i nearly_finish(__m256i y)
{
	const __m256i eight = _mm256_set1_epi64x(8);
	__m256i t;

	y = multiply(y, WINDOW_PRIME);
	t = _mm256_add_epi64(_mm256_srli_epi64(y, 35), eight);
	return multiply(_mm256_xor_si256(y, t), WINDOW_PRIME);
}

TARGET static inline __m256i finish_nearly(__m256i y)
{
	return _mm256_xor_si256(y, _mm256_srli_epi64(y, 28));
}

/* Bit i: whether key i is up to most; unsigned. */
TARGET static inline unsigned up_to(__m256i keys, __m256i most)
{
	const __m256i top = _mm256_set1_epi64x(INT64_MIN);
	__m256i above = _mm256_cmpgt_epi64(_mm256_xor_si256(keys, top),
					   _mm256_xor_si256(most, top));

	return ~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(above)) & 0xf;
}

TARGET static inline unsigned equal(__m256i a, __m256i b)
{
	return (unsigned)_mm256_movemask_pd(
		_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b)));
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
				       __m256i keys)
{
	__m256i order = _mm256_cvtepu8_epi32(
		_mm_loadl_epi64((const void *)compress[which]));

	_mm256_storeu_si256((void *)out,
			    _mm256_permutevar8x32_epi32(keys, order));
	return (size_t)_mm_popcnt_u32(which);
}

#endif

#endif
