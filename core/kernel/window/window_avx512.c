/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/window/window_impl.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#define TARGET                                                      \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl," \
			      "avx512vbmi,popcnt,bmi")))

/* From this limit on, it takes less to look at every key than at those of the
 * eights that have a wanted one. */
#define DENSE (UINT64_MAX / 16)
#define SPARSE 512 /* windows that are looked at together below it */

/* y of a window of zeros, under a seed. */
#define Y_OF_ZEROS(seed)                                      \
	((long long)((seed) ^ ((seed) << 49 | (seed) >> 15) ^ \
		     ((seed) << 24 | (seed) >> 40)))

/* The 8 windows from byte first on. */
TARGET static inline __m512i spread(__m512i bytes, int first)
{
	const __m512i order = _mm512_set_epi64(
		0x0e0d0c0b0a090807, 0x0d0c0b0a09080706, 0x0c0b0a0908070605,
		0x0b0a090807060504, 0x0a09080706050403, 0x0908070605040302,
		0x0807060504030201, 0x0706050403020100);

	return _mm512_permutexvar_epi8(
		_mm512_add_epi8(order, _mm512_set1_epi8((char)first)), bytes);
}

/* y of windows.  Of its three rotations two are choices of bytes, which are not
 * in the way of multiplications. */
TARGET static inline __m512i y_of(__m512i windows, long long y_of_zeros)
{
	const __m512i order = _mm512_set4_epi32(0x080f0e0d, 0x0c0b0a09,
						0x00070605, 0x04030201);
	__m512i by_56 = _mm512_shuffle_epi8(windows, order);

	return _mm512_ternarylogic_epi64(
		_mm512_shuffle_epi32(windows, 0xb1),
		_mm512_rol_epi64(windows, 17),
		_mm512_xor_si512(by_56, _mm512_set1_epi64(y_of_zeros)), 0x96);
}

/* The last step of the hash but for its last xor, that xor, and the inverse of
 * both: see window_impl.h. */
TARGET static inline __m512i nearly_finish(__m512i y)
{
	const __m512i prime = _mm512_set1_epi64((long long)WINDOW_PRIME);
	const __m512i eight = _mm512_set1_epi64(8);
	__m512i t;

	y = _mm512_mullo_epi64(y, prime);
	t = _mm512_add_epi64(_mm512_srli_epi64(y, 35), eight);
	return _mm512_mullo_epi64(_mm512_xor_si512(y, t), prime);
}

TARGET static inline __m512i finish_nearly(__m512i y)
{
	return _mm512_xor_si512(y, _mm512_srli_epi64(y, 28));
}

TARGET static inline __m512i undo_finish(__m512i key)
{
	const __m512i inverse = _mm512_set1_epi64((long long)WINDOW_INVERSE);
	const __m512i eight = _mm512_set1_epi64(8);
	__m512i t, y;

	y = _mm512_ternarylogic_epi64(key, _mm512_srli_epi64(key, 28),
				      _mm512_srli_epi64(key, 56), 0x96);
	y = _mm512_mullo_epi64(y, inverse);
	t = _mm512_add_epi64(_mm512_srli_epi64(y, 35), eight);
	return _mm512_mullo_epi64(_mm512_xor_si512(y, t), inverse);
}

/* The keys of 8 windows but for the last xor. */
TARGET static inline __m512i nearly_keys_of(__m512i bytes, int first)
{
	return nearly_finish(
		y_of(spread(bytes, first), Y_OF_ZEROS(WINDOW_SEED_1)));
}

/* Compressed in a register: straight to memory is slow on some. */
TARGET static inline size_t store_some(uint64_t *out, __mmask8 which,
				       __m512i keys)
{
	_mm512_storeu_si512(out, _mm512_maskz_compress_epi64(which, keys));
	return (size_t)_mm_popcnt_u32(which);
}

struct range_512 {
	__m512i low, span;
};

TARGET static inline size_t pick_eight(uint64_t *out, __m512i nearly_keys,
				       struct range_512 r)
{
	__m512i keys = finish_nearly(nearly_keys);
	__m512i above_low = _mm512_sub_epi64(keys, r.low);

