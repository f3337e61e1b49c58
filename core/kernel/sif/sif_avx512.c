/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sif/sif_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET                                                                 \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi," \
			      "avx512vbmi2,bmi,bmi2,popcnt")))

#define STEP 64
#define ROOM 64 /* behind a list, for what means nothing */

/* sif_impl.h says what the letters are.  The words at even and at odd bytes
 * are apart: a step to odd bytes from the even ones before them is none. */
struct sif_words {
	__m512i even, odd;
};

/* What the next step needs of the one before. */
struct carry {
	__m512i a5, a6;
	struct sif_words b, c, d;
};

#define INLINE inline __attribute__((always_inline))

static TARGET INLINE __m512i look_up(const __m512i *quarters, __m512i bytes)
{
	return _mm512_mask_blend_epi8(
		_mm512_movepi8_mask(bytes),
		_mm512_permutex2var_epi8(quarters[0], bytes, quarters[1]),
		_mm512_permutex2var_epi8(quarters[2], bytes, quarters[3]));
}

/* The words of b; their rotation takes byte 6 to 7 and byte 5 to 6. */
static TARGET INLINE struct sif_words first_words(const __m512i planes[3][4],
						  __m512i bytes,
						  struct carry *old)
{
	const __mmask64 odd = 0xaaaaaaaaaaaaaaaa;
	__m512i a5 = look_up(planes[0], bytes);
	__m512i a6 = look_up(planes[1], bytes);
	__m512i a7 = look_up(planes[2], bytes);
	__m512i b6 = _mm512_xor_si512(a6, _mm512_alignr_epi64(a5, old->a5, 7));
	__m512i b7 = _mm512_xor_si512(a7, _mm512_alignr_epi64(a6, old->a6, 7));

	old->a5 = a5;
	old->a6 = a6;
	return (struct sif_words){
		_mm512_mask_blend_epi8(odd, b6, _mm512_slli_epi16(b7, 8)),
		_mm512_mask_blend_epi8(odd, _mm512_srli_epi16(b6, 8), b7),
	};
}

/* The words at x, one word earlier. */
static TARGET INLINE __m512i earlier(__m512i x, __m512i old)
{
	const __m512i order = _mm512_add_epi16(
		_mm512_set_epi64(0x1e001d001c001b, 0x1a001900180017,
				 0x16001500140013, 0x1200110010000f,
				 0xe000d000c000b, 0xa000900080007,
				 0x6000500040003, 0x200010000ffff),
		_mm512_set1_epi16(32));

	return _mm512_permutex2var_epi16(old, order, x);
}

/* A sum is done on more ports than a shift is. */
static TARGET INLINE __m512i twice(__m512i x)
{
	return _mm512_add_epi16(x, x);
}

static TARGET INLINE __m512i add_4(__m512i x, __m512i early)
{
	return _mm512_xor_si512(x, _mm512_slli_epi16(early, 4));
}

static TARGET INLINE __m512i add_2(__m512i x, __m512i early)
{
	return _mm512_xor_si512(x, twice(twice(early)));
}

static TARGET INLINE __m512i add_1(__m512i x, __m512i early)
{
	return _mm512_xor_si512(x, twice(early));
}

/* Of 64 windows, those whose hash may be within a bound with these highest
 * bits: a bit for the last byte of each. */
static TARGET INLINE uint64_t choose(const __m512i planes[3][4], __m512i bytes,
				     __m512i most, struct carry *old)
{
	struct sif_words b = first_words(planes, bytes, old), c, d, h;

	c.even = add_4(b.even, _mm512_alignr_epi32(b.even, old->b.even, 15));
	c.odd = add_4(b.odd, _mm512_alignr_epi32(b.odd, old->b.odd, 15));
	d.even = add_2(c.even, earlier(c.even, old->c.even));
	d.odd = add_2(c.odd, earlier(c.odd, old->c.odd));
	h.even = add_1(d.even, earlier(d.odd, old->d.odd));
	h.odd = add_1(d.odd, d.even);
	old->b = b;
	old->c = c;
	old->d = d;
	return _pdep_u64(_mm512_cmple_epu16_mask(h.even, most),
			 0x5555555555555555) |
	       _pdep_u64(_mm512_cmple_epu16_mask(h.odd, most),
			 0xaaaaaaaaaaaaaaaa);
}

