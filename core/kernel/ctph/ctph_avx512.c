/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph/ctph_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET                                                               \
	__attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl," \
			      "avx512vbmi,avx512vbmi2,avx512vnni,gfni,bmi,"  \
			      "popcnt")))

#define STEP 64  /* bytes at a time, whether they may trigger */
#define LANES 16 /* of those that may, whether they do */

static TARGET inline __mmask64 first_bytes(size_t count)
{
	return count < STEP ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

/* The low 8 bits of the rolling values after some of 64 bytes, the first ones:
 * a sum of the bytes modulo 256, and of the shifted ones only two reach down
 * there. */
static TARGET inline __m512i low_bits(const uint8_t *bytes, __mmask64 some)
{
	/* Takes bit 0 to bit 5, and so on. */
	const __m512i by_5 = _mm512_set1_epi64(0x010204);
	/* Of the 16 bytes before, those of the window. */
	const __mmask64 window = UINT64_MAX << (17 - KERNEL_CTPH_WINDOW);
	__m512i b0 = _mm512_maskz_loadu_epi8(some, bytes);
	__m512i late = _mm512_maskz_loadu_epi8((some << 16 | 0xffff) & window,
					       bytes - 16);
	/* Loads across lines of the cache are slower than this. */
	__m512i b1 = _mm512_alignr_epi8(b0, late, 15), sum, sums;

	sum = _mm512_add_epi8(b0, b1);
	sums = _mm512_add_epi8(b0, sum);
	sum = _mm512_add_epi8(sum, _mm512_alignr_epi8(b0, late, 14));
	sums = _mm512_add_epi8(sums, sum);
	sum = _mm512_add_epi8(sum, _mm512_alignr_epi8(b0, late, 13));
	sums = _mm512_add_epi8(sums, sum);
	sum = _mm512_add_epi8(sum, _mm512_alignr_epi8(b0, late, 12));
	sums = _mm512_add_epi8(sums, sum);
	sum = _mm512_add_epi8(sum, _mm512_alignr_epi8(b0, late, 11));
	sums = _mm512_add_epi8(sums, sum);
	sum = _mm512_add_epi8(sum, _mm512_alignr_epi8(b0, late, 10));
	sums = _mm512_add_epi8(sums, sum);
	sums = _mm512_add_epi8(sums, sum);
	b1 = _mm512_gf2p8affine_epi64_epi8(b1, by_5, 0);
	return _mm512_add_epi8(sums, _mm512_xor_si512(b0, b1));
}

/* Those of some of 64 bytes, the first ones, that may trigger; low_mask: of
 * the bits that are all ones where that is so. */
static TARGET inline uint64_t may_trigger(const uint8_t *bytes, __mmask64 some,
					  __m512i low_mask)
{
	__m512i low = _mm512_and_si512(low_bits(bytes, some), low_mask);

	return _mm512_mask_cmpeq_epi8_mask(some, low, low_mask);
}

/* Writes where bits are set, counted from at; and some more, LANES at a time,
 * that mean nothing.  Seldom more than the first: that is no surprise. */
static TARGET inline size_t list(size_t at, uint64_t may,
				 uint32_t *candidates_out)
{
	const __m512i places = _mm512_set_epi8(
		63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
		47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
		31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
		15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	const __m512i start = _mm512_set1_epi32((int)at);
	__m512i x = _mm512_maskz_compress_epi8(may, places);
	size_t i, count = (size_t)_mm_popcnt_u64(may);

	for (i = 0; i == 0 || i < count; i += LANES) {
		_mm512_storeu_si512(
			candidates_out + i,
			_mm512_add_epi32(start,
					 _mm512_cvtepu8_epi32(
						 _mm512_castsi512_si128(x))));
		x = _mm512_alignr_epi64(x, x, 2);
	}
	return count;
}

/* Lists those from begin up to end that may trigger. */
static TARGET size_t filter(const uint8_t *bytes, size_t begin, size_t end,
			    unsigned level, uint32_t *candidates_out)
{
	const __m512i low_mask =
		_mm512_set1_epi8((char)((UINT32_C(1) << level) - 1));
	size_t i, count = 0;
	uint64_t may;

	for (i = begin; i + STEP <= end; i += STEP) {
		may = may_trigger(bytes + i, UINT64_MAX, low_mask);
		count += list(i, may, candidates_out + count);
	}
	if (i < end) {
		may = may_trigger(bytes + i, first_bytes(end - i), low_mask);
		count += list(i, may, candidates_out + count);
	}
	return count;
}

/* The bytes of windows: four from the oldest on, and four up to the newest. */
struct windows {
	__m512i oldest, newest;
};

static TARGET inline struct windows load_windows(const uint8_t *bytes,
						 __m512i places, __mmask16 some)
{
	const __m512i zero = _mm512_setzero_si512();

	return (struct windows){
		_mm512_mask_i32gather_epi32(
			zero, some, places,
			(const int *)(bytes + 1 - KERNEL_CTPH_WINDOW), 1),
		_mm512_mask_i32gather_epi32(zero, some, places,
					    (const int *)(bytes - 3), 1),
	};
}

/* x, and of y, shifted by bits to the left, those of mask. */
static TARGET inline __m512i add_shifted(__m512i x, __m512i y, int bits,
					 uint32_t mask)
{
	y = bits < 0 ? _mm512_srli_epi32(y, (unsigned)-bits) :
		       _mm512_slli_epi32(y, (unsigned)bits);
	/* x ^ (y & mask) */
	return _mm512_ternarylogic_epi32(x, y, _mm512_set1_epi32((int)mask),
					 0x78);
}

/* The rolling values, and 1. */
static TARGET inline __m512i next_of(struct windows w)
{
	const __m512i weights_oldest = _mm512_set1_epi32(0x00040302);
	const __m512i weights_newest = _mm512_set1_epi32(0x08070605);
	__m512i sums = _mm512_set1_epi32(1), shifted;

	sums = _mm512_dpbusd_epi32(sums, w.oldest, weights_oldest);
	sums = _mm512_dpbusd_epi32(sums, w.newest, weights_newest);
	shifted = _mm512_xor_si512(_mm512_srli_epi32(w.newest, 24),
				   _mm512_slli_epi32(w.oldest, 30));
	shifted = add_shifted(shifted, w.newest, -11, UINT32_C(0xff) << 5);
	shifted = add_shifted(shifted, w.newest, 2, UINT32_C(0xff) << 10);
	shifted = add_shifted(shifted, w.newest, 15, UINT32_C(0xff) << 15);
	shifted = add_shifted(shifted, w.oldest, 4, UINT32_C(0xff) << 20);
	shifted = add_shifted(shifted, w.oldest, 17, UINT32_C(0x7f) << 25);
	return _mm512_add_epi32(sums, shifted);
}

static TARGET inline __mmask16 which_trigger(__m512i next, __mmask16 some,
					     __m512i low_mask)
{
	const __m512i third = _mm512_set1_epi32(0x55555555);
	const __m512i inverse = _mm512_set1_epi32((int)0xaaaaaaab);

	some = _mm512_mask_testn_epi32_mask(some, next, low_mask);
	some = _mm512_mask_test_epi32_mask(some, next, next);
	return _mm512_mask_cmple_epu32_mask(
		some, _mm512_mullo_epi32(next, inverse), third);
}

/* How many bits are 0 below the lowest that is 1, and 31 if there is none. */
static TARGET inline __m512i low_zeros(__m512i x)
{
	const __m512i last = _mm512_set1_epi32(31);
	const __m512i high = _mm512_set1_epi32(INT32_MIN);
	__m512i lowest;

	x = _mm512_or_si512(x, high);
	lowest = _mm512_and_si512(x,
				  _mm512_sub_epi32(_mm512_setzero_si512(), x));
	return _mm512_sub_epi32(last, _mm512_lzcnt_epi32(lowest));
}

/* Writes up to room of the chosen ones of eight. */
static TARGET inline size_t store_triggers(__m256i ends, __m256i levels,
					   __mmask8 chosen, size_t room,
					   struct kernel_trigger *out)
{
	__m512i x = _mm512_cvtepu32_epi64(levels);
	size_t count = (size_t)_mm_popcnt_u32(chosen);

	x = _mm512_or_si512(_mm512_slli_epi64(x, 32),
			    _mm512_cvtepu32_epi64(ends));
	count = count < room ? count : room;
	_mm512_mask_storeu_epi64(out, (__mmask8)first_bytes(count),
				 _mm512_maskz_compress_epi64(chosen, x));
	return count;
}

/* Of up to LANES bytes that may trigger, those that do, the first max. */
static TARGET inline size_t check(const uint8_t *bytes,
				  const uint32_t *candidates, size_t count,
				  __m512i low_mask, size_t max,
				  struct kernel_trigger *out)
{
	const __mmask16 some =
		count < LANES ? (__mmask16)first_bytes(count) : UINT16_MAX;
	__m512i places = _mm512_maskz_loadu_epi32(some, candidates);
	__m512i next = next_of(load_windows(bytes, places, some));
	__mmask16 chosen = which_trigger(next, some, low_mask);
	__m512i ends = _mm512_add_epi32(places, _mm512_set1_epi32(1));
	__m512i levels = low_zeros(next);
	size_t found;

	found = store_triggers(_mm512_castsi512_si256(ends),
			       _mm512_castsi512_si256(levels), (__mmask8)chosen,
			       max, out);
	return found + store_triggers(_mm512_extracti64x4_epi64(ends, 1),
				      _mm512_extracti64x4_epi64(levels, 1),
				      (__mmask8)(chosen >> 8), max - found,
				      out + found);
}

static TARGET size_t find(const uint8_t *bytes, size_t len, unsigned level,
			  struct kernel_trigger *triggers_out, size_t max)
{
	const __m512i low_mask = _mm512_set1_epi32((1 << level) - 1);
	const size_t chunk = ctph_chunk(level);
	uint32_t candidates[CTPH_CHUNK + CTPH_SPARE];
	size_t i, begin, end, count, found = 0;

	for (begin = 0; begin < len && found < max; begin = end) {
		end = len - begin < chunk ? len : begin + chunk;
		count = filter(bytes, begin, end, level, candidates);
		for (i = 0; i < count; i += LANES)
			found += check(bytes, candidates + i, count - i,
				       low_mask, max - found,
				       triggers_out + found);
	}
	return found;
}

static TARGET bool find_last(const uint8_t *bytes, size_t len, unsigned level,
			     struct kernel_trigger *trigger_out)
{
	return ctph_find_last(filter, bytes, len, level, trigger_out);
}

const struct kernel_ctph ctph_avx512 = { find, find_last, ctph_hash_avx512 };

#endif