	return store_some(out, _mm512_cmple_epu64_mask(above_low, r.span),
			  keys);
}

/* The last windows, at most 8 of them. */
TARGET static size_t pick_last(const uint8_t *bytes, size_t count,
			       struct range_512 r, uint64_t *keys_out)
{
	const __mmask64 which_bytes = (UINT64_C(1) << (count + 7)) - 1;
	uint64_t keys[8];
	__m512i all =
		nearly_keys_of(_mm512_maskz_loadu_epi8(which_bytes, bytes), 0);
	__mmask8 which;
	size_t n;

	all = finish_nearly(all);
	which = _mm512_mask_cmple_epu64_mask((__mmask8)((1U << count) - 1),
					     _mm512_sub_epi64(all, r.low),
					     r.span);
	n = store_some(keys, which, all);
	memcpy(keys_out, keys, n * sizeof(keys[0]));
	return n;
}

/* Inline, for first to be a constant. */
TARGET __attribute__((always_inline)) static inline size_t pick_32(
	uint64_t *out, __m512i bytes, int first, struct range_512 r)
{
	size_t n;

	n = pick_eight(out, nearly_keys_of(bytes, first), r);
	n += pick_eight(out + n, nearly_keys_of(bytes, first + 8), r);
	n += pick_eight(out + n, nearly_keys_of(bytes, first + 16), r);
	return n + pick_eight(out + n, nearly_keys_of(bytes, first + 24), r);
}

TARGET static inline size_t pick_64(uint64_t *out, const uint8_t *bytes,
				    struct range_512 r)
{
	/* 71 bytes: windows 0..31 in the first, the others in the last. */
	__m512i first = _mm512_loadu_si512(bytes);
	__m512i last = _mm512_loadu_si512(bytes + 7);
	size_t n = pick_32(out, first, 0, r);

	return n + pick_32(out + n, last, 25, r);
}

/* The keys but for the last xor of 8 windows, each 8 bytes after the one
 * before. */
TARGET static inline __m512i nearly_keys_apart(const uint8_t *bytes)
{
	return nearly_finish(
		y_of(_mm512_loadu_si512(bytes), Y_OF_ZEROS(WINDOW_SEED_1)));
}

/* Of 64 windows, which eights may have a key up to most. */
TARGET static inline __mmask8 find_eights(const uint8_t *bytes, __m512i most)
{
	__m512i least = nearly_keys_apart(bytes);
	int i;

#pragma GCC unroll 8
	for (i = 1; i < 8; i++)
		least = _mm512_min_epu64(least, nearly_keys_apart(bytes + i));
	return _mm512_cmple_epu64_mask(least, most);
}

/* Up to SPARSE windows, a multiple of 64, of which few are wanted.  The last
 * xor of the hash leaves the top bits alone, and they tell. */
TARGET static inline size_t pick_sparse(const uint8_t *bytes, size_t count,
					uint64_t high, struct range_512 r,
					uint64_t *keys_out)
{
	const __m512i most = _mm512_set1_epi64(
		(long long)(high | UINT64_MAX >> WINDOW_TOP_BITS));
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
			nearly_keys_of(_mm512_castsi128_si512(some), 0), r);
	}
	return picked;
}

TARGET static size_t pick(const uint8_t *bytes, size_t count, uint64_t low,
			  uint64_t high, uint64_t *keys_out)
{
	const struct range_512 r = { _mm512_set1_epi64((long long)low),
				     _mm512_set1_epi64(
					     (long long)(high - low)) };
	size_t i, part, picked = 0;

	for (i = 0; i + 64 <= count; i += part) {
		part = 64;
		if (high >= DENSE) {
			picked += pick_64(keys_out + picked, bytes + i, r);
			continue;
		}
		part = count - i < SPARSE ? (count - i) / 64 * 64 : SPARSE;
		picked += pick_sparse(bytes + i, part, high, r,
				      keys_out + picked);
	}
	for (; i < count; i += part) {
		part = count - i < 8 ? count - i : 8;
		picked += pick_last(bytes + i, part, r, keys_out + picked);
	}
	return picked;
}

