/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/rdc_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))

#define LANES 16
#define STEP 64    /* bytes looked up a turn */
#define PIECE 1024 /* bytes looked up before they are hashed */

/*
 * Before a rotation a hash is the xor of what each byte adds, so 16 of them
 * are a scan: lane i takes what it adds i rotations back, all lanes take what
 * the lanes before them have, and each is rotated i + 1 times in the end.
 *
 * H3 is looked up in registers: a byte of 64 values at a time, from a table of
 * 256 bytes in four quarters.
 */

static TARGET inline __m512i look_up_plane(const __m512i quarters[4],
					   __m512i bytes)
{
	return _mm512_mask_blend_epi8(
		_mm512_movepi8_mask(bytes),
		_mm512_permutex2var_epi8(quarters[0], bytes, quarters[1]),
		_mm512_permutex2var_epi8(quarters[2], bytes, quarters[3]));
}

/* From 64 values by bytes to 16 in each vector; bytes of the same quarter of a
 * vector stay there. */
static TARGET inline void unpack(const __m512i planes[4], __m512i values[4])
{
	__m512i low_0 = _mm512_unpacklo_epi8(planes[0], planes[1]);
	__m512i low_2 = _mm512_unpacklo_epi8(planes[2], planes[3]);
	__m512i high_0 = _mm512_unpackhi_epi8(planes[0], planes[1]);
	__m512i high_2 = _mm512_unpackhi_epi8(planes[2], planes[3]);

	values[0] = _mm512_unpacklo_epi16(low_0, low_2);
	values[1] = _mm512_unpackhi_epi16(low_0, low_2);
	values[2] = _mm512_unpacklo_epi16(high_0, high_2);
	values[3] = _mm512_unpackhi_epi16(high_0, high_2);
}

static TARGET inline __mmask64 first_bytes(size_t count)
{
	return count < STEP ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

/* Writes whole steps. */
static TARGET void look_up(const struct kernel_h3 *h3, const uint8_t *bytes,
			   size_t count, uint32_t *values_out)
{
	/* Puts the bytes where unpack() makes them come out in order. */
	const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6,
						10, 14, 3, 7, 11, 15);
	__m512i quarters[4][4], planes[4], values[4], x;
	size_t i, k;

	for (k = 0; k < 4; k++)
		for (i = 0; i < 4; i++)
			quarters[k][i] =
				_mm512_loadu_si512(h3->planes[k] + 64 * i);
	for (i = 0; i < count; i += STEP) {
		x = _mm512_maskz_loadu_epi8(first_bytes(count - i), bytes + i);
		x = _mm512_permutexvar_epi32(order, x);
#pragma GCC unroll 4
		for (k = 0; k < 4; k++)
			planes[k] = look_up_plane(quarters[k], x);
		unpack(planes, values);
#pragma GCC unroll 4
		for (k = 0; k < 4; k++)
			_mm512_storeu_si512(values_out + i + LANES * k,
					    values[k]);
	}
}

static TARGET inline __m512i scan(__m512i x)
{
	const __m512i zero = _mm512_setzero_si512();

	x = _mm512_xor_si512(x, _mm512_alignr_epi32(x, zero, LANES - 1));
	x = _mm512_xor_si512(x, _mm512_alignr_epi32(x, zero, LANES - 2));
	x = _mm512_xor_si512(x, _mm512_alignr_epi32(x, zero, LANES - 4));
	return _mm512_xor_si512(x, _mm512_alignr_epi32(x, zero, LANES - 8));
}

static TARGET inline uint32_t rotate(uint32_t x, uint32_t bits)
{
	return x << bits | x >> (-bits & 31);
}

