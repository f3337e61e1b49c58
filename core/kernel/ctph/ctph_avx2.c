/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph/ctph_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi,popcnt")))

#define INLINE inline __attribute__((always_inline))

#define STEP 64 /* bytes at a time, whether they trigger */
#define FEW 4   /* of them that may, to be looked at one by one */

#define LANES 4
#define WORDS 8
#define MOST 8
#define LONG 1024
#define PART 64

/* ---- triggers ---- */

static TARGET inline __m256i load(const uint8_t *bytes)
{
	return _mm256_loadu_si256((const __m256i *)bytes);
}

/* The low 8 bits of the rolling values after 32 bytes: a sum of the bytes
 * modulo 256, and of the shifted ones only two reach down there. */
static TARGET inline __m256i low_bits(const uint8_t *bytes)
{
	const __m256i shifted = _mm256_set1_epi8((char)0xe0);
	__m256i newest = load(bytes), before = load(bytes - 1);
	__m256i sum = _mm256_add_epi8(newest, before);
	__m256i sums = _mm256_add_epi8(newest, sum);
	int i;

	before = _mm256_and_si256(_mm256_slli_epi16(before, 5), shifted);
#pragma GCC unroll 8
	for (i = 2; i < KERNEL_CTPH_WINDOW; i++) {
		sum = _mm256_add_epi8(sum, load(bytes - i));
		sums = _mm256_add_epi8(sums, sum);
	}
	sums = _mm256_add_epi8(sums, sum);
	return _mm256_add_epi8(sums, _mm256_xor_si256(newest, before));
}

/* Which of 8 bytes trigger. */
static TARGET inline uint32_t triggers(const uint8_t *bytes, __m256i low_mask)
{
	const __m256i third = _mm256_set1_epi32(0x55555555);
	const __m256i inverse = _mm256_set1_epi32((int)0xaaaaaaab);
	const __m256i zero = _mm256_setzero_si256();
	__m256i sum = zero, sums = _mm256_set1_epi32(1), shifted = zero;
	__m256i x, next, product;
	int i;

#pragma GCC unroll 8
	for (i = 0; i < KERNEL_CTPH_WINDOW; i++) {
		x = _mm256_cvtepu8_epi32(
			_mm_loadl_epi64((const __m128i *)(bytes - i)));
		sum = _mm256_add_epi32(sum, x);
		sums = _mm256_add_epi32(sums, sum);
		shifted =
			_mm256_xor_si256(shifted, _mm256_slli_epi32(x, 5 * i));
	}
	next = _mm256_add_epi32(_mm256_add_epi32(sum, sums), shifted);
	product = _mm256_mullo_epi32(next, inverse);
	x = _mm256_cmpeq_epi32(_mm256_max_epu32(product, third), third);
	x = _mm256_and_si256(
		x, _mm256_cmpeq_epi32(_mm256_and_si256(next, low_mask), zero));
	x = _mm256_andnot_si256(_mm256_cmpeq_epi32(next, zero), x);
	return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}

static TARGET uint64_t triggers_64(const uint8_t *bytes, uint32_t low_mask)
{
	const __m256i mask = _mm256_set1_epi32((int)low_mask);
	uint64_t found = 0;
	int i;

	for (i = 0; i < STEP; i += 8)
		found |= (uint64_t)triggers(bytes + i, mask) << i;
	return found;
}

/* Which of 32 bytes may trigger: all of the low bits are ones. */
static TARGET inline uint32_t which_may(const uint8_t *bytes, __m256i ones)
{
	__m256i low = _mm256_and_si256(low_bits(bytes), ones);

	return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, ones));
}

/* Which of STEP bytes may trigger, more exactly where there are many. */
static TARGET inline uint64_t filter_step(const uint8_t *bytes,
					  uint32_t low_mask)
{
	const __m256i ones = _mm256_set1_epi8((char)(uint8_t)low_mask);
	uint64_t may = which_may(bytes, ones) |
		       (uint64_t)which_may(bytes + 32, ones) << 32;

	return _mm_popcnt_u64(may) > FEW ? triggers_64(bytes, low_mask) : may;
}