TARGET static void insert(struct window_set *set, const uint64_t *keys,
			  size_t count)
{
	size_t i, at, ahead, mask = set->slot_count - 1;
	uint64_t *const slots = set->slots;
	size_t added = 0;
	unsigned same, free, which;
	__m512i key, bucket;

	for (i = 0; i < count; i++) {
		ahead = i + WINDOW_AHEAD < count ? i + WINDOW_AHEAD : i;
		_mm_prefetch(&slots[window_home(set, keys[ahead])],
			     _MM_HINT_T0);
		key = _mm512_set1_epi64((long long)keys[i]);
		at = window_home(set, keys[i]);
		do {
			bucket = _mm512_loadu_si512(slots + at);
			same = _mm512_cmpeq_epi64_mask(bucket, key);
			free = _mm512_testn_epi64_mask(bucket, bucket);
			at = (at + WINDOW_BUCKET) & mask;
		} while (__builtin_expect((same | free) == 0, 0));
		/* Without a branch, which could not be foreseen, and without
		 * touching the bucket when there is no need to. */
		which = free & -free & ((unsigned)(same != 0) - 1);
		_mm512_mask_storeu_epi64(slots + ((at - WINDOW_BUCKET) & mask),
					 (__mmask8)which, key);
		added += same == 0;
	}
	set->count += added;
}

TARGET static size_t sift(struct window_set *set, uint64_t limit,
			  uint64_t *strays_out)
{
	const __m512i most = _mm512_set1_epi64((long long)limit);
	const __m512i secret = _mm512_set1_epi64((long long)set->secret);
	const __m512i masks =
		_mm512_set1_epi64((long long)(set->slot_count - WINDOW_BUCKET));
	__m512i keys, homes;
	size_t at, count = 0, strays = 0;
	__mmask8 which, home;

	for (at = 0; at < set->slot_count; at += WINDOW_BUCKET) {
		keys = _mm512_loadu_si512(set->slots + at);
		which = _mm512_test_epi64_mask(keys, keys);
		which = _mm512_mask_cmple_epu64_mask(which, keys, most);
		homes = _mm512_and_si512(
			_mm512_srli_epi64(_mm512_mullo_epi64(keys, secret),
					  WINDOW_HOME_SHIFT - 3),
			masks);
		home = _mm512_cmpeq_epi64_mask(
			homes, _mm512_set1_epi64((long long)at));
		count += store_some(set->slots + at, which & home, keys);
		strays += store_some(strays_out + strays,
				     which & (__mmask8)~home, keys);
	}
	set->count = count;
	return strays;
}

TARGET static size_t between(const uint64_t *slots, size_t count, uint64_t low,
			     uint64_t high, uint64_t *keys_out)
{
	const __m512i lows = _mm512_set1_epi64((long long)low);
	const __m512i span = _mm512_set1_epi64((long long)(high - low));
	size_t i, kept = 0;
	__m512i keys;

	for (i = 0; i + 8 <= count; i += 8) {
		keys = _mm512_loadu_si512(slots + i);
		kept += store_some(keys_out + kept,
				   _mm512_cmple_epu64_mask(
					   _mm512_sub_epi64(keys, lows), span),
				   keys);
	}
	return kept + window_scalar.between(slots + i, count - i, low, high,
					    keys_out + kept);
}

TARGET static void evaluate(uint64_t *keys, size_t count)
{
	const __m512i change = _mm512_set1_epi64((long long)WINDOW_DIFFERENCE);
	__m512i y;
	size_t i;

	for (i = 0; i + 8 <= count; i += 8) {
		y = undo_finish(_mm512_loadu_si512(keys + i));
		y = nearly_finish(_mm512_xor_si512(y, change));
		_mm512_storeu_si512(keys + i, finish_nearly(y));
	}
	for (; i < count; i++)
		keys[i] = window_value(keys[i]);
}

