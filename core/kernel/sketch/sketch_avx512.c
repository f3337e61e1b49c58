/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sketch/sketch.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET_FEATURES "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt"
#define TARGET __attribute__((target(TARGET_FEATURES), always_inline))

typedef __m512i vector;

enum { STEP = 64 };

static TARGET inline vector load(const void *p)
{
	return _mm512_loadu_si512(p);
}

static TARGET inline vector same(uint32_t value)
{
	return _mm512_set1_epi32((int)value);
}

static TARGET inline vector steps_of_4(void)
{
	return _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44,
				 48, 52, 56, 60);
}

static TARGET inline vector add(vector a, vector b)
{
	return _mm512_add_epi32(a, b);
}

static TARGET inline vector multiply(vector a, vector b)
{
	return _mm512_mullo_epi32(a, b);
}

static TARGET inline vector exclusive_or(vector a, vector b)
{
	return _mm512_xor_si512(a, b);
}

static TARGET inline vector mix(vector x)
{
	return exclusive_or(x, _mm512_srli_epi32(x, SKETCH_MIX_SHIFT));
}

static TARGET inline vector lesser(vector a, vector b)
{
	return _mm512_min_epu32(a, b);
}

static TARGET inline unsigned up_to(vector x, vector most)
{
	return _mm512_cmple_epu32_mask(x, most);
}

static TARGET inline void store_lanes(uint32_t *out, vector x, unsigned bits)
{
	x = _mm512_maskz_compress_epi32((__mmask16)bits, x);
	_mm512_storeu_si512(out, x);
}

static TARGET inline bool has_zero_word(vector x)
{
	return _mm512_testn_epi64_mask(x, x) != 0;
}

/* Bytes from 80 on stay; the table would be asked for them without their highest
 * bit. */
static TARGET inline size_t fold_step(const uint8_t *p, uint8_t *out)
{
	vector x = load(p);
	vector folded = _mm512_mask2_permutex2var_epi8(
		load(sketch_folded_ascii), x, ~_mm512_movepi8_mask(x),
		load(sketch_folded_ascii + STEP));
	__mmask64 kept = _mm512_test_epi8_mask(folded, folded);

	_mm512_storeu_si512(out, _mm512_maskz_compress_epi8(kept, folded));
	return (size_t)_mm_popcnt_u64(kept);
}

#include "core/kernel/sketch/sketch_vector.h"

const struct kernel_sketch sketch_avx512 = { fold, scan, count_repeats };

#endif