/* Seldom there is more than one, and where is not foreseen. */
static TARGET inline size_t add_candidates(uint64_t may, size_t at,
					   size_t count,
					   uint32_t *candidates_out)
{
	candidates_out[count] = (uint32_t)(at + _tzcnt_u64(may));
	count += may != 0;
	while ((may &= may - 1))
		candidates_out[count++] = (uint32_t)(at + _tzcnt_u64(may));
	return count;
}

static TARGET size_t filter(const uint8_t *bytes, size_t begin, size_t end,
			    unsigned level, uint32_t *candidates_out)
{
	uint32_t low_mask = (UINT32_C(1) << level) - 1;
	size_t i, last = end - STEP, count = 0;

	for (i = begin; i + STEP <= end; i += STEP)
		count = add_candidates(filter_step(bytes + i, low_mask), i,
				       count, candidates_out);
	/* The last bytes, once more with those before them. */
	if (i < end && end - begin >= STEP)
		return add_candidates(filter_step(bytes + last, low_mask) &
					      UINT64_MAX << (i - last),
				      last, count, candidates_out);
	for (; i < end; i++) {
		candidates_out[count] = (uint32_t)i;
		count += (ctph_next(bytes + i) & low_mask) == 0;
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

/* ---- pieces ---- */

typedef __m256i vector;

static TARGET INLINE vector xor3(vector a, vector b, vector c)
{
	return a ^ b ^ c;
}

static TARGET INLINE vector majority(vector a, vector b, vector c)
{
	return a ^ ((a ^ b) & (a ^ c));
}

static TARGET INLINE vector shift_left(vector x, int bits)
{
	return _mm256_slli_epi64(x, bits);
}

static TARGET INLINE vector shift_right(vector x, int bits)
{
	return _mm256_srli_epi64(x, bits);
}

static TARGET INLINE vector all(uint64_t word)
{
	return _mm256_set1_epi64x((long long)word);
}

static TARGET INLINE vector now(vector x)
{
	__asm__("" : "+x"(x));
	return x;
}

static TARGET INLINE vector unpack_low(vector a, vector b)
{
	return _mm256_unpacklo_epi8(a, b);
}

static TARGET INLINE vector unpack_high(vector a, vector b)
{
	return _mm256_unpackhi_epi8(a, b);
}

static TARGET INLINE vector load_16s(const uint8_t *bytes, size_t stride)
{
	return _mm256_loadu2_m128i((const __m128i *)(bytes + stride),
				   (const __m128i *)bytes);
}

/* The xor of the lanes before each one and that of all; lane k is all ones
 * where bit k of i is set. */
#define XOR(i, lanes) (-(uint64_t)__builtin_parity((i) & (lanes)))
#define XORS(i)                                                \
	{                                                      \
		0, XOR(i, 1), XOR(i, 3), XOR(i, 7), XOR(i, 15) \
	}
#define XORS_4(i) XORS(i), XORS((i) + 1), XORS((i) + 2), XORS((i) + 3)

static const uint64_t lane_xors[16][5] = { XORS_4(0), XORS_4(4), XORS_4(8),
					   XORS_4(12) };

/* First in each lane, then over the parities of the lanes. */
static TARGET INLINE vector before_lanes(vector x, vector *state)
{
	vector in_lane = x, before;
	const uint64_t *xors;
	int i;

#pragma GCC unroll 6
	for (i = 1; i < 64; i *= 2)
		in_lane ^= shift_left(in_lane, i);
	xors = lane_xors[_mm256_movemask_pd(_mm256_castsi256_pd(in_lane))];
	before = *state ^ _mm256_loadu_si256((const void *)xors);
	*state ^= all(xors[4]);
	return in_lane ^ x ^ before;
}

#include "core/kernel/ctph/ctph_pieces.h"

static TARGET void hash(struct kernel_piece *pieces, size_t count)
{
	hash_with_planes(pieces, count, ctph_hash_short);
}

const struct kernel_ctph ctph_avx2 = { find, find_last, hash };

#endif
