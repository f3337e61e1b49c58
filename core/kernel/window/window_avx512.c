/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/window/window_impl.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#define TARGET                                                      \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl," \
			      "avx512vbmi,popcnt,bmi")))

typedef __m512i vector;

TARGET static inline vector same(uint64_t word)
{
	return _mm512_set1_epi64((long long)word);
}

TARGET static inline vector shift_right(vector x, int bits)
{
	return _mm512_srli_epi64(x, (unsigned)bits);
}

TARGET static inline vector multiply(vector x, uint64_t factor)
{
	return _mm512_mullo_epi64(x, same(factor));
}

TARGET static inline vector add_bytes(vector a, vector b)
{
	return _mm512_add_epi8(a, b);
}

TARGET static inline vector xor3(vector a, vector b, vector c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

TARGET static inline vector majority(vector a, vector b, vector c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0xe8);
}

#include "core/kernel/window/window_vector.h"

#define SPARSE 512 /* windows that are looked at together */

/* The 8 windows from byte first on. */
TARGET static inline vector spread(vector bytes, int first)
{
	const vector order = _mm512_set_epi64(
		0x0e0d0c0b0a090807, 0x0d0c0b0a09080706, 0x0c0b0a0908070605,
		0x0b0a090807060504, 0x0a09080706050403, 0x0908070605040302,
		0x0807060504030201, 0x0706050403020100);

	return _mm512_permutexvar_epi8(
		_mm512_add_epi8(order, _mm512_set1_epi8((char)first)), bytes);
}

/* y of windows.  Of its three rotations two are choices of bytes, which are not
 * in the way of multiplications. */
TARGET static inline vector y_of(vector windows)
{
	const uint8_t zeros[WINDOW_LENGTH] = { 0 };
	const vector y_of_zeros = same(window_y(zeros, WINDOW_SEED_1));
	const vector order = _mm512_set4_epi32(0x080f0e0d, 0x0c0b0a09,
					       0x00070605, 0x04030201);
	vector by_56 = _mm512_shuffle_epi8(windows, order);

	return xor3(_mm512_shuffle_epi32(windows, 0xb1),
		    _mm512_rol_epi64(windows, 17), by_56 ^ y_of_zeros);
}

/* The keys of 8 windows but for the last xor. */
TARGET static inline vector nearly_keys_of(vector bytes, int first)
{
	return nearly_finish(y_of(spread(bytes, first)));
}

/* Compressed in a register: straight to memory is slow on some. */
TARGET static inline size_t store_some(uint64_t *out, __mmask8 which,
				       vector keys)
{
	_mm512_storeu_si512(out, _mm512_maskz_compress_epi64(which, keys));
	return (size_t)_mm_popcnt_u32(which);
}

TARGET static inline size_t pick_eight(uint64_t *out, vector nearly_keys,
				       vector bounds)
{
	vector keys = finish_nearly(nearly_keys);

	return store_some(out, _mm512_cmple_epu64_mask(keys, bounds), keys);
}

/* The last windows, at most 8 of them. */
TARGET static size_t pick_last(const uint8_t *bytes, size_t count,
			       vector bounds, uint64_t *keys_out)
{
	const __mmask64 which_bytes = (UINT64_C(1) << (count + 7)) - 1;
	uint64_t keys[8];
	vector all =
		nearly_keys_of(_mm512_maskz_loadu_epi8(which_bytes, bytes), 0);
	__mmask8 which;
	size_t n;

	all = finish_nearly(all);
	which = _mm512_mask_cmple_epu64_mask((__mmask8)((1U << count) - 1), all,
					     bounds);
	n = store_some(keys, which, all);
	memcpy(keys_out, keys, n * sizeof(keys[0]));
	return n;
}

/* Inline, for first to be a constant. */
TARGET __attribute__((always_inline)) static inline size_t pick_32(
	uint64_t *out, vector bytes, int first, vector bounds)
{
	size_t n;

	n = pick_eight(out, nearly_keys_of(bytes, first), bounds);
	n += pick_eight(out + n, nearly_keys_of(bytes, first + 8), bounds);
	n += pick_eight(out + n, nearly_keys_of(bytes, first + 16), bounds);
	return n +
	       pick_eight(out + n, nearly_keys_of(bytes, first + 24), bounds);
}

TARGET static inline size_t pick_64(uint64_t *out, const uint8_t *bytes,
				    vector bounds)
{
	/* 71 bytes: windows 0..31 in the first, the others in the last. */
	vector first = _mm512_loadu_si512(bytes);
	vector last = _mm512_loadu_si512(bytes + 7);
	size_t n = pick_32(out, first, 0, bounds);

	return n + pick_32(out + n, last, 25, bounds);
}

/* The keys but for the last xor of 8 windows, each 8 bytes after the one
 * before. */
TARGET static inline vector nearly_keys_apart(const uint8_t *bytes)
{
	return nearly_finish(y_of(_mm512_loadu_si512(bytes)));
}

/* Of 64 windows, which eights may have a key up to most. */
TARGET static inline __mmask8 find_eights(const uint8_t *bytes, vector most)
{
	vector least = nearly_keys_apart(bytes);
	int i;

#pragma GCC unroll 8
	for (i = 1; i < 8; i++)
		least = _mm512_min_epu64(least, nearly_keys_apart(bytes + i));
	return _mm512_cmple_epu64_mask(least, most);
}

