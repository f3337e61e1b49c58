/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_TAPS_AVX2_H
#define CORE_KERNEL_TAPS_AVX2_H

#ifdef __x86_64__

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define TAPS_TARGET \
	__attribute__((target("avx2,bmi,bmi2,popcnt"), always_inline))

/* 16 bytes, as they are used here. */
struct taps_words {
	uint64_t first, last;
};

TAPS_TARGET static inline struct taps_words taps_load(const uint8_t *bytes)
{
	struct taps_words words;

	memcpy(&words.first, bytes, sizeof(words.first));
	memcpy(&words.last, bytes + sizeof(words.first), sizeof(words.last));
	return words;
}

/* Loads bytes and returns those before them: what says which rows are to be
 * loaded should not have to be waited for. */
TAPS_TARGET static inline struct taps_words taps_turn(struct taps_words *words,
						      const uint8_t *bytes)
{
	struct taps_words before = *words;

	*words = taps_load(bytes);
	return before;
}

/* The row of byte k of a word. */
TAPS_TARGET static inline const uint8_t *taps_row(const uint8_t (*taps)[64],
						  uint64_t word, int k)
{
	const int right = (8 * k - 6) & 63;

	word = word >> right | word << (64 - right);
	return (const uint8_t *)taps + (word & 255 << 6);
}

TAPS_TARGET static inline __m256i taps_xor(__m256i x, const uint8_t *row)
{
	x = _mm256_xor_si256(x, _mm256_loadu_si256((const void *)row));
	/* Left alone, compilers make trees of it, of more instructions. */
	__asm__("" : "+x"(x));
	return x;
}

/*
 * Of a hash that is the xor of what each byte adds: what 16 bytes add to the
 * top bytes of the hashes after them and after the next 16.  A row of the table
 * is 16 zeros, what a byte adds to the next 16 hashes, 16 zeros; a load for
 * each byte, of its row at the place that puts it behind the ones before it.
 * Neither gathers nor shuffles look up as fast.
 */
TAPS_TARGET static inline __m256i taps_add_up(const uint8_t (*taps)[64],
					      struct taps_words bytes)
{
	__m256i x = _mm256_setzero_si256(), y = x;
	int k;

	/* Two sums: one would wait for each load. */
#pragma GCC unroll 8
	for (k = 0; k < 8; k++) {
		x = taps_xor(x, taps_row(taps, bytes.first, k) + 16 - k);
		y = taps_xor(y, taps_row(taps, bytes.last, k) + 8 - k);
	}
	return _mm256_xor_si256(x, y);
}

#endif

#endif