/* Writes where the chosen windows end, in bytes from at on; and some more,
 * ROOM / 2 at a time, that mean nothing. */
static TARGET INLINE size_t list(const uint8_t *bytes, size_t at,
				 uint64_t chosen, uint16_t *ends_out)
{
	const __m512i places = _mm512_set_epi8(
		63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
		47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
		31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
		15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	const __m512i start = _mm512_set1_epi16((short)at);
	__m512i x = _mm512_maskz_compress_epi8(chosen, places);
	size_t count = (size_t)_mm_popcnt_u64(chosen);
	__m256i half = _mm512_castsi512_si256(x);

	/* In a long run of one byte every window is chosen. */
	if (count == STEP &&
	    sif_repeats(bytes + at - SIF_BEFORE, SIF_BEFORE + STEP))
		return 0;
	_mm512_storeu_si512(
		ends_out, _mm512_add_epi16(start, _mm512_cvtepu8_epi16(half)));
	if (__builtin_expect(count <= ROOM / 2, 1))
		return count;
	half = _mm512_extracti64x4_epi64(x, 1);
	_mm512_storeu_si512(
		ends_out + ROOM / 2,
		_mm512_add_epi16(start, _mm512_cvtepu8_epi16(half)));
	return count;
}

/* Lists what to look at of up to SIF_PIECE bytes. */
static TARGET size_t list_all(const struct kernel_sif_table *table,
			      const uint8_t *bytes, size_t len, uint64_t bound,
			      uint16_t *ends_out)
{
	const __m512i most = _mm512_set1_epi16(
		(short)(bound >> 48 | ((1U << SIF_WRONG_BITS) - 1)));
	uint64_t chosen, some, ends = UINT64_MAX << SIF_BEFORE;
	struct carry old = { 0 };
	size_t i, k, count = 0;
	__m512i planes[3][4];

#pragma GCC unroll 3
	for (k = 0; k < 3; k++)
#pragma GCC unroll 4
		for (i = 0; i < 4; i++)
			planes[k][i] =
				_mm512_loadu_si512(table->planes[k] + 64 * i);
	for (i = 0; i + STEP <= len; i += STEP) {
		chosen = choose(planes, _mm512_loadu_si512(bytes + i), most,
				&old);
		count += list(bytes, i, chosen & ends, ends_out + count);
		ends = UINT64_MAX;
	}
	if (i < len) {
		some = (UINT64_C(1) << (len - i)) - 1;
		chosen =
			choose(planes, _mm512_maskz_loadu_epi8(some, bytes + i),
			       most, &old);
		count += list(bytes, i, chosen & ends & some, ends_out + count);
	}
	return count;
}

static TARGET size_t pick(const struct kernel_sif_table *table,
			  const uint8_t *bytes, size_t count, uint64_t bound,
			  uint64_t *hashes_out)
{
	uint16_t ends[SIF_PIECE + ROOM];
	size_t i, listed, len, picked = 0;
	const uint8_t *window;
	uint64_t hash;

	if (table->window != SIF_WIDE_WINDOW || bound > SIF_WIDE_BOUND)
		return sif_scalar.pick(table, bytes, count, bound, hashes_out);
	for (; count > 0; count -= len - SIF_BEFORE) {
		len = count + SIF_BEFORE;
		len = len < SIF_PIECE ? len : SIF_PIECE;
		listed = list_all(table, bytes, len, bound, ends);
		for (i = 0; i < listed; i++) {
			window = bytes + ends[i] - SIF_BEFORE;
			hash = sif_wide_hash(table, window);
			if (hash <= bound &&
			    !sif_repeats(window, SIF_WIDE_WINDOW))
				hashes_out[picked++] = hash;
		}
		bytes += len - SIF_BEFORE;
	}
	return picked;
}

const struct kernel_sif sif_avx512 = { pick };

#endif
