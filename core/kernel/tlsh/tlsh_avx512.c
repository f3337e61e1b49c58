/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/tlsh/tlsh.h"

#ifdef __x86_64__

#include <immintrin.h>

/*
 * The hashes of 64 windows at once, each byte in a lane of its own; T is four
 * registers.  What remains is to count them one by one.
 */
#define TARGET                                                         \
	__attribute__((target("avx512f,avx512bw,avx512vbmi,bmi,bmi2"), \
		       always_inline))

enum { STEP = 64 };

struct hashes {
	_Alignas(64) uint8_t triplets[KERNEL_TLSH_TRIPLETS][STEP];
	_Alignas(64) uint8_t checksums[STEP]; /* before the last look-up */
};

static TARGET inline __m512i look_up(const __m512i T[4], __m512i x)
{
	return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x),
				      _mm512_permutex2var_epi8(T[0], x, T[1]),
				      _mm512_permutex2var_epi8(T[2], x, T[3]));
}

static TARGET inline __m512i hash_two(const __m512i T[4], uint8_t salt,
				      __m512i x, __m512i y)
{
	x = look_up(T, _mm512_xor_si512(x, _mm512_set1_epi8((char)salt)));
	return look_up(T, _mm512_xor_si512(x, y));
}

/* The windows that end at p[0] to p[63]. */
static TARGET inline void hash_windows(const struct kernel_tlsh_table *table,
				       const __m512i T[4], const uint8_t *p,
				       struct hashes *out)
{
	/* The second and third byte of each triplet. */
	static const uint8_t second[] = { 1, 1, 2, 2, 1, 3 };
	static const uint8_t third[] = { 2, 3, 3, 4, 4, 4 };
	__m512i x[KERNEL_TLSH_WINDOW], h;
	size_t i;

	for (i = 0; i < KERNEL_TLSH_WINDOW; i++)
		x[i] = _mm512_loadu_si512(p - i);
#pragma GCC unroll 6
	for (i = 0; i < KERNEL_TLSH_TRIPLETS; i++) {
		h = hash_two(T, table->salts[1 + i], x[0], x[second[i]]);
		h = look_up(T, _mm512_xor_si512(h, x[third[i]]));
		_mm512_store_si512(out->triplets[i], h);
	}
	_mm512_store_si512(out->checksums,
			   hash_two(T, table->salts[0], x[0], x[1]));
}

__attribute__((target("avx512f,avx512bw,avx512vbmi,bmi,bmi2"))) static uint8_t
count(const struct kernel_tlsh_table *table, const uint8_t *bytes, size_t len,
      uint32_t counts[KERNEL_TLSH_TRIPLETS][256], uint8_t checksum)
{
	struct hashes hashes;
	__m512i T[4];
	size_t i, j, k;

	for (i = 0; i < 4; i++)
		T[i] = _mm512_loadu_si512(table->pearson + 64 * i);
	for (i = KERNEL_TLSH_WINDOW - 1; i + STEP <= len; i += STEP) {
		hash_windows(table, T, bytes + i, &hashes);
		for (j = 0; j < STEP; j++) {
#pragma GCC unroll 6
			for (k = 0; k < KERNEL_TLSH_TRIPLETS; k++)
				counts[k][hashes.triplets[k][j]]++;
			checksum =
				table->pearson[hashes.checksums[j] ^ checksum];
		}
	}
	i -= KERNEL_TLSH_WINDOW - 1;
	return i < len ? tlsh_scalar.count(table, bytes + i, len - i, counts,
					   checksum) :
			 checksum;
}

const struct kernel_tlsh tlsh_avx512 = { count };

#endif
