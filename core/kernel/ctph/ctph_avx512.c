/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph/ctph_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET                                                      \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl," \
			      "avx512vbmi,gfni,bmi,popcnt")))

#define STEP 64 /* bytes at a time */
#define FEW 8   /* bytes that may trigger, to be looked at one by one */

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

/* Whether 16 bytes trigger. */
static TARGET inline __mmask16 triggers(const uint8_t *bytes, __mmask16 some,
					__m512i low_mask)
{
	const __m512i third = _mm512_set1_epi32(0x55555555);
	const __m512i inverse = _mm512_set1_epi32((int)0xaaaaaaab);
	__m512i sum = _mm512_setzero_si512(), sums = _mm512_set1_epi32(1);
	__m512i shifted = sum, x, next;
	unsigned i;

#pragma GCC unroll 8
	for (i = 0; i < KERNEL_CTPH_WINDOW; i++) {
		x = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(some, bytes - i));
		sum = _mm512_add_epi32(sum, x);
		sums = _mm512_add_epi32(sums, sum);
		shifted =
			_mm512_xor_si512(shifted, _mm512_slli_epi32(x, 5 * i));
	}
	next = _mm512_add_epi32(_mm512_add_epi32(sum, sums), shifted);
	some = _mm512_mask_testn_epi32_mask(some, next, low_mask);
	some = _mm512_mask_test_epi32_mask(some, next, next);
	return _mm512_mask_cmple_epu32_mask(
		some, _mm512_mullo_epi32(next, inverse), third);
}

static TARGET uint64_t triggers_64(const uint8_t *bytes, uint64_t some,
				   unsigned level)
{
	const __m512i low_mask = _mm512_set1_epi32((1 << level) - 1);
	uint64_t found = 0;
	int i;

	for (i = 0; i < STEP; i += 16)
		found |= (uint64_t)triggers(bytes + i, (__mmask16)(some >> i),
					    low_mask)
			 << i;
	return found;
}

/* Those of some of 64 bytes, the first ones, that may trigger; low_mask: of
 * the bits that are all ones where that is so. */
static TARGET inline uint64_t may_trigger(const uint8_t *bytes, __mmask64 some,
					  unsigned level, __m512i low_mask)
{
	__m512i low = _mm512_and_si512(low_bits(bytes, some), low_mask);
	uint64_t may = _mm512_mask_cmpeq_epi8_mask(some, low, low_mask);

	return _mm_popcnt_u64(may) > FEW ? triggers_64(bytes, may, level) : may;
}

/* Seldom more than one, and where is not foreseen. */
static TARGET inline size_t list(size_t at, uint64_t may,
				 uint32_t *candidates_out)
{
	size_t count = may != 0;

	candidates_out[0] = (uint32_t)(at + _tzcnt_u64(may));
	while ((may &= may - 1))
		candidates_out[count++] = (uint32_t)(at + _tzcnt_u64(may));
	return count;
}

static TARGET size_t filter(const uint8_t *bytes, size_t begin, size_t end,
			    unsigned level, uint32_t *candidates_out)
{
	const __m512i low_mask =
		_mm512_set1_epi8((char)((UINT32_C(1) << level) - 1));
	size_t i, count = 0;
	uint64_t may;

	for (i = begin; i + STEP <= end; i += STEP) {
		may = may_trigger(bytes + i, UINT64_MAX, level, low_mask);
		count += list(i, may, candidates_out + count);
	}
	if (i < end) {
		may = may_trigger(bytes + i, first_bytes(end - i), level,
				  low_mask);
		count += list(i, may, candidates_out + count);
	}
	return count;
}

static TARGET size_t find(const uint8_t *bytes, size_t len, unsigned level,
			  struct kernel_trigger *triggers_out, size_t max)
{
	return ctph_find(filter, bytes, len, level, triggers_out, max);
}

static TARGET bool find_last(const uint8_t *bytes, size_t len, unsigned level,
			     struct kernel_trigger *trigger_out)
{
	return ctph_find_last(filter, bytes, len, level, trigger_out);
}

const struct kernel_ctph ctph_avx512 = { find, find_last, ctph_hash_avx512 };

#endif
