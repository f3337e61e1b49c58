/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/columns.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi,popcnt")))

/* One bits of each word. */
static TARGET inline __m256i bit_counts(__m256i x)
{
	const __m256i digits = _mm256_set1_epi8(0xf);
	const __m256i counts = _mm256_broadcastsi128_si256(
		_mm_set_epi64x(0x0403030203020201, 0x0302020102010100));
	__m256i low = _mm256_and_si256(x, digits);
	__m256i high = _mm256_and_si256(_mm256_srli_epi16(x, 4), digits);

	x = _mm256_add_epi8(_mm256_shuffle_epi8(counts, low),
			    _mm256_shuffle_epi8(counts, high));
	return _mm256_sad_epu8(x, _mm256_setzero_si256());
}

/* Bit i: whether row i of 4 is near. */
static TARGET inline unsigned near_of_four(__m256i wanted, __m256i limit,
					   const uint64_t *simhash)
{
	__m256i x = _mm256_loadu_si256((const void *)simhash);

	x = _mm256_cmpgt_epi64(limit, bit_counts(_mm256_xor_si256(x, wanted)));
	return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(x));
}

static TARGET inline uint64_t near_rows(const struct kernel_near *query,
					const uint64_t *simhash)
{
	const __m256i wanted = _mm256_set1_epi64x((long long)query->simhash);
	const __m256i limit = _mm256_set1_epi64x(query->most + 1);
	uint64_t bits = 0;
	size_t i;

#pragma GCC unroll 16
	for (i = 0; i < COLUMNS_WORD_ROWS; i += 4)
		bits |= (uint64_t)near_of_four(wanted, limit, simhash + i) << i;
	return bits;
}

/* Each trait of a query as often as a tile has rows. */
struct wanted_256 {
	__m256i pairs[COLUMNS_TRAITS / 2];
	__m128i fewest;
};

static TARGET inline struct wanted_256 spread(const struct kernel_near *query)
{
	struct wanted_256 w = { .fewest = _mm_set1_epi8((char)query->fewest) };
	size_t k;

	for (k = 0; k < COLUMNS_TRAITS / 2; k++)
		w.pairs[k] = _mm256_set_m128i(
			_mm_set1_epi8((char)query->traits[2 * k + 1]),
			_mm_set1_epi8((char)query->traits[2 * k]));
	return w;
}

/* Bit i: whether row i of a tile has enough equal traits. */
static TARGET inline unsigned equal_of_tile(const struct wanted_256 *w,
					    const uint8_t *tile)
{
	__m256i x, sum = _mm256_setzero_si256();
	__m128i counts;
	size_t k;

#pragma GCC unroll 8
	for (k = 0; k < COLUMNS_TRAITS / 2; k++) {
		x = _mm256_loadu_si256((const void *)(tile + 32 * k));
		sum = _mm256_sub_epi8(sum, _mm256_cmpeq_epi8(x, w->pairs[k]));
	}
	counts = _mm_add_epi8(_mm256_castsi256_si128(sum),
			      _mm256_extracti128_si256(sum, 1));
	return (unsigned)_mm_movemask_epi8(
		_mm_cmpeq_epi8(_mm_max_epu8(counts, w->fewest), counts));
}

static TARGET inline uint64_t equal_rows(const struct wanted_256 *w,
					 const uint8_t *tiles)
{
	uint64_t bits = 0;
	size_t i;

	for (i = 0; i < COLUMNS_WORD_ROWS; i += COLUMNS_TILE_ROWS)
		bits |= (uint64_t)equal_of_tile(w, tiles + i * COLUMNS_TRAITS)
			<< i;
	return bits;
}

static TARGET void near(const struct kernel_near *query,
			const uint64_t *simhash, const uint8_t *tiles,
			size_t count, uint64_t *bits_out)
{
	struct wanted_256 w = spread(query);
	size_t i;

	for (i = 0; i + COLUMNS_WORD_ROWS <= count; i += COLUMNS_WORD_ROWS) {
		*bits_out = near_rows(query, simhash + i);
		if (query->fewest <= COLUMNS_TRAITS)
			*bits_out |= equal_rows(&w, tiles + i * COLUMNS_TRAITS);
		bits_out++;
	}
	columns_scalar.near(query, simhash + i, tiles + i * COLUMNS_TRAITS,
			    count - i, bits_out);
}

const struct kernel_columns columns_avx2 = { near };

#endif
