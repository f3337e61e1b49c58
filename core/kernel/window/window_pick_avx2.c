/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/window/window_avx2.h"

#ifdef __x86_64__

/* The keys of 4 windows, of 11 bytes. */
TARGET static inline __m256i keys_of(__m128i bytes)
{
	const __m256i seed = _mm256_set1_epi64x((long long)WINDOW_SEED_1);

	return finish_nearly(
		nearly_finish(blend(_mm256_xor_si256(spread(bytes), seed))));
}

TARGET static inline __m128i load_11(const uint8_t *bytes)
{
	__m128i first = _mm_loadl_epi64((const void *)bytes);
	__m128i last = _mm_loadl_epi64((const void *)(bytes + 3));

	return _mm_unpacklo_epi64(first, _mm_srli_epi64(last, 40));
}

TARGET static inline size_t pick_four(uint64_t *out, const uint8_t *bytes,
				      __m256i bounds)
{
	__m256i keys = keys_of(load_11(bytes));

	return store_some(out, up_to(keys, bounds), keys);
}

#define SPARSE 1024     /* windows that are looked at together */
#define TOO_LARGE 8140  /* by which rough_tops() may be */
#define TOO_SMALL 73096 /* the same */

TARGET static inline __m256i load(const uint8_t *bytes)
{
	return _mm256_loadu_si256((const void *)bytes);
}

TARGET static inline __m256i all(uint32_t word)
{
	return _mm256_set1_epi32((int)word);
}

/* Of y, or what is made of it, for 8 windows. */
struct halves {
	__m256i low, high;
};

/* Of the windows at every fourth byte. */
TARGET static inline struct halves y_apart(const uint8_t *bytes)
{
	const uint8_t zeros[WINDOW_LENGTH] = { 0 };
	const uint64_t seed = window_y(zeros, WINDOW_SEED_1);
	__m256i low = load(bytes), high = load(bytes + 4);
	struct halves y;

	/* rotl(w, 32) ^ rotl(w, 17) ^ rotl(w, 56), whose low half is bytes. */
	y.low = high ^ load(bytes + 1) ^ all((uint32_t)seed) ^
		_mm256_slli_epi32(low, 17) ^ _mm256_srli_epi32(high, 15);
	y.high = low ^ all((uint32_t)(seed >> 32)) ^
		 _mm256_slli_epi32(high, 17) ^ _mm256_srli_epi32(low, 15) ^
		 _mm256_srli_epi32(high, 8) ^ _mm256_slli_epi32(low, 24);
	return y;
}

/* The upper halves of the products. */
TARGET static inline __m256i multiply_high(__m256i a, __m256i b)
{
	__m256i even = _mm256_mul_epu32(a, b);
	__m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);

	return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

/* The high half of the product, but for what the low halves bring to it. */
TARGET static inline __m256i multiply_across(struct halves a)
{
	return _mm256_add_epi32(
		_mm256_mullo_epi32(a.low, all((uint32_t)(WINDOW_PRIME >> 32))),
		_mm256_mullo_epi32(a.high, all((uint32_t)WINDOW_PRIME)));
}

/* As nearly_finish(), the high halves.  The last product of low halves is that
 * of their upper 16 bits, with PRIME's rounded up, and only its own upper 16
 * bits: TOO_LARGE and TOO_SMALL are what that can come to. */
TARGET static inline __m256i rough_tops(struct halves y)
{
	const __m256i prime = all((uint32_t)WINDOW_PRIME);
	const __m256i upper = all((((uint32_t)WINDOW_PRIME >> 16) + 1) << 16);
	struct halves p;
	__m256i t;

	p.high = _mm256_add_epi32(multiply_high(y.low, prime),
				  multiply_across(y));
	t = _mm256_add_epi32(_mm256_srli_epi32(p.high, 3), all(8));
	p.low = _mm256_mullo_epi32(y.low, prime) ^ t;
	return _mm256_add_epi32(_mm256_mulhi_epu16(p.low, upper),
				multiply_across(p));
}

/* Of 32 windows, which fours may have a key whose top is up to most. */
TARGET static inline unsigned find_fours(const uint8_t *bytes, uint32_t most)
{
	const __m256i mosts = all(most + TOO_LARGE + TOO_SMALL);
	const __m256i too_small = all(TOO_SMALL);
	__m256i least = _mm256_set1_epi32(-1), top, wanted;
	int i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		top = rough_tops(y_apart(bytes + i));
		top = _mm256_add_epi32(top, too_small);
		least = _mm256_min_epu32(least, top);
	}
	wanted = _mm256_cmpeq_epi32(_mm256_min_epu32(least, mosts), least);
	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(wanted));
}

/* Up to SPARSE windows, a multiple of 32.  The last xor of the hash leaves the
 * top bits alone, and they tell. */
TARGET static inline size_t pick_sparse(const uint8_t *bytes, size_t count,
					uint64_t bound, uint64_t *keys_out)
{
	const __m256i bounds = _mm256_set1_epi64x((long long)bound);
	const uint32_t most =
		(uint32_t)(bound >> 32) | UINT32_MAX >> WINDOW_TOP_BITS;
	size_t i, chosen_count = 0, picked = 0;
	uint16_t chosen[SPARSE / 4];
	unsigned fours;

	/* Seldom there is more than one, and where is not foreseen. */
	for (i = 0; i < count; i += 32) {
		fours = find_fours(bytes + i, most);
		chosen[chosen_count] = (uint16_t)(i + 4 * _tzcnt_u32(fours));
		chosen_count += fours != 0;
		while ((fours &= fours - 1))
			chosen[chosen_count++] =
				(uint16_t)(i + 4 * _tzcnt_u32(fours));
	}
	for (i = 0; i < chosen_count; i++)
		picked +=
			pick_four(keys_out + picked, bytes + chosen[i], bounds);
	return picked;
}

TARGET size_t window_pick_avx2(const uint8_t *bytes, size_t count,
			       uint64_t bound, uint64_t *keys_out)
{
	const __m256i bounds = _mm256_set1_epi64x((long long)bound);
	size_t i = 0, part, picked = 0;

	for (; bound < WINDOW_DENSE && i + 32 <= count; i += part) {
		part = count - i < SPARSE ? (count - i) / 32 * 32 : SPARSE;
		picked +=
			pick_sparse(bytes + i, part, bound, keys_out + picked);
	}
	for (; i + 4 <= count; i += 4)
		picked += pick_four(keys_out + picked, bytes + i, bounds);
	return picked + window_scalar.pick(bytes + i, count - i, bound,
					   keys_out + picked);
}

#endif
