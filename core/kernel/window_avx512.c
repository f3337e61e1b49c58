/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/window_impl.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#define TARGET                                                      \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl," \
			      "avx512vbmi,popcnt,bmi")))

/* The 8 windows from byte first on, with their halves swapped. */
TARGET static inline __m512i spread(__m512i bytes, int first)
{
	const __m512i order = _mm512_set_epi64(
		0x0a0908070e0d0c0b, 0x090807060d0c0b0a, 0x080706050c0b0a09,
		0x070605040b0a0908, 0x060504030a090807, 0x0504030209080706,
		0x0403020108070605, 0x0302010007060504);

	return _mm512_permutexvar_epi8(
		_mm512_add_epi8(order, _mm512_set1_epi8((char)first)), bytes);
}

/* The last step of the hash but for its last xor, and all of it; then the
 * inverse: see window_impl.h. */
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

TARGET static inline __m512i finish(__m512i y)
{
	return finish_nearly(nearly_finish(y));
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
	const __m512i seed = _mm512_set1_epi64((long long)WINDOW_SEED_1);
	__m512i x = _mm512_xor_si512(spread(bytes, first), seed);

	return nearly_finish(_mm512_ternarylogic_epi64(
		x, _mm512_rol_epi64(x, 49), _mm512_rol_epi64(x, 24), 0x96));
}

TARGET static inline __m512i values_of(const uint64_t *keys)
{
	const __m512i change = _mm512_set1_epi64((long long)WINDOW_DIFFERENCE);
	__m512i y = undo_finish(_mm512_loadu_si512(keys));

	return finish(_mm512_xor_si512(y, change));
}

/* Compressed in a register: straight to memory is slow on some. */
TARGET static inline size_t store_some(uint64_t *out, __mmask8 which,
				       __m512i keys)
{
	_mm512_storeu_si512(out, _mm512_maskz_compress_epi64(which, keys));
	return (size_t)_mm_popcnt_u32(which);
}

/* The least of 32 windows' keys but for the last xor. */
TARGET static inline __m512i least_of(__m512i bytes, int first)
{
	__m512i a = _mm512_min_epu64(nearly_keys_of(bytes, first),
				     nearly_keys_of(bytes, first + 8));
	__m512i b = _mm512_min_epu64(nearly_keys_of(bytes, first + 16),
				     nearly_keys_of(bytes, first + 24));

	return _mm512_min_epu64(a, b);
}

struct range {
	__m512i low, span;
};

TARGET static inline size_t pick_eight(uint64_t *out, __m512i nearly_keys,
				       struct range r)
{
	__m512i keys = finish_nearly(nearly_keys);
	__m512i above_low = _mm512_sub_epi64(keys, r.low);

	return store_some(out, _mm512_cmple_epu64_mask(above_low, r.span),
			  keys);
}

/* The last windows, at most 8 of them. */
TARGET static size_t pick_last(const uint8_t *bytes, size_t count,
			       struct range r, uint64_t *keys_out)
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
	uint64_t *out, __m512i bytes, int first, struct range r)
{
	size_t n;

	n = pick_eight(out, nearly_keys_of(bytes, first), r);
	n += pick_eight(out + n, nearly_keys_of(bytes, first + 8), r);
	n += pick_eight(out + n, nearly_keys_of(bytes, first + 16), r);
	return n + pick_eight(out + n, nearly_keys_of(bytes, first + 24), r);
}

/* Most often none of 64 windows is wanted.  The last xor of the hash leaves
 * the top bits alone, and they tell. */
