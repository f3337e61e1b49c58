/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/rdc_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET          \
	__attribute__(( \
		target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni")))

#define STEP 64 /* bytes a turn */

/*
 * The values of 64 bytes are looked up in registers, a byte of each at a time,
 * from tables of 256 bytes in four quarters.
 */
struct tables {
	__m512i quarters[4][4];
};

/* What places of the last step give to those of the next. */
struct front {
	__m512i plane_0, plane_01, plane_012, plane_3;
	__m512i shifted[3];
	__m512i tops; /* of 16 bytes */
};

static TARGET inline __m512i look_up(const __m512i quarters[4], __m512i bytes)
{
	return _mm512_mask_blend_epi8(
		_mm512_movepi8_mask(bytes),
		_mm512_permutex2var_epi8(quarters[0], bytes, quarters[1]),
		_mm512_permutex2var_epi8(quarters[2], bytes, quarters[3]));
}

static TARGET inline void load_tables(struct tables *tables,
				      const struct kernel_h3 *h3)
{
	int i, k;

#pragma GCC unroll 4
	for (k = 0; k < 4; k++)
#pragma GCC unroll 4
		for (i = 0; i < 4; i++)
			tables->quarters[k][i] =
				_mm512_loadu_si512(h3->planes[k] + 64 * i);
}

/* Every byte from count bytes back. */
#define back_by_fours(x, before, count) \
	_mm512_alignr_epi32(x, before, 16 - (count) / 4)

static TARGET inline __m512i back(__m512i x, __m512i before, int count)
{
	const __m512i first = _mm512_set_epi8(
		63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
		47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
		31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
		15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);

	return _mm512_permutex2var_epi8(
		before,
		_mm512_add_epi8(first, _mm512_set1_epi8((char)(64 - count))),
		x);
}

static TARGET inline __m512i xor3(__m512i x, __m512i y, __m512i z)
{
	return _mm512_ternarylogic_epi32(x, y, z, 0x96);
}

/* The upper byte of the two bytes, shifted to the left. */
static TARGET inline __m512i shift(__m512i upper, __m512i lower, int bits)
{
	const int64_t one = INT64_C(0x0102040810204080);

	return _mm512_xor_si512(
		_mm512_gf2p8affine_epi64_epi8(
			upper, _mm512_set1_epi64(one >> 8 * bits), 0),
		_mm512_gf2p8affine_epi64_epi8(
			lower,
			_mm512_set1_epi64(
				(int64_t)((uint64_t)one << 8 * (8 - bits))),
			0));
}

/* What rdc_impl.h calls sums. */
struct sums {
	__m512i upper, lower;
};

static TARGET inline struct sums add_up(struct front *f,
					const struct tables *tables,
					__m512i bytes)
{
	struct sums sums;
	__m512i p[4], p_01, p_012;
	int k;

#pragma GCC unroll 4
	for (k = 0; k < 4; k++)
		p[k] = look_up(tables->quarters[k], bytes);
	p_01 = _mm512_xor_si512(p[1], back_by_fours(p[0], f->plane_0, 4));
	p_012 = _mm512_xor_si512(p[2], back_by_fours(p_01, f->plane_01, 4));
	sums.upper =
		_mm512_xor_si512(p[3], back_by_fours(p_012, f->plane_012, 4));
	sums.lower =
		_mm512_xor_si512(p_012, back_by_fours(p[3], f->plane_3, 12));
	f->plane_0 = p[0];
	f->plane_01 = p_01;
	f->plane_012 = p_012;
	f->plane_3 = p[3];
	return sums;
}

static TARGET inline __m512i finish(struct front *f, struct sums sums,
				    __m512i bias)
{
	__m512i shifted[3], tops, all;
	int k;

#pragma GCC unroll 3
	for (k = 0; k < 3; k++)
		shifted[k] = shift(sums.upper, sums.lower, 2 * k + 2);
	tops = xor3(sums.upper, back(shifted[0], f->shifted[0], 1),
		    back(shifted[1], f->shifted[1], 2));
	tops = xor3(tops, back(shifted[2], f->shifted[2], 3), bias);
	all = xor3(tops, back_by_fours(tops, f->tops, 16),
		   back_by_fours(tops, f->tops, 32));
#pragma GCC unroll 3
	for (k = 0; k < 3; k++)
		f->shifted[k] = shifted[k];
	f->tops = tops;
	return all;
}

static TARGET inline __mmask64 first_bytes(size_t count)
{
	return count < STEP ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

static TARGET inline __m512i load(const uint8_t *data, size_t i, size_t count)
{
	if (i + STEP <= count)
		return _mm512_loadu_si512(data + i);
	if (i >= count)
		return _mm512_setzero_si512();
	return _mm512_maskz_loadu_epi8(first_bytes(count - i), data + i);
}

static TARGET void tops_48(const struct kernel_rolling *rolling,
			   const uint8_t *data, size_t count, uint8_t *tops_out)
{
	const __m512i bias = _mm512_set1_epi8((char)(rolling->bias >> 24));
	struct tables tables;
	struct sums sums, next;
	struct front f;
	__m512i x;
	size_t i, k;

	load_tables(&tables, rolling->h3);
	f.plane_0 = f.plane_01 = f.plane_012 = f.plane_3 =
		_mm512_setzero_si512();
#pragma GCC unroll 3
	for (k = 0; k < 3; k++)
		f.shifted[k] = _mm512_setzero_si512();
	f.tops = bias;
	x = _mm512_maskz_loadu_epi8(~first_bytes(STEP - KERNEL_WINDOW),
				    data - STEP);
	sums = add_up(&f, &tables, x);
	next = add_up(&f, &tables, load(data, 0, count));
	(void)finish(&f, sums, bias);
	for (i = 0; i + STEP <= count; i += STEP) {
		sums = next;
		next = add_up(&f, &tables, load(data, i + STEP, count));
		_mm512_storeu_si512(tops_out + i, finish(&f, sums, bias));
	}
	if (i == count)
		return;
	_mm512_mask_storeu_epi8(tops_out + i, first_bytes(count - i),
				finish(&f, next, bias));
}

static TARGET void tops(const struct kernel_rolling *rolling,
			const uint8_t *data, size_t count, uint8_t *tops_out)
{
	if (rolling->window == KERNEL_WINDOW)
		tops_48(rolling, data, count, tops_out);
	else
		rdc_roll_tops(rolling, data, count, tops_out);
}

static TARGET inline uint8_t largest_byte(__m512i x)
{
	__m256i y = _mm256_max_epu8(_mm512_castsi512_si256(x),
				    _mm512_extracti64x4_epi64(x, 1));
	__m128i z = _mm_max_epu8(_mm256_castsi256_si128(y),
				 _mm256_extracti128_si256(y, 1));

	/* There is an instruction for the least of 16 bits. */
	z = _mm_xor_si128(z, _mm_set1_epi8(-1));
	z = _mm_min_epu8(z, _mm_srli_epi16(z, 8));
	return (uint8_t)~_mm_cvtsi128_si32(_mm_minpos_epu16(z));
}

static TARGET inline uint8_t largest_of(const uint8_t *bytes, size_t count)
{
	__m512i most = _mm512_setzero_si512();
	size_t i;

	for (i = 0; i + STEP <= count; i += STEP)
		most = _mm512_max_epu8(most, _mm512_loadu_si512(bytes + i));
	return largest_byte(_mm512_max_epu8(most, load(bytes, i, count)));
}

#define GROUP 16

/* Which bytes of up to GROUP vectors are equal; bit k of the result is set when
 * there are any in vector k. */
static TARGET inline uint32_t equal_bytes(const uint8_t *bytes, size_t count,
					  __m512i byte, uint64_t equal[GROUP])
{
	uint32_t vectors = 0, k;
	size_t i;

	for (i = k = 0; i < count && k < GROUP; i += STEP, k++) {
		equal[k] = _mm512_mask_cmpeq_epi8_mask(
			first_bytes(count - i), load(bytes, i, count), byte);
		vectors |= (uint32_t)(equal[k] != 0) << k;
	}
	return vectors;
}

/* Loops over what is there have fewer surprises for the processor than a look
 * at every vector. */
static TARGET size_t largest(const uint8_t *bytes, size_t count,
			     uint32_t places_out[KERNEL_PLACES])
{
	const __m512i most = _mm512_set1_epi8((char)largest_of(bytes, count));
	uint64_t equal[GROUP];
	uint32_t vectors, start;
	size_t i, found = 0;
	int k;

	for (i = 0; i < count; i += (size_t)GROUP * STEP) {
		vectors = equal_bytes(bytes + i, count - i, most, equal);
		for (; vectors; vectors &= vectors - 1) {
			k = __builtin_ctz(vectors);
			start = (uint32_t)i + (uint32_t)k * STEP;
			do {
				places_out[found++] =
					start +
					(uint32_t)__builtin_ctzll(equal[k]);
				if (found == KERNEL_PLACES)
					return found;
				equal[k] &= equal[k] - 1;
			} while (equal[k]);
		}
	}
	return found;
}

/* The xor of the quarters of x in the lower, that of y in the upper half. */
#define fold(x, y, low, high)                             \
	_mm512_xor_si512(_mm512_shuffle_i64x2(x, y, low), \
			 _mm512_shuffle_i64x2(x, y, high))

static TARGET inline uint32_t xor_of_lanes(__m512i x)
{
	__m256i y = _mm256_xor_si256(_mm512_castsi512_si256(x),
				     _mm512_extracti64x4_epi64(x, 1));
	__m128i z = _mm_xor_si128(_mm256_castsi256_si128(y),
				  _mm256_extracti128_si256(y, 1));

	z = _mm_xor_si128(z, _mm_shuffle_epi32(z, 0x4e));
	z = _mm_xor_si128(z, _mm_shuffle_epi32(z, 0xb1));
	return (uint32_t)_mm_cvtsi128_si32(z);
}

/* Of the 48 bytes that end with data[0]. */
static TARGET inline uint32_t hash_48(const struct tables *tables,
				      const uint8_t *data)
{
	/* From planes in quarters to values; how often each is rotated. */
	const __m512i order = _mm512_set_epi32(
		0x3f2f1f0f, 0x3e2e1e0e, 0x3d2d1d0d, 0x3c2c1c0c, 0x3b2b1b0b,
		0x3a2a1a0a, 0x39291909, 0x38281808, 0x37271707, 0x36261606,
		0x35251505, 0x34241404, 0x33231303, 0x32221202, 0x31211101,
		0x30201000);
	const __m512i bits = _mm512_setr_epi32(30, 28, 26, 24, 22, 20, 18, 16,
					       14, 12, 10, 8, 6, 4, 2, 0);
	const __mmask64 some = first_bytes(KERNEL_WINDOW);
	__m512i p[4], x;
	int k;

	x = _mm512_maskz_loadu_epi8(some, data - (KERNEL_WINDOW - 1));
#pragma GCC unroll 4
	for (k = 0; k < 4; k++)
		p[k] = _mm512_maskz_mov_epi8(some,
					     look_up(tables->quarters[k], x));
	x = fold(fold(p[0], p[1], 0x44, 0xee), fold(p[2], p[3], 0x44, 0xee),
		 0x88, 0xdd);
	x = _mm512_permutexvar_epi8(order, x);
	return xor_of_lanes(_mm512_rolv_epi32(x, bits));
}

static TARGET void hashes(const struct kernel_rolling *rolling,
			  const uint8_t *data, const uint32_t *places,
			  size_t count, uint32_t *hashes_out)
{
	struct tables tables;
	size_t i;

	if (rolling->window != KERNEL_WINDOW) {
		rdc_roll_hashes(rolling, data, places, count, hashes_out);
		return;
	}
	load_tables(&tables, rolling->h3);
	for (i = 0; i < count; i++)
		hashes_out[i] =
			hash_48(&tables, data + places[i]) ^ rolling->bias;
}

const struct kernel_rdc rdc_avx512 = { tops, largest, hashes };

#endif
