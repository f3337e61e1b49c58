/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/window_impl.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#define TARGET __attribute__((target("avx2,bmi,popcnt")))

/* Windows at offsets 0..3 of 16 bytes, with their halves swapped. */
TARGET static inline __m256i spread(__m128i bytes)
{
	const __m256i order =
		_mm256_set_epi64x(0x060504030a090807, 0x0504030209080706,
				  0x0403020108070605, 0x0302010007060504);

	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), order);
}

TARGET static inline __m256i multiply(__m256i a, uint64_t factor)
{
	const __m256i low = _mm256_set1_epi64x((long long)factor);
	const __m256i high = _mm256_set1_epi64x((long long)(factor >> 32));
	__m256i cross;

	cross = _mm256_add_epi64(
		_mm256_mul_epu32(_mm256_srli_epi64(a, 32), low),
		_mm256_mul_epu32(a, high));
	return _mm256_add_epi64(_mm256_mul_epu32(a, low),
				_mm256_slli_epi64(cross, 32));
}

TARGET static inline __m256i rotate(__m256i x, int left)
{
	return _mm256_or_si256(_mm256_slli_epi64(x, left),
			       _mm256_srli_epi64(x, 64 - left));
}

/* x to y. */
TARGET static inline __m256i blend(__m256i x)
{
	return _mm256_xor_si256(x,
				_mm256_xor_si256(rotate(x, 49), rotate(x, 24)));
}

/* The last step of the hash but for its last xor, that xor, and the inverse of
 * both: see window_impl.h. */
TARGET static inline __m256i nearly_finish(__m256i y)
{
	const __m256i eight = _mm256_set1_epi64x(8);
	__m256i t;

	y = multiply(y, WINDOW_PRIME);
	t = _mm256_add_epi64(_mm256_srli_epi64(y, 35), eight);
	return multiply(_mm256_xor_si256(y, t), WINDOW_PRIME);
}

TARGET static inline __m256i finish_nearly(__m256i y)
{
	return _mm256_xor_si256(y, _mm256_srli_epi64(y, 28));
}

TARGET static inline __m256i undo_finish(__m256i key)
{
	const __m256i eight = _mm256_set1_epi64x(8);
	__m256i t, y;

	y = _mm256_xor_si256(key, _mm256_srli_epi64(key, 28));
	y = _mm256_xor_si256(y, _mm256_srli_epi64(key, 56));
	y = multiply(y, WINDOW_INVERSE);
	t = _mm256_add_epi64(_mm256_srli_epi64(y, 35), eight);
	return multiply(_mm256_xor_si256(y, t), WINDOW_INVERSE);
}

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

/* Bit i: whether key i is up to most; unsigned. */
TARGET static inline unsigned up_to(__m256i keys, __m256i most)
{
	const __m256i top = _mm256_set1_epi64x(INT64_MIN);
	__m256i above = _mm256_cmpgt_epi64(_mm256_xor_si256(keys, top),
					   _mm256_xor_si256(most, top));

	return ~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(above)) & 0xf;
}

TARGET static inline unsigned equal(__m256i a, __m256i b)
{
	return (unsigned)_mm256_movemask_pd(
		_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b)));
}

/* For every choice of 4 quarters, the chosen ones' halves first. */
static const uint8_t compress[16][8] = {
	{ 0 },
	{ 0, 1 },
	{ 2, 3 },
	{ 0, 1, 2, 3 },
	{ 4, 5 },
	{ 0, 1, 4, 5 },
	{ 2, 3, 4, 5 },
	{ 0, 1, 2, 3, 4, 5 },
	{ 6, 7 },
	{ 0, 1, 6, 7 },
	{ 2, 3, 6, 7 },
	{ 0, 1, 2, 3, 6, 7 },
	{ 4, 5, 6, 7 },
	{ 0, 1, 4, 5, 6, 7 },
	{ 2, 3, 4, 5, 6, 7 },
	{ 0, 1, 2, 3, 4, 5, 6, 7 },
};

/* Writes 4 words, first those chosen. */
TARGET static inline size_t store_some(uint64_t *out, unsigned which,
				       __m256i keys)
{
	__m256i order = _mm256_cvtepu8_epi32(
		_mm_loadl_epi64((const void *)compress[which]));

	_mm256_storeu_si256((void *)out,
			    _mm256_permutevar8x32_epi32(keys, order));
	return (size_t)_mm_popcnt_u32(which);
}

struct range {
	__m256i low, span;
};

TARGET static inline size_t pick_four(uint64_t *out, const uint8_t *bytes,
				      struct range r)
{
	__m256i keys = keys_of(load_11(bytes));