TARGET static size_t pick(const uint8_t *bytes, size_t count, uint64_t low,
			  uint64_t high, uint64_t *keys_out)
{
	const struct range r = { _mm512_set1_epi64((long long)low),
				 _mm512_set1_epi64((long long)(high - low)) };
	const __m512i most = _mm512_set1_epi64(
		(long long)(high | UINT64_MAX >> WINDOW_TOP_BITS));
	size_t i, part, picked = 0;
	__m512i a, b, least;

	for (i = 0; i + 64 <= count; i += 64) {
		/* 71 bytes: windows 0..31 in a, the others in b. */
		a = _mm512_loadu_si512(bytes + i);
		b = _mm512_loadu_si512(bytes + i + 7);
		if (high < WINDOW_DENSE) {
			least = _mm512_min_epu64(least_of(a, 0),
						 least_of(b, 25));
			if (_mm512_cmple_epu64_mask(least, most) == 0)
				continue;
		}
		picked += pick_32(keys_out + picked, a, 0, r);
		picked += pick_32(keys_out + picked, b, 25, r);
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
		_mm_prefetch(&slots[window_home(mask, keys[ahead])],
			     _MM_HINT_T0);
		key = _mm512_set1_epi64((long long)keys[i]);
		at = window_home(mask, keys[i]);
		do {
			bucket = _mm512_loadu_si512(slots + at);
			same = _mm512_cmpeq_epi64_mask(bucket, key);
			free = _mm512_testn_epi64_mask(bucket, bucket);
			at = (at + WINDOW_BUCKET) & mask;
		} while (__builtin_expect((same | free) == 0, 0));
		/* Without a branch, which could not be foreseen, and without
		 * touching the bucket when there is no need to. */
		which = free & -free & ((unsigned)(same != 0) - 1);
		_mm512_mask_storeu_epi64(
			slots + ((at - WINDOW_BUCKET) & mask),
			(__mmask8)which, key);
		added += same == 0;
	}
	set->count += added;
}

TARGET static size_t sift(struct window_set *set, uint64_t limit,
			  uint64_t *strays_out)
{
	const __m512i most = _mm512_set1_epi64((long long)limit);
	const __m512i masks = _mm512_set1_epi64((long long)set->slot_count - 1);
	__m512i keys, homes;
	size_t at, count = 0, strays = 0;
	__mmask8 which, home;

	for (at = 0; at < set->slot_count; at += WINDOW_BUCKET) {
		keys = _mm512_loadu_si512(set->slots + at);
		which = _mm512_test_epi64_mask(keys, keys);
		which = _mm512_mask_cmple_epu64_mask(which, keys, most);
		homes = _mm512_and_si512(_mm512_slli_epi64(keys, 3), masks);
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

/* Adds three words bit by bit: the low bits of the sums in *a. */
TARGET static inline __m512i add_bits(__m512i *a, __m512i b, __m512i c)
{
	__m512i carry = _mm512_ternarylogic_epi64(*a, b, c, 0xe8);

	*a = _mm512_ternarylogic_epi64(*a, b, c, 0x96);
	return carry;
}

/* As in the scalar file, in eight lanes. */
struct sums {
	__m512i low[3];
	__m512i bytes[8];
};

TARGET static inline void add_vectors(struct sums *s, const uint64_t *keys)
{
	const __m512i ones = _mm512_set1_epi8(1);
	__m512i twos[4], fours[2], eights;
	int i;

	for (i = 0; i < 4; i++)
		twos[i] = add_bits(&s->low[0], values_of(keys + 16 * i),
				   values_of(keys + 16 * i + 8));
	for (i = 0; i < 2; i++)
		fours[i] = add_bits(&s->low[1], twos[2 * i], twos[2 * i + 1]);
	eights = add_bits(&s->low[2], fours[0], fours[1]);
	for (i = 0; i < 8; i++)
		s->bytes[i] = _mm512_add_epi8(
			s->bytes[i],
			_mm512_and_si512(_mm512_srli_epi64(eights, (unsigned)i),
					 ones));
}

TARGET static void add_lanes(const struct sums *s, uint32_t sums[64])
{
	uint64_t lanes[11][8], low[3], bytes[8];
	unsigned lane, i;

	for (i = 0; i < 3; i++)
		_mm512_storeu_si512(lanes[i], s->low[i]);
	for (i = 0; i < 8; i++)
		_mm512_storeu_si512(lanes[3 + i], s->bytes[i]);
	for (lane = 0; lane < 8; lane++) {
		for (i = 0; i < 3; i++)
			low[i] = lanes[i][lane];
		for (i = 0; i < 8; i++)
			bytes[i] = lanes[3 + i][lane];
		window_add_lane(low, bytes, sums);
	}
}

/* At most 254 times 64 keys, so that no byte of the sums overflows. */
TARGET static void sum_part(const uint64_t *keys, size_t count,
			    uint32_t sums[64])
{
	struct sums s = { 0 };
	uint64_t last[64];
	size_t i, k;

	for (i = 0; i + 64 <= count; i += 64)
		add_vectors(&s, keys + i);
	for (k = 0; k < 64; k++)
		last[k] = i + k < count ? keys[i + k] : WINDOW_NEUTRAL;
	if (i < count)
		add_vectors(&s, last);
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

const struct kernel_window window_avx512 = { pick, insert, sift, between, sum };

#endif
