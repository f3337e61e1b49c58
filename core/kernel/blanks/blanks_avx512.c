/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/blanks/blanks.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET_FEATURES "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi,popcnt"
#define TARGET __attribute__((target(TARGET_FEATURES), always_inline))

typedef __mmask64 mask;

enum { STEP = 64 };

/*
 * A blank has a bit in both of two tables, by its lower and its upper half:
 * 1 for 09 to 0D, 2 for a space and a comma, 4 for a semicolon, 8 for a bar.
 * Of bytes from 80 on the look-up in the lower halves gives 0.
 */
static TARGET inline mask ascii_blanks(__m512i bytes)
{
	const __m512i by_lower = _mm512_broadcast_i32x4(_mm_setr_epi8(
		2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1 | 4, 1 | 2 | 8, 1, 0, 0));
	const __m512i by_upper = _mm512_broadcast_i32x4(
		_mm_setr_epi8(1, 0, 2, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0));
	__m512i upper = _mm512_and_si512(_mm512_srli_epi16(bytes, 4),
					 _mm512_set1_epi8(15));

	return _mm512_test_epi8_mask(_mm512_shuffle_epi8(by_lower, bytes),
				     _mm512_shuffle_epi8(by_upper, upper));
}

static TARGET inline mask equal(const uint8_t *p, uint8_t byte)
{
	return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p),
				      _mm512_set1_epi8((char)byte));
}

#include "core/kernel/blanks/blanks_vector.h"

static TARGET inline size_t drop_step(const uint8_t *p,
				      struct kernel_blanks_state *state,
				      uint8_t *out)
{
	__m512i bytes = _mm512_loadu_si512(p);
	mask blank = ascii_blanks(bytes), low;

	if (_mm512_movepi8_mask(bytes))
		blank |= long_blanks(p);
	low = _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(' ')) & ~blank;
	if (low)
		count_controls(p, low, state);
	_mm512_storeu_si512(out, _mm512_maskz_compress_epi8(~blank, bytes));
	return (size_t)_mm_popcnt_u64(~blank);
}

const struct kernel_blanks blanks_avx512 = { drop };

#endif