	return store_some(out, up_to(_mm256_sub_epi64(keys, r.low), r.span),
			  keys);
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
					uint64_t high, struct range r,
					uint64_t *keys_out)
{
	const uint32_t most =
		(uint32_t)(high >> 32) | UINT32_MAX >> WINDOW_TOP_BITS;
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
		picked += pick_four(keys_out + picked, bytes + chosen[i], r);
	return picked;
}

TARGET static size_t pick(const uint8_t *bytes, size_t count, uint64_t low,
			  uint64_t high, uint64_t *keys_out)
{
	const struct range r = { _mm256_set1_epi64x((long long)low),
				 _mm256_set1_epi64x((long long)(high - low)) };
	size_t i = 0, part, picked = 0;

	for (; high < WINDOW_DENSE && i + 32 <= count; i += part) {
		part = count - i < SPARSE ? (count - i) / 32 * 32 : SPARSE;
		picked += pick_sparse(bytes + i, part, high, r,
				      keys_out + picked);
	}
	for (; i + 4 <= count; i += 4)
		picked += pick_four(keys_out + picked, bytes + i, r);
	return picked + window_scalar.pick(bytes + i, count - i, low, high,
					   keys_out + picked);
}

TARGET static void insert(struct window_set *set, const uint64_t *keys,
			  size_t count)
{
	const __m256i zero = _mm256_setzero_si256();
	size_t i, at, ahead, mask = set->slot_count - 1;
	uint64_t *const slots = set->slots;
	size_t added = 0;
	unsigned same, free;
	__m256i key, a, b;

	for (i = 0; i < count; i++) {
		ahead = i + WINDOW_AHEAD < count ? i + WINDOW_AHEAD : i;
		_mm_prefetch(&slots[window_home(set, keys[ahead])],
			     _MM_HINT_T0);
		key = _mm256_set1_epi64x((long long)keys[i]);
		at = window_home(set, keys[i]);
		do {
			a = _mm256_loadu_si256((void *)(slots + at));
			b = _mm256_loadu_si256((void *)(slots + at + 4));
			same = equal(a, key) | equal(b, key) << 4;
			free = equal(a, zero) | equal(b, zero) << 4;
			at = (at + WINDOW_BUCKET) & mask;
		} while (__builtin_expect((same | free) == 0, 0));
		if (same)
			continue;
		at = (at - WINDOW_BUCKET) & mask;
		slots[at + _tzcnt_u32(free)] = keys[i];
		added++;
	}
	set->count += added;
}

/* A bucket: 8 keys in two vectors, and what is asked of them in 8 bits. */
struct bucket {
	__m256i a, b;
};

TARGET static inline size_t store_bucket(uint64_t *out, unsigned which,
					 struct bucket keys)
{
	size_t n = store_some(out, which & 0xf, keys.a);

	return n + store_some(out + n, which >> 4, keys.b);
}

/* The chosen words, then zeros. */
TARGET static inline __m256i choose(unsigned which, __m256i keys)
{
	const __m256i places = _mm256_set_epi64x(3, 2, 1, 0);
	__m256i order = _mm256_cvtepu8_epi32(
		_mm_loadl_epi64((const void *)compress[which]));
	__m256i n = _mm256_set1_epi64x(_mm_popcnt_u32(which));

	return _mm256_and_si256(_mm256_permutevar8x32_epi32(keys, order),
				_mm256_cmpgt_epi64(n, places));
}

/* Writes the chosen ones, then zeros. */
TARGET static inline size_t fill_bucket(uint64_t *out, unsigned which,
					struct bucket keys)
{
	size_t n = (size_t)_mm_popcnt_u32(which & 0xf);

	_mm256_storeu_si256((void *)out, choose(which & 0xf, keys.a));
	_mm256_storeu_si256((void *)(out + 4), _mm256_setzero_si256());
	_mm256_storeu_si256((void *)(out + n), choose(which >> 4, keys.b));
	return n + (size_t)_mm_popcnt_u32(which >> 4);
}

TARGET static inline __m256i homes_of(const struct window_set *set,
				      __m256i keys)
{
	const __m256i masks = _mm256_set1_epi64x(
		(long long)(set->slot_count - WINDOW_BUCKET));
	__m256i product = multiply(keys, set->secret);

	return _mm256_and_si256(
		_mm256_srli_epi64(product, WINDOW_HOME_SHIFT - 3), masks);
}

TARGET static inline unsigned at_home(const struct window_set *set,
				      struct bucket keys, size_t home)
{
	const __m256i want = _mm256_set1_epi64x((long long)home);

