/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sif_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi,popcnt")))

#define STEP 64
#define AHEAD 128 /* bytes that are looked up before they are worked on */

/* sif_impl.h says what the letters are.  Of 16-byte lanes, low has the words
 * of their first 8 bytes, high those of the others. */
struct words {
	__m256i low, high;
};

/* What the next words need of those before. */
struct carry {
	__m256i b, c, d; /* high */
};

/* The words of b at 8 bytes, with zeros between them. */
static TARGET inline __m256i eight_words(const uint32_t *a)
{
	__m256i now = _mm256_loadu_si256((const void *)a);
	__m256i before = _mm256_loadu_si256((const void *)(a - 8));

	now = _mm256_and_si256(now, _mm256_set1_epi32(0xffff));
	return _mm256_xor_si256(now, _mm256_srli_epi32(before, 16));
}

static TARGET inline __m256i pack(__m256i first, __m256i second)
{
	return _mm256_packus_epi32(
		_mm256_permute2x128_si256(first, second, 0x20),
		_mm256_permute2x128_si256(first, second, 0x31));
}

/* The words of b at 32 bytes. */
static TARGET inline struct words first_words(const uint32_t *a)
{
	return (struct words){ pack(eight_words(a), eight_words(a + 16)),
			       pack(eight_words(a + 8), eight_words(a + 24)) };
}

/* x ^ x of so many bytes earlier, shifted to the left as far. */
#define DOUBLE(x, old, by)                                                    \
	do {                                                                  \
		__m256i before =                                              \
			_mm256_permute2x128_si256((old), (x).high, 0x21);     \
		__m256i low =                                                 \
			_mm256_alignr_epi8((x).low, before, 16 - 2 * (by));   \
		__m256i high =                                                \
			_mm256_alignr_epi8((x).high, (x).low, 16 - 2 * (by)); \
                                                                              \
		(old) = (x).high;                                             \
		(x).low = _mm256_xor_si256((x).low,                           \
					   _mm256_slli_epi16(low, (by)));     \
		(x).high = _mm256_xor_si256((x).high,                         \
					    _mm256_slli_epi16(high, (by)));   \
	} while (0)

static TARGET inline __m256i up_to(__m256i words, __m256i most)
{
	return _mm256_cmpeq_epi16(_mm256_min_epu16(words, most), words);
}

static TARGET inline uint32_t choose(const uint32_t *a, __m256i most,
				     struct carry *old)
{
	struct words x = first_words(a);

	DOUBLE(x, old->b, 4);
	DOUBLE(x, old->c, 2);
	DOUBLE(x, old->d, 1);
	return (uint32_t)_mm256_movemask_epi8(
		_mm256_packs_epi16(up_to(x.low, most), up_to(x.high, most)));
}

/* Steps of 8; a processor loads faster than it stores. */
static inline void look_up(const struct kernel_sif_table *table,
			   const uint8_t *bytes, size_t len, uint32_t *a_out)
{
	uint64_t two;
	size_t i, k;

	for (i = 0; i < len; i += 8)
#pragma GCC unroll 4
		for (k = 0; k < 8; k += 2) {
			two = table->words[bytes[i + k]] |
			      table->words_above[bytes[i + k + 1]];
			memcpy(a_out + i + k, &two, sizeof(two));
		}
}

/* Bit t: whether the hash at byte t may be within a bound that begins with
 * word.  Whole steps. */
static TARGET void choose_all(const struct kernel_sif_table *table,
			      const uint8_t *bytes, size_t len, uint16_t word,
			      uint64_t *chosen_out)
{
	/* The lowest 7 bits of the words are not those of the hash. */
	const __m256i most = _mm256_set1_epi16((short)(word | 0x7f));
	struct carry old = { 0 };
	uint32_t words[8 + SIF_PIECE], *a = words + 8;
	size_t i, ahead = len < AHEAD ? len : AHEAD;

	memset(words, 0, 8 * sizeof(*words));
	look_up(table, bytes, ahead, a);
	for (i = 0; i < len; i += STEP) {
		if (i + ahead < len)
			look_up(table, bytes + i + ahead, STEP, a + i + ahead);
		*chosen_out = choose(a + i, most, &old);
		*chosen_out++ |= (uint64_t)choose(a + i + 32, most, &old) << 32;
	}
}

static TARGET size_t pick(const struct kernel_sif_table *table,
			  const uint8_t *bytes, size_t count, uint64_t bound,
			  uint64_t *hashes_out)
{
	uint64_t chosen[SIF_PIECE / STEP] = { 0 };
	size_t i, len, picked = 0;

	if (table->window != SIF_WIDE_WINDOW || bound > SIF_WIDE_BOUND)
		return sif_scalar.pick(table, bytes, count, bound, hashes_out);
	while (count + SIF_BEFORE >= STEP) {
		len = count + SIF_BEFORE;
		len = len < SIF_PIECE ? len - len % STEP : SIF_PIECE;
		choose_all(table, bytes, len, (uint16_t)(bound >> 48), chosen);
		chosen[0] &= UINT64_MAX << SIF_BEFORE;
		for (i = 0; i < len; i += STEP)
			picked += sif_take(table, bytes + i, chosen[i / STEP],
					   bound, hashes_out + picked);
		bytes += len - SIF_BEFORE;
		count -= len - SIF_BEFORE;
	}
	return picked +
	       sif_scalar.pick(table, bytes, count, bound, hashes_out + picked);
}

const struct kernel_sif sif_avx2 = { pick };

#endif
