/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/rdc/rdc_impl.h"

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
struct rdc_front_512 {
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

/*
 * Of 16 bytes, every fourth counts for whole bytes of the hash to the left:
 * byte 3 - k of what byte 4 * k back adds comes to the top.  So two bytes for
 * each place, the upper half of
 *
 *   sum = xor over k of rotate(value[4 * k back], 8 * k)
 *
 * are enough for the top of 16 bytes:
 *
 *   xor over m of (sum[m back] << 2 * m) >> 8
 */
struct rdc_sums {
	__m512i upper, lower;
};

static TARGET inline struct rdc_sums add_up(struct rdc_front_512 *f,
					    const struct tables *tables,
					    __m512i bytes)
{
	struct rdc_sums sums;
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

static TARGET inline __m512i finish(struct rdc_front_512 *f,
				    struct rdc_sums sums)
{
	__m512i shifted[3], tops, all;
	int k;

#pragma GCC unroll 3
	for (k = 0; k < 3; k++)
		shifted[k] = shift(sums.upper, sums.lower, 2 * k + 2);
	tops = xor3(sums.upper, back(shifted[0], f->shifted[0], 1),
		    back(shifted[1], f->shifted[1], 2));
	tops = _mm512_xor_si512(tops, back(shifted[2], f->shifted[2], 3));
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

static TARGET inline uint64_t not_below(__m512i tops, uint8_t top)
{
	return _mm512_cmpge_epu8_mask(tops, _mm512_set1_epi8((char)top));
}

static TARGET uint64_t mark(const struct kernel_rolling *rolling,
			    const uint8_t *data, size_t count, uint8_t top,
			    uint64_t marks_out[RDC_SECTION / 64])
{
	uint64_t marks, used = 0;
	struct tables tables;
	struct rdc_sums sums, next;
	struct rdc_front_512 f;
	__m512i x;
	size_t i, k;

	load_tables(&tables, rolling->h3);
	f.plane_0 = f.plane_01 = f.plane_012 = f.plane_3 = f.tops =
		_mm512_setzero_si512();
#pragma GCC unroll 3
	for (k = 0; k < 3; k++)
		f.shifted[k] = _mm512_setzero_si512();
	x = _mm512_maskz_loadu_epi8(~first_bytes(STEP - KERNEL_WINDOW),
				    data - STEP);
	sums = add_up(&f, &tables, x);
	next = add_up(&f, &tables, load(data, 0, count));
	(void)finish(&f, sums);
	for (i = 0; i + STEP <= count; i += STEP) {
		sums = next;
		next = add_up(&f, &tables, load(data, i + STEP, count));
		marks = not_below(finish(&f, sums), top);
		marks_out[i / STEP] = marks;
		used |= (uint64_t)(marks != 0) << i / STEP;
	}
	if (i < count) {
		marks = not_below(finish(&f, next), top) &
			first_bytes(count - i);
		marks_out[i / STEP] = marks;
		used |= (uint64_t)(marks != 0) << i / STEP;
	}
	return used;
}

/* Of the windows of 4 places, 16 bytes of each: part 0 is the first. */
static TARGET inline __m512i load_part(const uint8_t *const ends[4], int part)
{
	const int back = KERNEL_WINDOW - 1 - 16 * part;
	__m512i x = _mm512_castsi128_si512(
		_mm_loadu_si128((const __m128i *)(ends[0] - back)));

	x = _mm512_inserti32x4(
		x, _mm_loadu_si128((const __m128i *)(ends[1] - back)), 1);
	x = _mm512_inserti32x4(
		x, _mm_loadu_si128((const __m128i *)(ends[2] - back)), 2);
	return _mm512_inserti32x4(
		x, _mm_loadu_si128((const __m128i *)(ends[3] - back)), 3);
}

/* Of the values that are left of 16 bytes each, by planes. */
static TARGET inline __m512i add_values(const __m512i planes[4])
{
	const __m512i bits =
		_mm512_broadcast_i32x4(_mm_setr_epi32(30, 28, 26, 24));
	__m512i low_0 = _mm512_unpacklo_epi8(planes[0], planes[1]);
	__m512i low_2 = _mm512_unpacklo_epi8(planes[2], planes[3]);
	__m512i high_0 = _mm512_unpackhi_epi8(planes[0], planes[1]);
	__m512i high_2 = _mm512_unpackhi_epi8(planes[2], planes[3]);
	__m512i x, y;

	x = _mm512_xor_si512(
		_mm512_unpacklo_epi16(low_0, low_2),
		_mm512_ror_epi32(_mm512_unpackhi_epi16(low_0, low_2), 8));
	y = _mm512_xor_si512(
		_mm512_unpacklo_epi16(high_0, high_2),
		_mm512_ror_epi32(_mm512_unpackhi_epi16(high_0, high_2), 8));
	x = _mm512_xor_si512(x, _mm512_ror_epi32(y, 16));
	x = _mm512_rolv_epi32(x, bits);
	x = _mm512_xor_si512(x, _mm512_shuffle_epi32(x, 0x4e));
	return _mm512_xor_si512(x, _mm512_shuffle_epi32(x, 0xb1));
}

/* Of 4 places. */
static TARGET inline __m128i hash_4(const struct tables *tables,
				    const uint8_t *const ends[4])
{
	__m512i x[3], planes[4];
	int i, k;

#pragma GCC unroll 3
	for (i = 0; i < 3; i++)
		x[i] = load_part(ends, i);
#pragma GCC unroll 4
	for (k = 0; k < 4; k++)
		planes[k] = xor3(look_up(tables->quarters[k], x[0]),
				 look_up(tables->quarters[k], x[1]),
				 look_up(tables->quarters[k], x[2]));
	return _mm512_castsi512_si128(
		_mm512_maskz_compress_epi32(0x1111, add_values(planes)));
}

static TARGET void hashes(const struct kernel_rolling *rolling,
			  const uint8_t *data, const uint32_t *places,
			  size_t count, uint32_t *hashes_out)
{
	const uint8_t *ends[4];
	struct tables tables;
	size_t i, k;

	load_tables(&tables, rolling->h3);
	for (i = 0; i < count; i += 4) {
		for (k = 0; k < 4; k++)
			ends[k] = data + places[i + k < count ? i + k : i];
		_mm_mask_storeu_epi32(hashes_out + i,
				      (__mmask8)first_bytes(count - i),
				      hash_4(&tables, ends));
	}
}

static void find(const struct kernel_rolling *rolling, const uint8_t *data,
		 size_t count, uint32_t limit, struct kernel_high *out)
{
	static const struct rdc_ways ways = { mark, hashes };

	rdc_find(&ways, rolling, data, count, limit, out);
}

const struct kernel_rdc rdc_avx512 = { find };

#endif