/* What the bytes of a piece add is in[i] ^ out[i]. */
static TARGET uint32_t hash_values(const uint32_t *in, const uint32_t *out,
				   size_t count, uint32_t rotation,
				   uint32_t hash, uint32_t *hashes_out)
{
	const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
						  10, 11, 12, 13, 14, 15);
	const __m512i once = _mm512_set1_epi32((int)rotation);
	const __m512i back = _mm512_mullo_epi32(numbers, once);
	const __m512i forth = _mm512_add_epi32(back, once);
	const __m512i all = _mm512_slli_epi32(once, 4);
	const __m512i last = _mm512_set1_epi32(LANES - 1);
	__m512i x, before = _mm512_set1_epi32((int)hash);
	size_t i;

	/* Rotations count modulo 32. */
	for (i = 0; i + LANES <= count; i += LANES) {
		x = _mm512_xor_si512(_mm512_loadu_si512(in + i),
				     _mm512_loadu_si512(out + i));
		x = scan(_mm512_rorv_epi32(x, back));
		_mm512_storeu_si512(
			hashes_out + i,
			_mm512_rolv_epi32(_mm512_xor_si512(before, x), forth));
		x = _mm512_permutexvar_epi32(last, x);
		before = _mm512_rolv_epi32(_mm512_xor_si512(before, x), all);
	}
	hash = (uint32_t)_mm512_cvtsi512_si32(before);
	for (; i < count; i++) {
		hash = rotate(hash ^ out[i] ^ in[i], rotation);
		hashes_out[i] = hash;
	}
	return hash;
}

static TARGET void hash_block(const struct kernel_rolling *rolling,
			      const uint8_t *data, size_t count, uint32_t hash,
			      uint32_t *hashes_out)
{
	uint32_t values[KERNEL_MAX_WINDOW + PIECE + STEP];
	size_t part, window = rolling->window;

	for (; count > 0; count -= part) {
		part = count < PIECE ? count : PIECE;
		look_up(rolling->h3, data - window, window + part, values);
		hash = hash_values(values + window, values, part,
				   rolling->rotation, hash, hashes_out);
		data += part;
		hashes_out += part;
	}
}

static TARGET inline __mmask16 equal_lanes(const uint32_t *values, __m512i x)
{
	return _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(values), x);
}

/* Bit k is set when values[k] is value, up to count and to 64. */
static TARGET inline uint64_t equal_values(const uint32_t *values, size_t count,
					   __m512i value)
{
	uint64_t equal = 0;
	__mmask16 some;
	__m512i x;
	size_t i;

	if (count >= STEP)
		return equal_lanes(values, value) |
		       (uint64_t)equal_lanes(values + LANES, value) << 16 |
		       (uint64_t)equal_lanes(values + 2 * LANES, value) << 32 |
		       (uint64_t)equal_lanes(values + 3 * LANES, value) << 48;
	for (i = 0; i < count; i += LANES) {
		some = (__mmask16)first_bytes(count - i);
		x = _mm512_maskz_loadu_epi32(some, values + i);
		equal |= (uint64_t)_mm512_mask_cmpeq_epi32_mask(some, x, value)
			 << i;
	}
	return equal;
}

static TARGET uint32_t largest(const uint32_t *values, size_t count)
{
	__m512i most[4], x;
	size_t i, k;

	for (k = 0; k < 4; k++)
		most[k] = _mm512_setzero_si512();
	for (i = 0; i + STEP <= count; i += STEP) {
#pragma GCC unroll 4
		for (k = 0; k < 4; k++) {
			x = _mm512_loadu_si512(values + i + LANES * k);
			most[k] = _mm512_max_epu32(most[k], x);
		}
	}
	for (; i < count; i += LANES) {
		x = _mm512_maskz_loadu_epi32((__mmask16)first_bytes(count - i),
					     values + i);
		most[0] = _mm512_max_epu32(most[0], x);
	}
	most[0] = _mm512_max_epu32(most[0], most[1]);
	most[2] = _mm512_max_epu32(most[2], most[3]);
	return _mm512_reduce_max_epu32(_mm512_max_epu32(most[0], most[2]));
}

static TARGET struct kernel_peak block_maximum(const uint32_t *values,
					       size_t count)
{
	struct kernel_peak peak = { largest(values, count), 0, false };
	const __m512i value = _mm512_set1_epi32((int)peak.value);
	unsigned found = 0;
	uint64_t equal;
	size_t i;

	for (i = 0; i < count && found < 2; i += STEP) {
		equal = equal_values(values + i, count - i, value);
		if (!equal)
			continue;
		if (!found)
			peak.offset =
				(uint32_t)i + (uint32_t)__builtin_ctzll(equal);
		found += (unsigned)__builtin_popcountll(equal);
	}
	peak.unique = found == 1;
	return peak;
}

const struct kernel_rdc rdc_avx512 = { hash_block, block_maximum };

#endif
