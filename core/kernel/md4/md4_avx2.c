/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/md4/md4_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "core/kernel/words_avx2.h"

#define TARGET __attribute__((target("avx2")))
#define LANES 8
#define SETS 4 /* at most */
#define INLINE inline __attribute__((always_inline))

typedef __m256i vector;
typedef __m256i vector_mask;

/* The functions of RFC 1320, section 3.4. */

static TARGET inline __m256i rotate(__m256i x, int bits)
{
	return _mm256_or_si256(_mm256_slli_epi32(x, bits),
			       _mm256_srli_epi32(x, 32 - bits));
}

static TARGET inline __m256i choose(__m256i x, __m256i y, __m256i z)
{
	return _mm256_xor_si256(z, _mm256_and_si256(x, _mm256_xor_si256(y, z)));
}

static TARGET inline __m256i majority(__m256i x, __m256i y, __m256i z)
{
	return _mm256_or_si256(_mm256_and_si256(x, y),
			       _mm256_and_si256(z, _mm256_or_si256(x, y)));
}

static TARGET inline __m256i parity(__m256i x, __m256i y, __m256i z)
{
	return _mm256_xor_si256(x, _mm256_xor_si256(y, z));
}

/* x, or x + y where the mask says so. */
static TARGET inline __m256i add_if(__m256i x, __m256i mask, __m256i y)
{
	return _mm256_add_epi32(x, _mm256_and_si256(mask, y));
}

static TARGET inline __m256i same(uint32_t value)
{
	return _mm256_set1_epi32((int)value);
}

/* f is ready last.  Left alone, compilers add it first. */
static TARGET INLINE __m256i add(__m256i x, __m256i f, __m256i w)
{
	x = _mm256_add_epi32(x, w);
	__asm__("" : "+x"(x));
	return _mm256_add_epi32(x, f);
}

static TARGET INLINE vector plus(vector w, uint32_t constant)
{
	return _mm256_add_epi32(w, same(constant));
}

static TARGET inline __m256i load(const void *from)
{
	return _mm256_loadu_si256(from);
}

static TARGET inline void store(void *to, __m256i x)
{
	_mm256_storeu_si256(to, x);
}

static TARGET inline vector_mask are_more(vector blocks, uint32_t than)
{
	return _mm256_cmpgt_epi32(blocks, same(than));
}

#include "core/kernel/md4/md4_rounds.h"

/*
 * As numbers that sort as the bytes do: words 0 on top of words 1.  Of lanes
 * 0, 1, 4, 5 or of the other four.
 */
static TARGET inline __m256i sortable(__m256i a, __m256i b, int half)
{
	const __m256i swap = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

	a = half ? _mm256_unpackhi_epi32(b, a) : _mm256_unpacklo_epi32(b, a);
	return _mm256_shuffle_epi8(a, swap);
}

static TARGET inline __m256i lesser(__m256i x, __m256i y)
{
	/* There is only a signed comparison. */
	const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
	__m256i greater = _mm256_cmpgt_epi64(_mm256_xor_si256(x, sign),
					     _mm256_xor_si256(y, sign));

	return _mm256_blendv_epi8(x, y, greater);
}

/* Between the order of sortable() and that of the lanes; its own inverse. */
static TARGET inline void exchange_middle(__m256i x[2])
{
	__m256i low = _mm256_permute2x128_si256(x[0], x[1], 0x20);

	x[1] = _mm256_permute2x128_si256(x[0], x[1], 0x31);
	x[0] = low;
}

/* Two prefixes at a time, a set for each half of the suffixes. */
static TARGET void suffixed(const uint8_t (*prefixes)[16], size_t count,
			    uint64_t minima[16])
{
	const __m256i all[SETS] = { same(UINT32_MAX), same(UINT32_MAX),
				    same(UINT32_MAX), same(UINT32_MAX) };
	__m256i w[SETS][16] = { 0 }, least[4], *half;
	struct md4_state s[SETS];
	size_t i, prefix;
	int k;

	for (k = 0; k < 4; k++)
		least[k] = load(minima + 4 * k);
	exchange_middle(least);
	exchange_middle(least + 2);
	for (k = 0; k < SETS; k++) {
		/* The suffix, and the bit that ends a message; its length. */
		w[k][4] = _mm256_add_epi32(
			same(0x8001 + LANES * (uint32_t)(k % 2)),
			_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
		w[k][14] = same(17 * 8);
	}
	for (prefix = 0; prefix < count; prefix += 2) {
		for (k = 0; k < SETS; k++) {
			/* A message in two lanes changes nothing. */
			i = prefix + (k / 2 && prefix + 1 < count);
			set_prefix(w[k], prefixes[i]);
			s[k] = start();
		}
		add_block(s, (const __m256i(*)[16])w, all, SETS);
		for (k = 0; k < SETS; k++) {
			half = least + k % 2 * 2;
			half[0] = lesser(half[0], sortable(s[k].a, s[k].b, 0));
			half[1] = lesser(half[1], sortable(s[k].a, s[k].b, 1));
		}
	}
	exchange_middle(least);
	exchange_middle(least + 2);
	for (k = 0; k < 4; k++)
		store(minima + 4 * k, least[k]);
}

const struct kernel_md4 md4_avx2 = { many, suffixed };

#endif