	return equal(homes_of(set, keys.a), want) |
	       equal(homes_of(set, keys.b), want) << 4;
}

TARGET static size_t sift(struct window_set *set, uint64_t limit,
			  uint64_t *strays_out)
{
	const __m256i most = _mm256_set1_epi64x((long long)limit);
	const __m256i zero = _mm256_setzero_si256();
	const size_t mask = set->slot_count - 1;
	struct bucket keys;
	size_t at, count = 0, strays = 0;
	unsigned which, home;

	for (at = 0; at <= mask; at += WINDOW_BUCKET) {
		keys.a = _mm256_loadu_si256((void *)(set->slots + at));
		keys.b = _mm256_loadu_si256((void *)(set->slots + at + 4));
		which = up_to(keys.a, most) | up_to(keys.b, most) << 4;
		which &= ~(equal(keys.a, zero) | equal(keys.b, zero) << 4);
		home = which & at_home(set, keys, at);
		count += fill_bucket(set->slots + at, home, keys);
		strays +=
			store_bucket(strays_out + strays, which & ~home, keys);
	}
	set->count = count;
	return strays;
}

TARGET static size_t between(const uint64_t *slots, size_t count, uint64_t low,
			     uint64_t high, uint64_t *keys_out)
{
	const __m256i lows = _mm256_set1_epi64x((long long)low);
	const __m256i span = _mm256_set1_epi64x((long long)(high - low));
	size_t i, kept = 0;
	__m256i keys;

	for (i = 0; i + 4 <= count; i += 4) {
		keys = _mm256_loadu_si256((const void *)(slots + i));
		kept += store_some(keys_out + kept,
				   up_to(_mm256_sub_epi64(keys, lows), span),
				   keys);
	}
	return kept + window_scalar.between(slots + i, count - i, low, high,
					    keys_out + kept);
}

TARGET static void evaluate(uint64_t *keys, size_t count)
{
	const __m256i change = _mm256_set1_epi64x((long long)WINDOW_DIFFERENCE);
	__m256i y;
	size_t i;

	for (i = 0; i + 4 <= count; i += 4) {
		y = undo_finish(_mm256_loadu_si256((const void *)(keys + i)));
		y = nearly_finish(_mm256_xor_si256(y, change));
		_mm256_storeu_si256((void *)(keys + i), finish_nearly(y));
	}
	for (; i < count; i++)
		keys[i] = window_value(keys[i]);
}

/* Adds three words bit by bit: the low bits of the sums in *a. */
TARGET static inline __m256i add_bits(__m256i *a, __m256i b, __m256i c)
{
	__m256i half = _mm256_xor_si256(*a, b);
	__m256i carry = _mm256_or_si256(_mm256_and_si256(*a, b),
					_mm256_and_si256(half, c));

	*a = _mm256_xor_si256(half, c);
	return carry;
}

/* As in the scalar file, in four lanes. */
struct sums {
	__m256i low[3];
	__m256i bytes[8];
};

TARGET static inline void add_vectors(struct sums *s, const __m256i v[8])
{
	const __m256i ones = _mm256_set1_epi8(1);
	__m256i twos[4], fours[2], eights;
	int i;

	for (i = 0; i < 4; i++)
		twos[i] = add_bits(&s->low[0], v[2 * i], v[2 * i + 1]);
	for (i = 0; i < 2; i++)
		fours[i] = add_bits(&s->low[1], twos[2 * i], twos[2 * i + 1]);
	eights = add_bits(&s->low[2], fours[0], fours[1]);
	for (i = 0; i < 8; i++)
		s->bytes[i] = _mm256_add_epi8(
			s->bytes[i],
			_mm256_and_si256(_mm256_srli_epi64(eights, i), ones));
}

TARGET static void add_lanes(const struct sums *s, uint32_t sums[64])
{
	uint64_t lanes[11][4], low[3], bytes[8];
	unsigned lane, i;

	for (i = 0; i < 3; i++)
		_mm256_storeu_si256((void *)lanes[i], s->low[i]);
	for (i = 0; i < 8; i++)
		_mm256_storeu_si256((void *)lanes[3 + i], s->bytes[i]);
	for (lane = 0; lane < 4; lane++) {
		for (i = 0; i < 3; i++)
			low[i] = lanes[i][lane];
		for (i = 0; i < 8; i++)
			bytes[i] = lanes[3 + i][lane];
		window_add_lane(low, bytes, sums);
	}
}

