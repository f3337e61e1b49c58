/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sketch/sketch.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define TARGET_FEATURES "avx2,popcnt"
#define TARGET __attribute__((target(TARGET_FEATURES), always_inline))

typedef __m256i vector;

enum { STEP = 32 };

/*
 * The places of the bits of each byte, a byte for each, from the lowest bit on:
 * what brings those of eight bytes or lanes together that the bits say.  The
 * rest of a row means nothing.  (BMI2's pext would do without a table, but takes
 * hundreds of cycles on some processors.)
 */
#define BIT(bits, i) ((uint64_t)(bits) >> (i)&1)
#define BELOW_4(bits, i)                                       \
	(((i) > 0) * BIT(bits, 0) + ((i) > 1) * BIT(bits, 1) + \
	 ((i) > 2) * BIT(bits, 2) + ((i) > 3) * BIT(bits, 3))
#define BELOW(bits, i)                                 \
	(BELOW_4(bits, i) + ((i) > 4) * BIT(bits, 4) + \
	 ((i) > 5) * BIT(bits, 5) + ((i) > 6) * BIT(bits, 6))
#define PLACE(bits, i) (BIT(bits, i) * (i) << (8 * BELOW(bits, i)))
#define PLACES(bits)                                                        \
	PLACE(bits, 1) | PLACE(bits, 2) | PLACE(bits, 3) | PLACE(bits, 4) | \
		PLACE(bits, 5) | PLACE(bits, 6) | PLACE(bits, 7)
#define ROW_4(base, bits)                                       \
	(base) + (PLACES(bits)), (base) + (PLACES((bits) + 1)), \
		(base) + (PLACES((bits) + 2)), (base) + (PLACES((bits) + 3))
#define ROW_16(base, bits)                                                   \
	ROW_4(base, bits), ROW_4(base, (bits) + 4), ROW_4(base, (bits) + 8), \
		ROW_4(base, (bits) + 12)
#define ROW_64(base, bits)                             \
	ROW_16(base, bits), ROW_16(base, (bits) + 16), \
		ROW_16(base, (bits) + 32), ROW_16(base, (bits) + 48)
#define ROWS(base)                                                    \
	{                                                             \
		ROW_64(base, 0), ROW_64(base, 64), ROW_64(base, 128), \
			ROW_64(base, 192)                             \
	}

static const uint64_t low_places[256] = ROWS(UINT64_C(0));
/* The same for the upper eight of sixteen bytes. */
static const uint64_t high_places[256] = ROWS(UINT64_C(0x0808080808080808));

static TARGET inline vector load(const void *p)
{
	return _mm256_loadu_si256(p);
}

static TARGET inline vector same(uint32_t value)
{
	return _mm256_set1_epi32((int)value);
}

static TARGET inline vector steps_of_4(void)
{
	return _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
}

static TARGET inline vector add(vector a, vector b)
{
	return _mm256_add_epi32(a, b);
}

static TARGET inline vector multiply(vector a, vector b)
{
	return _mm256_mullo_epi32(a, b);
}

static TARGET inline vector exclusive_or(vector a, vector b)
{
	return _mm256_xor_si256(a, b);
}

static TARGET inline vector mix(vector x)
{
	return exclusive_or(x, _mm256_srli_epi32(x, SKETCH_MIX_SHIFT));
}

static TARGET inline vector lesser(vector a, vector b)
{
	return _mm256_min_epu32(a, b);
}

static TARGET inline unsigned up_to(vector x, vector most)
{
	vector found = _mm256_cmpeq_epi32(lesser(x, most), x);

	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(found));
}

static TARGET inline void store_lanes(uint32_t *out, vector x, unsigned bits)
{
	__m128i order = _mm_loadl_epi64((const void *)&low_places[bits]);

	x = _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(order));
	_mm256_storeu_si256((void *)out, x);
}

static TARGET inline bool has_zero_word(vector x)
{
	vector zero = _mm256_cmpeq_epi64(x, _mm256_setzero_si256());

	return !_mm256_testz_si256(zero, zero);
}

/* One shuffle brings together what is kept of either half, which is stored for
 * itself. */
static TARGET inline uint8_t *fold_16(__m128i bytes, unsigned kept,
				      uint8_t *out)
{
	const unsigned low = kept & 255, high = kept >> 8 & 255;
	__m128i order = _mm_loadl_epi64((const void *)&low_places[low]);
	uint64_t second;

	order = _mm_castps_si128(_mm_loadh_pi(
		_mm_castsi128_ps(order), (const void *)&high_places[high]));
	bytes = _mm_shuffle_epi8(bytes, order);
	_mm_storel_epi64((void *)out, bytes);
	out += _mm_popcnt_u32(low);
	second = (uint64_t)_mm_extract_epi64(bytes, 1);
	memcpy(out, &second, sizeof(second));
	return out + _mm_popcnt_u32(high);
}

/*
 * Whether a byte is left out is told by two shuffles.  One finds by its upper half
 * the bit of its row of sixteen: 0, 20, 30, 40 and 60, 50, 70 have the bits 1, 2,
 * 4, 8, 16, 32.  The other finds by its lower half the bits of all rows in which
 * such a byte is left out: of SPACE those of 0 (NUL), 20, 40 (@) and 60 (`).  Of
 * bytes from 80 on both find 0.
 */
static TARGET inline size_t fold_step(const uint8_t *p, uint8_t *out)
{
	const vector left_out = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		11, 2, 2, 2, 2, 2, 2, 2, 2, 3, 7, 55, 55, 55, 54, 22));
	const vector rows = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		1, 0, 2, 4, 8, 16, 8, 32, 0, 0, 0, 0, 0, 0, 0, 0));
	const vector to_lower = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		0, 0, 0, 0, 32, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
	vector x = load(p);
	vector high =
		_mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15));
	vector row = _mm256_shuffle_epi8(rows, high);
	vector is_out = _mm256_and_si256(_mm256_shuffle_epi8(left_out, x), row);
	unsigned kept = (unsigned)_mm256_movemask_epi8(
		_mm256_cmpeq_epi8(is_out, _mm256_setzero_si256()));
	uint8_t *to;

	x = _mm256_or_si256(x, _mm256_shuffle_epi8(to_lower, high));
	to = fold_16(_mm256_castsi256_si128(x), kept, out);
	to = fold_16(_mm256_extracti128_si256(x, 1), kept >> 16, to);
	return (size_t)(to - out);
}

#include "core/kernel/sketch/sketch_vector.h"

const struct kernel_sketch sketch_avx2 = { fold, scan, count_repeats };

#endif
