/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sif_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET                                                                 \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi," \
			      "bmi,bmi2")))

#define STEP 64

/* sif_impl.h says what the letters are.  The words at even and at odd bytes
 * are apart: a step to odd bytes from the even ones before them is none. */
struct words {
	__m512i even, odd;
};

/* What the next step needs of the one before. */
struct carry {
	__m512i a5, a6;
	struct words b, c, d;
};

static TARGET inline __m512i look_up(const __m512i *quarters, __m512i bytes)
{
	return _mm512_mask_blend_epi8(
		_mm512_movepi8_mask(bytes),
		_mm512_permutex2var_epi8(quarters[0], bytes, quarters[1]),
		_mm512_permutex2var_epi8(quarters[2], bytes, quarters[3]));
}

/* The words of b; their rotation takes byte 6 to 7 and byte 5 to 6. */
static TARGET inline struct words first_words(const __m512i planes[3][4],
					      __m512i bytes, struct carry *old)
{
	const __mmask64 odd = 0xaaaaaaaaaaaaaaaa;
	__m512i a5 = look_up(planes[0], bytes);
	__m512i a6 = look_up(planes[1], bytes);
	__m512i a7 = look_up(planes[2], bytes);
	__m512i b6 = _mm512_xor_si512(a6, _mm512_alignr_epi64(a5, old->a5, 7));
	__m512i b7 = _mm512_xor_si512(a7, _mm512_alignr_epi64(a6, old->a6, 7));

	old->a5 = a5;
	old->a6 = a6;
	return (struct words){
		_mm512_mask_blend_epi8(odd, b6, _mm512_slli_epi16(b7, 8)),
		_mm512_mask_blend_epi8(odd, _mm512_srli_epi16(b6, 8), b7),
	};
}

/* The words at x, one word earlier. */
static TARGET inline __m512i earlier(__m512i x, __m512i old)
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
static TARGET inline __m512i twice(__m512i x)
{
	return _mm512_add_epi16(x, x);
}

static TARGET inline __m512i add_4(__m512i x, __m512i early)
{
	return _mm512_xor_si512(x, _mm512_slli_epi16(early, 4));
}

static TARGET inline __m512i add_2(__m512i x, __m512i early)
{
	return _mm512_xor_si512(x, twice(twice(early)));
}

static TARGET inline __m512i add_1(__m512i x, __m512i early)
{
	return _mm512_xor_si512(x, twice(early));
}

/* Of 64 windows, by their last bytes: bit i is of byte 2 * i, or the one after
 * it. */
struct choice {
	uint32_t even, odd;
};

/* Which hashes may be within a bound with these highest bits. */
static TARGET inline struct choice choose(const __m512i planes[3][4],
					  __m512i bytes, __m512i most,
					  struct carry *old)
{
	struct words b = first_words(planes, bytes, old), c, d, h;

	c.even = add_4(b.even, _mm512_alignr_epi32(b.even, old->b.even, 15));
	c.odd = add_4(b.odd, _mm512_alignr_epi32(b.odd, old->b.odd, 15));
	d.even = add_2(c.even, earlier(c.even, old->c.even));
	d.odd = add_2(c.odd, earlier(c.odd, old->c.odd));
	h.even = add_1(d.even, earlier(d.odd, old->d.odd));
	h.odd = add_1(d.odd, d.even);
	old->b = b;
	old->c = c;
	old->d = d;
	return (struct choice){
		_mm512_cmple_epu16_mask(h.even, most),
		_mm512_cmple_epu16_mask(h.odd, most),
	};
}

/* Up to SIF_PIECE bytes; bit i of the result: whether choice i has any. */
static TARGET uint64_t choose_all(const struct kernel_sif_table *table,
				  const uint8_t *bytes, size_t len,
				  uint64_t bound, struct choice *choices_out)
{
	const __m512i most = _mm512_set1_epi16(
		(short)(bound >> 48 | ((1U << SIF_WRONG_BITS) - 1)));
	struct carry old = { 0 };
	__m512i planes[3][4], x;
	struct choice one;
	uint64_t used = 0;
	size_t i, k;

	for (k = 0; k < 3; k++)
		for (i = 0; i < 4; i++)
			planes[k][i] =
				_mm512_loadu_si512(table->planes[k] + 64 * i);
#pragma GCC unroll 2
	for (i = 0; i + STEP <= len; i += STEP) {
		x = _mm512_loadu_si512(bytes + i);
		one = choose(planes, x, most, &old);
		choices_out[i / STEP] = one;
		used |= (uint64_t)((one.even | one.odd) != 0) << i / STEP;
	}
	if (i < len) {
		x = _mm512_maskz_loadu_epi8((UINT64_C(1) << (len - i)) - 1,
					    bytes + i);
		choices_out[i / STEP] = choose(planes, x, most, &old);
		used |= UINT64_C(1) << i / STEP;
	}
	return used;
}

/* Those of len bytes that a window ends with, a bit each. */
static TARGET inline uint64_t ends_of(struct choice choice, size_t at,
				      size_t len)
{
	uint64_t ends = _pdep_u64(choice.even, 0x5555555555555555) |
			_pdep_u64(choice.odd, 0xaaaaaaaaaaaaaaaa);

	if (at == 0)
		ends &= UINT64_MAX << SIF_BEFORE;
	if (len - at < STEP)
		ends &= (UINT64_C(1) << (len - at)) - 1;
	return ends;
}

static TARGET size_t pick(const struct kernel_sif_table *table,
			  const uint8_t *bytes, size_t count, uint64_t bound,
			  uint64_t *hashes_out)
{
	struct choice choices[SIF_PIECE / STEP];
	size_t at, len, picked = 0;
	uint64_t used;

	if (table->window != SIF_WIDE_WINDOW || bound > SIF_WIDE_BOUND)
		return sif_scalar.pick(table, bytes, count, bound, hashes_out);
	for (; count > 0; count -= len - SIF_BEFORE) {
		len = count + SIF_BEFORE;
		len = len < SIF_PIECE ? len : SIF_PIECE;
		used = choose_all(table, bytes, len, bound, choices);
		for (; used; used &= used - 1) {
			at = STEP * (size_t)_tzcnt_u64(used);
			picked += sif_take(table, bytes + at,
					   ends_of(choices[at / STEP], at, len),
					   bound, hashes_out + picked);
		}
		bytes += len - SIF_BEFORE;
	}
	return picked;
}

const struct kernel_sif sif_avx512 = { pick };

#endif