/* Up to SPARSE windows, a multiple of 64, of which few are wanted.  The last
 * xor of the hash leaves the top bits alone, and they tell. */
TARGET static inline size_t pick_sparse(const uint8_t *bytes, size_t count,
					uint64_t bound, uint64_t *keys_out)
{
	const vector bounds = same(bound);
	const vector most = same(bound | UINT64_MAX >> WINDOW_TOP_BITS);
	uint64_t eights = 0;
	size_t i, picked = 0;
	__m128i some;

	for (i = 0; i < count; i += 64)
		eights |= (uint64_t)find_eights(bytes + i, most) << i / 8;
	for (; eights; eights &= eights - 1) {
		i = 8 * (size_t)__builtin_ctzll(eights);
		some = _mm_maskz_loadu_epi8(0x7fff, bytes + i);
		picked += pick_eight(
			keys_out + picked,
			nearly_keys_of(_mm512_castsi128_si512(some), 0),
			bounds);
	}
	return picked;
}

TARGET static size_t pick(const uint8_t *bytes, size_t count, uint64_t bound,
			  uint64_t *keys_out)
{
	const vector bounds = same(bound);
	size_t i, part, picked = 0;

	for (i = 0; i + 64 <= count; i += part) {
		part = 64;
		if (bound >= WINDOW_DENSE) {
			picked += pick_64(keys_out + picked, bytes + i, bounds);
			continue;
		}
		part = count - i < SPARSE ? (count - i) / 64 * 64 : SPARSE;
		picked +=
			pick_sparse(bytes + i, part, bound, keys_out + picked);
	}
	for (; i < count; i += part) {
		part = count - i < 8 ? count - i : 8;
		picked += pick_last(bytes + i, part, bounds, keys_out + picked);
	}
	return picked;
}

/* The four 16-bit sums over all lanes. */
TARGET static inline uint64_t sum_lanes(vector x)
{
	__m256i half = _mm256_add_epi16(_mm512_castsi512_si256(x),
					_mm512_extracti64x4_epi64(x, 1));
	__m128i quarter = _mm_add_epi16(_mm256_castsi256_si128(half),
					_mm256_extracti128_si256(half, 1));

	quarter = _mm_add_epi16(quarter, _mm_unpackhi_epi64(quarter, quarter));
	return (uint64_t)_mm_cvtsi128_si64(quarter);
}

/* To the sums for that bit of each byte. */
TARGET static inline void add_bit(const struct window_sums *s, unsigned bit,
				  uint32_t sums[64])
{
	const vector ones = _mm512_set1_epi8(1);
	const vector even = _mm512_set1_epi16(0xff);
	vector few = _mm512_setzero_si512(), eights = s->bytes[bit], some;
	uint64_t evens, odds;
	int i;

	for (i = 2; i >= 0; i--) {
		some = shift_right(s->low[i], (int)bit) & ones;
		few = _mm512_add_epi8(_mm512_add_epi8(few, few), some);
	}
	some = _mm512_slli_epi16(_mm512_and_si512(eights, even), 3);
	evens = sum_lanes(_mm512_add_epi16(some, _mm512_and_si512(few, even)));
	some = _mm512_slli_epi16(_mm512_srli_epi16(eights, 8), 3);
	odds = sum_lanes(_mm512_add_epi16(some, _mm512_srli_epi16(few, 8)));
	for (i = 0; i < 4; i++) {
		sums[16 * i + (int)bit] += (uint16_t)(evens >> 16 * i);
		sums[16 * i + 8 + (int)bit] += (uint16_t)(odds >> 16 * i);
	}
}

TARGET static void add_lanes(const struct window_sums *s, uint32_t sums[64])
{
	unsigned bit;

	for (bit = 0; bit < 8; bit++)
		add_bit(s, bit, sums);
}

/* The values of up to 8 keys, then zeros. */
TARGET static inline vector load_values(const uint64_t *keys, size_t count)
{
	__mmask8 some = (__mmask8)(count < 8 ? (1U << count) - 1 : 0xff);

	return _mm512_maskz_mov_epi64(
		some, values_of(_mm512_maskz_loadu_epi64(some, keys)));
}

/* At most 254 times 64 keys, so that no byte of the sums overflows. */
TARGET static void sum_part(const uint64_t *keys, size_t count,
			    uint32_t sums[64])
{
	struct window_sums s = { 0 };
	vector v[8];
	size_t i, k, at;

	for (i = 0; i < count; i += 64) {
		for (k = 0; k < 8; k++) {
			at = i + 8 * k < count ? i + 8 * k : count;
			v[k] = load_values(keys + at, count - at);
		}
		add_vectors(&s, v);
	}
	add_lanes(&s, sums);
}

TARGET static void sum(const uint64_t *keys, size_t count, uint32_t sums[64])
{
	const size_t most = 254 * 64;
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count - i < most ? count - i : most;
		sum_part(keys + i, part, sums);
	}
}

const struct kernel_window window_avx512 = { pick, sum };

#endif
