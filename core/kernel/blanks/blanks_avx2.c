/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/blanks/blanks.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET_FEATURES "avx2,bmi,popcnt"
#define TARGET __attribute__((target(TARGET_FEATURES), always_inline))

typedef uint32_t mask;

enum { STEP = 32 };

/*
 * What brings those of eight bytes together that a mask says: the places of its
 * bits, from the lowest byte on.  (BMI2's pext would do without a table, but
 * takes hundreds of cycles on some processors.)
 */
#define BIT(mask, i) ((uint64_t)(mask) >> (i)&1)
#define BELOW_4(mask, i)                                       \
	(((i) > 0) * BIT(mask, 0) + ((i) > 1) * BIT(mask, 1) + \
	 ((i) > 2) * BIT(mask, 2) + ((i) > 3) * BIT(mask, 3))
#define BELOW(mask, i)                                 \
	(BELOW_4(mask, i) + ((i) > 4) * BIT(mask, 4) + \
	 ((i) > 5) * BIT(mask, 5) + ((i) > 6) * BIT(mask, 6))
#define PLACE(mask, i) (BIT(mask, i) * (i) << (8 * BELOW(mask, i)))
#define PLACES(mask)                                                        \
	PLACE(mask, 1) | PLACE(mask, 2) | PLACE(mask, 3) | PLACE(mask, 4) | \
		PLACE(mask, 5) | PLACE(mask, 6) | PLACE(mask, 7)
#define ROW_4(mask) \
	PLACES(mask), PLACES((mask) + 1), PLACES((mask) + 2), PLACES((mask) + 3)
#define ROW_16(mask) \
	ROW_4(mask), ROW_4((mask) + 4), ROW_4((mask) + 8), ROW_4((mask) + 12)
#define ROW_64(mask)                                            \
	ROW_16(mask), ROW_16((mask) + 16), ROW_16((mask) + 32), \
		ROW_16((mask) + 48)

static const uint64_t places[256] = { ROW_64(0), ROW_64(64), ROW_64(128),
				      ROW_64(192) };

/* As in blanks_avx512.c. */
static TARGET inline mask ascii_blanks(__m256i bytes)
{
	const __m256i by_lower = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1 | 4, 1 | 2 | 8, 1, 0, 0));
	const __m256i by_upper = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(1, 0, 2, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0));
	__m256i upper = _mm256_and_si256(_mm256_srli_epi16(bytes, 4),
					 _mm256_set1_epi8(15));
	__m256i common = _mm256_and_si256(_mm256_shuffle_epi8(by_lower, bytes),
					  _mm256_shuffle_epi8(by_upper, upper));

	return (mask)_mm256_movemask_epi8(
		_mm256_cmpgt_epi8(common, _mm256_setzero_si256()));
}

static TARGET inline mask equal(const uint8_t *p, uint8_t byte)
{
	return (mask)_mm256_movemask_epi8(
		_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)p),
				  _mm256_set1_epi8((char)byte)));
}

#include "core/kernel/blanks/blanks_vector.h"

static TARGET inline uint8_t *keep_eight(__m128i bytes, mask keep, uint8_t *out)
{
	__m128i order = _mm_loadl_epi64((const __m128i *)&places[keep & 255]);

	_mm_storel_epi64((__m128i *)out, _mm_shuffle_epi8(bytes, order));
	return out + _mm_popcnt_u32(keep & 255);
}

static TARGET inline size_t drop_step(const uint8_t *p,
				      struct kernel_blanks_state *state,
				      uint8_t *out)
{
	__m256i bytes = _mm256_loadu_si256((const __m256i *)p);
	__m256i most = _mm256_set1_epi8(' ' - 1);
	__m128i low_half = _mm256_castsi256_si128(bytes);
	__m128i high_half = _mm256_extracti128_si256(bytes, 1);
	mask blank = ascii_blanks(bytes), low;
	uint8_t *to = out;

	if (_mm256_movemask_epi8(bytes))
		blank |= long_blanks(p);
	low = (mask)_mm256_movemask_epi8(
		_mm256_cmpeq_epi8(_mm256_max_epu8(bytes, most), most));
	if (low & ~blank)
		count_controls(p, low & ~blank, state);
	to = keep_eight(low_half, ~blank, to);
	to = keep_eight(_mm_srli_si128(low_half, 8), ~blank >> 8, to);
	to = keep_eight(high_half, ~blank >> 16, to);
	to = keep_eight(_mm_srli_si128(high_half, 8), ~blank >> 24, to);
	return (size_t)(to - out);
}

const struct kernel_blanks blanks_avx2 = { drop };

#endif
