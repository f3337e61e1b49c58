/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/columns.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET                                                      \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl," \
			      "avx512vpopcntdq")))

/* Bit i: whether row i of 8 is near. */
static TARGET inline __mmask8 near_of_eight(__m512i wanted, __m512i most,
					    const uint64_t *simhash)
{
	__m512i x = _mm512_xor_si512(_mm512_loadu_si512(simhash), wanted);

	return _mm512_cmple_epu64_mask(_mm512_popcnt_epi64(x), most);
}

static TARGET inline uint64_t near_rows(const struct kernel_near *query,
					const uint64_t *simhash)
{
	const __m512i wanted = _mm512_set1_epi64((long long)query->simhash);
	const __m512i most = _mm512_set1_epi64(query->most);
	uint64_t bits = 0;
	size_t i;

#pragma GCC unroll 8
	for (i = 0; i < COLUMNS_WORD_ROWS; i += 8)
		bits |= (uint64_t)near_of_eight(wanted, most, simhash + i) << i;
	return bits;
}

/* Each trait of a query as often as a tile has rows. */
struct wanted_512 {
	__m512i fours[COLUMNS_TRAITS / 4];
	__m512i fewest;
};

static TARGET inline struct wanted_512 spread(const struct kernel_near *query)
{
	const __m512i lanes =
		_mm512_set_epi64(0x0303030303030303, 0x0303030303030303,
				 0x0202020202020202, 0x0202020202020202,
				 0x0101010101010101, 0x0101010101010101, 0, 0);
	struct wanted_512 w = { .fewest =
					_mm512_set1_epi8((char)query->fewest) };
	__m512i traits = _mm512_broadcast_i32x4(
		_mm_loadu_si128((const void *)query->traits));
	size_t k;

	for (k = 0; k < COLUMNS_TRAITS / 4; k++)
		w.fours[k] = _mm512_shuffle_epi8(
			traits, _mm512_add_epi8(lanes, _mm512_set1_epi8(
							       (char)(4 * k))));
	return w;
}

/* The equal traits of each row of a tile, in four parts. */
static TARGET inline __m512i parts_of_tile(const struct wanted_512 *w,
					   const uint8_t *tile)
{
	const __m512i one = _mm512_set1_epi8(1);
	__m512i x, sum = _mm512_setzero_si512();
	size_t k;

#pragma GCC unroll 4
	for (k = 0; k < COLUMNS_TRAITS / 4; k++) {
		x = _mm512_loadu_si512(tile + 64 * k);
		sum = _mm512_mask_add_epi8(
			sum, _mm512_cmpeq_epi8_mask(x, w->fours[k]), sum, one);
	}
	return sum;
}

/* Of quarters 0 and 2 and 1 and 3 of both, the sums. */
static TARGET inline __m512i add_parts(__m512i a, __m512i b)
{
	return _mm512_add_epi8(_mm512_shuffle_i64x2(a, b, 0x88),
			       _mm512_shuffle_i64x2(a, b, 0xdd));
}

static TARGET inline uint64_t equal_rows(const struct wanted_512 *w,
					 const uint8_t *tiles)
{
	__m512i x[4];
	size_t i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
		x[i] = parts_of_tile(w, tiles + i * COLUMNS_TILE_BYTES);
	x[0] = add_parts(add_parts(x[0], x[1]), add_parts(x[2], x[3]));
	return _mm512_cmpge_epu8_mask(x[0], w->fewest);
}

static TARGET void near(const struct kernel_near *query,
			const uint64_t *simhash, const uint8_t *tiles,
			size_t count, uint64_t *bits_out)
{
	struct wanted_512 w = spread(query);
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

const struct kernel_columns columns_avx512 = { near };

#endif