/* Adds three words bit by bit: the low bits of the sums in *a. */
TARGET static inline __m512i add_bits(__m512i *a, __m512i b, __m512i c)
{
	__m512i carry = _mm512_ternarylogic_epi64(*a, b, c, 0xe8);

	*a = _mm512_ternarylogic_epi64(*a, b, c, 0x96);
	return carry;
}

/* As in the scalar file, in eight lanes. */
struct sums_512 {
	__m512i low[3];
	__m512i bytes[8];
};

TARGET static inline void add_vectors(struct sums_512 *s, const __m512i v[8])
{
	const __m512i ones = _mm512_set1_epi8(1);
	__m512i twos[4], fours[2], eights;
	int i;

	for (i = 0; i < 4; i++)
		twos[i] = add_bits(&s->low[0], v[2 * i], v[2 * i + 1]);
	for (i = 0; i < 2; i++)
		fours[i] = add_bits(&s->low[1], twos[2 * i], twos[2 * i + 1]);
	eights = add_bits(&s->low[2], fours[0], fours[1]);
	for (i = 0; i < 8; i++)
		s->bytes[i] = _mm512_add_epi8(
			s->bytes[i],
			_mm512_and_si512(_mm512_srli_epi64(eights, (unsigned)i),
					 ones));
}

/* The four 16-bit sums over all lanes. */
TARGET static inline uint64_t sum_lanes(__m512i x)
{
	__m256i half = _mm256_add_epi16(_mm512_castsi512_si256(x),
					_mm512_extracti64x4_epi64(x, 1));
	__m128i quarter = _mm_add_epi16(_mm256_castsi256_si128(half),
					_mm256_extracti128_si256(half, 1));

	quarter = _mm_add_epi16(quarter, _mm_unpackhi_epi64(quarter, quarter));
	return (uint64_t)_mm_cvtsi128_si64(quarter);
}

