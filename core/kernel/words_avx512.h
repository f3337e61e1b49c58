/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_WORDS_AVX512_H
#define CORE_KERNEL_WORDS_AVX512_H

#ifdef __x86_64__

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* Words of 32 bits of sixteen messages, one in each lane. */

#define WORDS_TARGET __attribute__((target("avx512f"), always_inline))

/* 4 words of lanes k, k + 4, k + 8, k + 12. */
WORDS_TARGET static inline __m512i load_rows(const uint8_t *const *at,
					     size_t offset)
{
	__m512i x = _mm512_castsi128_si512(
		_mm_loadu_si128((const __m128i *)(at[0] + offset)));

	x = _mm512_inserti32x4(
		x, _mm_loadu_si128((const __m128i *)(at[4] + offset)), 1);
	x = _mm512_inserti32x4(
		x, _mm_loadu_si128((const __m128i *)(at[8] + offset)), 2);
	return _mm512_inserti32x4(
		x, _mm_loadu_si128((const __m128i *)(at[12] + offset)), 3);
}

/* 4 words of all lanes. */
WORDS_TARGET static inline void load_words(const uint8_t *const at[16],
					   size_t offset, __m512i w[4])
{
	__m512i row_0 = load_rows(at, offset);
	__m512i row_1 = load_rows(at + 1, offset);
	__m512i row_2 = load_rows(at + 2, offset);
	__m512i row_3 = load_rows(at + 3, offset);
	__m512i low_0 = _mm512_unpacklo_epi32(row_0, row_1);
	__m512i low_2 = _mm512_unpacklo_epi32(row_2, row_3);
	__m512i high_0 = _mm512_unpackhi_epi32(row_0, row_1);
	__m512i high_2 = _mm512_unpackhi_epi32(row_2, row_3);

	w[0] = _mm512_unpacklo_epi64(low_0, low_2);
	w[1] = _mm512_unpackhi_epi64(low_0, low_2);
	w[2] = _mm512_unpacklo_epi64(high_0, high_2);
	w[3] = _mm512_unpackhi_epi64(high_0, high_2);
}

#endif

#endif