TARGET static inline void add_values(struct sums *s, const uint64_t *values)
{
	__m256i v[8];
	int i;

	for (i = 0; i < 8; i++)
		v[i] = _mm256_loadu_si256((const void *)(values + 4 * i));
	add_vectors(s, v);
}

/* At most 254 times 32 values, so that no byte of the sums overflows. */
TARGET static void sum_part(const uint64_t *values, size_t count,
			    uint32_t sums[64])
{
	struct sums s = { 0 };
	uint64_t last[32] = { 0 };
	size_t i;

	for (i = 0; i + 32 <= count; i += 32)
		add_values(&s, values + i);
	memcpy(last, values + i, (count - i) * sizeof(last[0]));
	add_values(&s, last);
	add_lanes(&s, sums);
}

TARGET static void sum(const uint64_t *values, size_t count, uint32_t sums[64])
{
	const size_t most = 254 * 32;
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count - i < most ? count - i : most;
		sum_part(values + i, part, sums);
	}
}

/* The places and values of 4 windows, of 16 bytes. */
TARGET static inline void look_up(const uint8_t *bytes, __m128i shift,
				  struct window_part *part, size_t at)
{
	const __m256i seed = _mm256_set1_epi64x((long long)WINDOW_SEED_0);
	const __m256i eight = _mm256_set1_epi64x(8);
	const __m256i halves = _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0);
	__m256i y, t, places;

	y = spread(_mm_loadu_si128((const void *)bytes));
	y = blend(_mm256_xor_si256(y, seed));
	y = multiply(y, WINDOW_PRIME);
	places =
		_mm256_permutevar8x32_epi32(_mm256_srl_epi64(y, shift), halves);
	_mm_storeu_si128((void *)(part->places + at),
			 _mm256_castsi256_si128(places));
	t = _mm256_add_epi64(_mm256_srli_epi64(y, 35), eight);
	y = multiply(_mm256_xor_si256(y, t), WINDOW_PRIME);
	_mm256_storeu_si256((void *)(part->values + at), finish_nearly(y));
}

TARGET static void look_up_all(const struct window_tally *t,
			       const uint8_t *bytes, size_t count,
			       struct window_part *part)
{
	const __m128i shift = _mm_cvtsi32_si128(64 - (int)t->place_bits);
	size_t i;

	/* 16 bytes are read for 4 windows, 5 more than they have. */
	for (i = 0; i + 9 <= count; i += 4)
		look_up(bytes + i, shift, part, i);
	for (; i < count; i++)
		window_look_up(t, bytes + i, part, i);
}

/* Adds the values of those of 32 windows that own their place; returns a bit
 * for each of them. */
TARGET static inline uint64_t add_owners(struct sums *s, const uint64_t *values,
					 const uint16_t *owners)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i o, own, v[8];
	uint64_t all = 0;
	int i;

	for (i = 0; i < 8; i++) {
		o = _mm256_cvtepu16_epi64(
			_mm_loadl_epi64((const void *)(owners + 4 * i)));
		own = _mm256_cmpeq_epi64(o, zero);
		v[i] = _mm256_loadu_si256((const void *)(values + 4 * i));
		v[i] = _mm256_and_si256(v[i], own);
		all |= (uint64_t)equal(o, zero) << 4 * i;
	}
	add_vectors(s, v);
	return all;
}

/* At most 254 times 32 windows, as above. */
TARGET static void tally_part(const uint8_t *bytes, size_t first, size_t count,
			      struct window_tally *t)
{
	struct window_part part;
	struct sums s = { 0 };
	size_t at, k, n, end = first + count;
	uint64_t own, all;

	for (at = first; at < end; at += WINDOW_PART) {
		n = window_distinct(bytes + at, end - at);
		look_up_all(t, bytes + at, n, &part);
		window_claim(t, &part, at, n);
		memset(part.owners + n, 0xff, -n % 64 * sizeof(uint16_t));
		for (k = 0; k < n; k += 32) {
			own = add_owners(&s, part.values + k, part.owners + k);
			t->count += (size_t)_mm_popcnt_u64(own);
			all = n - k < 32 ? (UINT64_C(1) << (n - k)) - 1 :
					   UINT32_MAX;
			window_meet(t, bytes, at, &part, k, all & ~own);
		}
	}
	add_lanes(&s, t->sums);
}

TARGET static void tally(const uint8_t *bytes, size_t count,
			 struct window_tally *t)
{
	const size_t most = 254 * 32 / WINDOW_PART * WINDOW_PART;
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count - i < most ? count - i : most;
		tally_part(bytes, i, part, t);
	}
}

const struct kernel_window window_avx2 = { pick,     insert, sift, between,
					   evaluate, sum,    tally };

#endif