TARGET static inline void add_bytes(const struct sums_512 *s, unsigned bit,
				    uint32_t sums[64])
{
	const __m512i ones = _mm512_set1_epi8(1);
	const __m512i even = _mm512_set1_epi16(0xff);
	__m512i few = _mm512_setzero_si512(), eights = s->bytes[bit], some;
	uint64_t evens, odds;
	int i;

	for (i = 2; i >= 0; i--) {
		some = _mm512_and_si512(_mm512_srli_epi64(s->low[i], bit),
					ones);
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

TARGET static void add_lanes(const struct sums_512 *s, uint32_t sums[64])
{
	unsigned bit;

	for (bit = 0; bit < 8; bit++)
		add_bytes(s, bit, sums);
}

TARGET static inline void add_values(struct sums_512 *s, const uint64_t *values)
{
	__m512i v[8];
	int i;

	for (i = 0; i < 8; i++)
		v[i] = _mm512_loadu_si512(values + 8 * i);
	add_vectors(s, v);
}

/* At most 254 times 64 values, so that no byte of the sums overflows. */
TARGET static void sum_part(const uint64_t *values, size_t count,
			    uint32_t sums[64])
{
	struct sums_512 s = { 0 };
	uint64_t last[64] = { 0 };
	size_t i;

	for (i = 0; i + 64 <= count; i += 64)
		add_values(&s, values + i);
	memcpy(last, values + i, (count - i) * sizeof(last[0]));
	add_values(&s, last);
	add_lanes(&s, sums);
}

TARGET static void sum(const uint64_t *values, size_t count, uint32_t sums[64])
{
	const size_t most = 254 * 64;
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count - i < most ? count - i : most;
		sum_part(values + i, part, sums);
	}
}

/* The places and values of 8 windows, from number at of the part. */
TARGET static inline void look_up(__m512i bytes, int first, __m128i shift,
				  struct window_part *part, size_t at)
{
	const __m512i prime = _mm512_set1_epi64((long long)WINDOW_PRIME);
	const __m512i eight = _mm512_set1_epi64(8);
	__m512i y, t;

	y = y_of(spread(bytes, first), Y_OF_ZEROS(WINDOW_SEED_0));
	y = _mm512_mullo_epi64(y, prime);
	_mm256_storeu_si256((void *)(part->places + at),
			    _mm512_cvtepi64_epi32(_mm512_srl_epi64(y, shift)));
	t = _mm512_add_epi64(_mm512_srli_epi64(y, 35), eight);
	y = _mm512_mullo_epi64(_mm512_xor_si512(y, t), prime);
	_mm512_storeu_si512(part->values + at, finish_nearly(y));
}

/* Of up to WINDOW_PART windows; what is behind them is garbage. */
TARGET static void look_up_all(const struct window_tally *t,
			       const uint8_t *bytes, size_t count,
			       struct window_part *part)
{
	const __m128i shift = _mm_cvtsi32_si128(64 - (int)t->place_bits);
	__mmask64 which = ~UINT64_C(0), next = ~UINT64_C(0);
	__m512i a, b;
	size_t i;

	for (i = 0; i < count; i += 64) {
		/* As in pick(). */
		if (count - i < 64) {
			next = (UINT64_C(1) << (count - i)) - 1;
			which = next << 7 | 0x7f;
		}
		a = _mm512_maskz_loadu_epi8(which, bytes + i);
		b = _mm512_maskz_loadu_epi8(next, bytes + i + 7);
		look_up(a, 0, shift, part, i);
		look_up(a, 8, shift, part, i + 8);
		look_up(a, 16, shift, part, i + 16);
		look_up(a, 24, shift, part, i + 24);
		look_up(b, 25, shift, part, i + 32);
		look_up(b, 33, shift, part, i + 40);
		look_up(b, 41, shift, part, i + 48);
		look_up(b, 49, shift, part, i + 56);
	}
}

/* Adds the values of those of 64 windows that own their place; returns a bit
 * for each of them. */
TARGET static inline uint64_t add_owners(struct sums_512 *s,
					 const uint64_t *values,
					 const uint16_t *owners)
{
	__m512i o[2], v[8];
	uint64_t own;
	int i;

	for (i = 0; i < 2; i++)
		o[i] = _mm512_loadu_si512(owners + 32 * i);
	own = _mm512_testn_epi16_mask(o[0], o[0]);
	own |= (uint64_t)_mm512_testn_epi16_mask(o[1], o[1]) << 32;
	for (i = 0; i < 8; i++)
		v[i] = _mm512_maskz_loadu_epi64((__mmask8)(own >> 8 * i),
						values + 8 * i);
	add_vectors(s, v);
	return own;
}

/* At most 254 times 64 windows, as above. */
TARGET static void tally_part(const uint8_t *bytes, size_t first, size_t count,
			      struct window_tally *t)
{
	struct window_part part;
	struct sums_512 s = { 0 };
	size_t at, k, n, end = first + count;
	uint64_t own, all;

	for (at = first; at < end; at += WINDOW_PART) {
		n = window_distinct(bytes + at, end - at);
		look_up_all(t, bytes + at, n, &part);
		window_claim(t, &part, at, n);
		memset(part.owners + n, 0xff, -n % 64 * sizeof(uint16_t));
		for (k = 0; k < n; k += 64) {
			own = add_owners(&s, part.values + k, part.owners + k);
			t->count += (size_t)_mm_popcnt_u64(own);
			all = n - k < 64 ? (UINT64_C(1) << (n - k)) - 1 :
					   ~UINT64_C(0);
			window_meet(t, bytes, at, &part, k, all & ~own);
		}
	}
	add_lanes(&s, t->sums);
}

TARGET static void tally(const uint8_t *bytes, size_t count,
			 struct window_tally *t)
{
	const size_t most = 254 * 64 / WINDOW_PART * WINDOW_PART;
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count - i < most ? count - i : most;
		tally_part(bytes, i, part, t);
	}
}

const struct kernel_window window_avx512 = { pick,     insert, sift, between,
					     evaluate, sum,    tally };

#endif
