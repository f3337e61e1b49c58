/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph_impl.h"

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

/* The low 8 bits of the rolling values after 64 bytes: a sum of the bytes
 * modulo 256, and of the shifted ones only two reach down there. */
static TARGET inline __m512i low_bits(const uint8_t *bytes, __mmask64 some)
{
	/* Takes bit 0 to bit 5, and so on. */
	const __m512i by_5 = _mm512_set1_epi64(0x010204);
	__m512i newest = _mm512_maskz_loadu_epi8(some, bytes);
	__m512i before = _mm512_maskz_loadu_epi8(some, bytes - 1);
	__m512i sum = _mm512_add_epi8(newest, before);
	__m512i sums = _mm512_add_epi8(newest, sum);
	int i;

	before = _mm512_gf2p8affine_epi64_epi8(before, by_5, 0);
#pragma GCC unroll 8
	for (i = 2; i < KERNEL_CTPH_WINDOW; i++) {
		sum = _mm512_add_epi8(sum,
				      _mm512_maskz_loadu_epi8(some, bytes - i));
		sums = _mm512_add_epi8(sums, sum);
	}
	sums = _mm512_add_epi8(sums, sum);
	return _mm512_add_epi8(sums, _mm512_xor_si512(newest, before));
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

static TARGET size_t filter(const uint8_t *bytes, size_t begin, size_t end,
			    unsigned level, uint32_t *candidates_out)
{
	uint32_t low_mask = (UINT32_C(1) << level) - 1;
	/* All of the low bits are ones, where a trigger may be. */
	const __m512i ones = _mm512_set1_epi8((char)(uint8_t)low_mask);
	uint64_t some, may;
	size_t i, count = 0;
	__m512i low;

	for (i = begin; i < end; i += STEP) {
		some = first_bytes(end - i);
		low = _mm512_and_si512(low_bits(bytes + i, some), ones);
		may = _mm512_mask_cmpeq_epi8_mask(some, low, ones);
		if (_mm_popcnt_u64(may) > FEW)
			may = triggers_64(bytes + i, may, level);
		/* Seldom more than one, and where is not foreseen. */
		candidates_out[count] = (uint32_t)(i + _tzcnt_u64(may));
		count += may != 0;
		while ((may &= may - 1))
			candidates_out[count++] =
				(uint32_t)(i + _tzcnt_u64(may));
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
