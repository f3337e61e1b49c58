/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/md4/md4_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "core/kernel/words_avx512.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define LANES 16
#define SETS 4 /* at most */
#define INLINE inline __attribute__((always_inline))

typedef __m512i vector;
typedef __mmask16 vector_mask;

/* The functions of RFC 1320, section 3.4; the numbers are their truth
 * tables. */
#define rotate(x, bits) _mm512_rol_epi32(x, bits)
#define choose(x, y, z) _mm512_ternarylogic_epi32(x, y, z, 0xca)
#define majority(x, y, z) _mm512_ternarylogic_epi32(x, y, z, 0xe8)
#define parity(x, y, z) _mm512_ternarylogic_epi32(x, y, z, 0x96)

/* x, or x + y where the mask says so. */
#define add_if(x, mask, y) _mm512_mask_add_epi32(x, mask, x, y)

static TARGET inline __m512i same(uint32_t value)
{
	return _mm512_set1_epi32((int)value);
}

/* f is ready last.  Left alone, compilers add it first. */
static TARGET INLINE __m512i add(__m512i x, __m512i f, __m512i w)
{
	x = _mm512_add_epi32(x, w);
	__asm__("" : "+v"(x));
	return _mm512_add_epi32(x, f);
}

static TARGET INLINE vector plus(vector w, uint32_t constant)
{
	return _mm512_add_epi32(w, same(constant));
}

static TARGET inline vector load(const void *from)
{
	return _mm512_loadu_si512(from);
}

static TARGET inline void store(void *to, vector x)
{
	_mm512_storeu_si512(to, x);
}

static TARGET inline vector_mask are_more(vector blocks, uint32_t than)
{
	return _mm512_cmpgt_epu32_mask(blocks, same(than));
}

#include "core/kernel/md4/md4_rounds.h"

/* As numbers that sort as the bytes do: words 0 on top of words 1, of the
 * first or the last 8 lanes. */
static TARGET inline __m512i sortable(__m512i a, __m512i b, int half)
{
	const __m512i low = _mm512_setr_epi32(16, 0, 17, 1, 18, 2, 19, 3, 20, 4,
					      21, 5, 22, 6, 23, 7);
	const __m512i high = _mm512_add_epi32(low, same(8));
	const __m512i swap = _mm512_broadcast_i32x4(_mm_setr_epi8(
		3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

	a = _mm512_permutex2var_epi32(a, half ? high : low, b);
	return _mm512_shuffle_epi8(a, swap);
}

static TARGET void suffixed(const uint8_t (*prefixes)[16], size_t count,
			    uint64_t minima[16])
{
	const __mmask16 all[SETS] = { UINT16_MAX, UINT16_MAX, UINT16_MAX,
				      UINT16_MAX };
	__m512i least_0 = _mm512_loadu_si512(minima);
	__m512i least_8 = _mm512_loadu_si512(minima + 8);
	__m512i w[SETS][16] = { 0 };
	struct md4_state s[SETS];
	size_t i, prefix;
	int k;

	for (k = 0; k < SETS; k++) {
		/* The suffix, and the bit that ends a message; its length. */
		w[k][4] = _mm512_add_epi32(same(0x8001),
					   _mm512_setr_epi32(0, 1, 2, 3, 4, 5,
							     6, 7, 8, 9, 10, 11,
							     12, 13, 14, 15));
		w[k][14] = same(17 * 8);
	}
	for (prefix = 0; prefix < count; prefix += SETS) {
		for (k = 0; k < SETS; k++) {
			/* A message in two lanes changes nothing. */
			i = prefix +
			    (prefix + (size_t)k < count ? (size_t)k : 0);
			set_prefix(w[k], prefixes[i]);
			s[k] = start();
		}
		add_block(s, (const __m512i(*)[16])w, all, SETS);
		for (k = 0; k < SETS; k++) {
			least_0 = _mm512_min_epu64(least_0,
						   sortable(s[k].a, s[k].b, 0));
			least_8 = _mm512_min_epu64(least_8,
						   sortable(s[k].a, s[k].b, 1));
		}
	}
	_mm512_storeu_si512(minima, least_0);
	_mm512_storeu_si512(minima + 8, least_8);
}

const struct kernel_md4 md4_avx512 = { many, suffixed };

#endif
