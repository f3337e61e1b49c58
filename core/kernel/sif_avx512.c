/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sif_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))

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

static TARGET inline __m512i add(__m512i x, __m512i early, unsigned by)
{
	return _mm512_xor_si512(x, _mm512_slli_epi16(early, by));
}

/* Bit t: whether the hash at byte t may be within a bound with that highest
 * byte. */
static TARGET inline uint64_t choose(const __m512i planes[3][4], __m512i bytes,
				     __m512i most, struct carry *old)
{
	const __mmask64 odd = 0xaaaaaaaaaaaaaaaa;
	struct words b = first_words(planes, bytes, old), c, d, h;

	c.even = add(b.even, _mm512_alignr_epi32(b.even, old->b.even, 15), 4);
	c.odd = add(b.odd, _mm512_alignr_epi32(b.odd, old->b.odd, 15), 4);
	d.even = add(c.even, earlier(c.even, old->c.even), 2);
	d.odd = add(c.odd, earlier(c.odd, old->c.odd), 2);
	h.even = add(d.even, earlier(d.odd, old->d.odd), 1);
	h.odd = add(d.odd, d.even, 1);
	old->b = b;
	old->c = c;
	old->d = d;
	return _mm512_cmple_epu8_mask(
		_mm512_mask_blend_epi8(odd, _mm512_srli_epi16(h.even, 8),
				       h.odd),
		most);
}

static TARGET void choose_all(const struct kernel_sif_table *table,
			      const uint8_t *bytes, size_t len, uint8_t highest,
			      uint64_t *chosen_out)
{
	const __m512i most = _mm512_set1_epi8((char)highest);
	struct carry old = { 0 };
	__m512i planes[3][4], x;
	__mmask64 valid;
	size_t i, k;

	for (k = 0; k < 3; k++)
		for (i = 0; i < 4; i++)
			planes[k][i] =
				_mm512_loadu_si512(table->planes[k] + 64 * i);
	for (i = 0; i < len; i += STEP) {
		valid = len - i < STEP ? (UINT64_C(1) << (len - i)) - 1 :
					 UINT64_MAX;
		x = _mm512_maskz_loadu_epi8(valid, bytes + i);
		*chosen_out++ = choose(planes, x, most, &old) & valid;
	}
}

static TARGET size_t pick(const struct kernel_sif_table *table,
			  const uint8_t *bytes, size_t count, uint64_t bound,
			  uint64_t *hashes_out)
{
	uint64_t chosen[SIF_PIECE / STEP];
	size_t i, len, picked = 0;

	if (table->window != SIF_WIDE_WINDOW || bound > SIF_WIDE_BOUND)
		return sif_scalar.pick(table, bytes, count, bound, hashes_out);
	for (; count > 0; count -= len - SIF_BEFORE) {
		len = count + SIF_BEFORE;
		len = len < SIF_PIECE ? len : SIF_PIECE;
		choose_all(table, bytes, len, (uint8_t)(bound >> 56), chosen);
		chosen[0] &= UINT64_MAX << SIF_BEFORE;
		for (i = 0; i < len; i += STEP)
			picked += sif_take(table, bytes + i, chosen[i / STEP],
					   bound, hashes_out + picked);
		bytes += len - SIF_BEFORE;
	}
	return picked;
}

const struct kernel_sif sif_avx512 = { pick };

#endif
