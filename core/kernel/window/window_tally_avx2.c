/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/window/window_avx2.h"

#ifdef __x86_64__

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
struct sums_256 {
	__m256i low[3];
	__m256i bytes[8];
};

TARGET static inline void add_vectors(struct sums_256 *s, const __m256i v[8])
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

TARGET static void add_lanes(const struct sums_256 *s, uint32_t sums[64])
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

TARGET static inline void add_values(struct sums_256 *s, const uint64_t *values)
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
	struct sums_256 s = { 0 };
	uint64_t last[32] = { 0 };
	size_t i;

	for (i = 0; i + 32 <= count; i += 32)
		add_values(&s, values + i);
	memcpy(last, values + i, (count - i) * sizeof(last[0]));
	add_values(&s, last);
	add_lanes(&s, sums);
}

TARGET void window_sum_avx2(const uint64_t *values, size_t count,
			    uint32_t sums[64])
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
TARGET static inline uint64_t add_owners(struct sums_256 *s,
					 const uint64_t *values,
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
	struct sums_256 s = { 0 };
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

TARGET void window_tally_avx2(const uint8_t *bytes, size_t count,
			      struct window_tally *t)
{
	const size_t most = 254 * 32 / WINDOW_PART * WINDOW_PART;
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count - i < most ? count - i : most;
		tally_part(bytes, i, part, t);
	}
}

#endif
