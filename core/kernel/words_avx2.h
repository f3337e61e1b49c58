/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_WORDS_AVX2_H
#define CORE_KERNEL_WORDS_AVX2_H

#ifdef __x86_64__

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* Words of 32 bits of eight messages, one in each lane. */

#define WORDS_TARGET __attribute__((target("avx2"), always_inline))

/* 4 words of lanes k and k + 4. */
WORDS_TARGET static inline __m256i load_rows(const uint8_t *const *at,
					     size_t offset)
{
	return _mm256_inserti128_si256(
		_mm256_castsi128_si256(
			_mm_loadu_si128((const __m128i *)(at[0] + offset))),
		_mm_loadu_si128((const __m128i *)(at[4] + offset)), 1);
}

/* 4 words of all lanes. */
WORDS_TARGET static inline void load_words(const uint8_t *const at[8],
					   size_t offset, __m256i w[4])
{
	__m256i row_0 = load_rows(at, offset);
	__m256i row_1 = load_rows(at + 1, offset);
	__m256i row_2 = load_rows(at + 2, offset);
	__m256i row_3 = load_rows(at + 3, offset);
	__m256i low_0 = _mm256_unpacklo_epi32(row_0, row_1);
	__m256i low_2 = _mm256_unpacklo_epi32(row_2, row_3);
	__m256i high_0 = _mm256_unpackhi_epi32(row_0, row_1);
	__m256i high_2 = _mm256_unpackhi_epi32(row_2, row_3);

	w[0] = _mm256_unpacklo_epi64(low_0, low_2);
	w[1] = _mm256_unpackhi_epi64(low_0, low_2);
	w[2] = _mm256_unpacklo_epi64(high_0, high_2);
	w[3] = _mm256_unpackhi_epi64(high_0, high_2);
}

#endif

#endif
