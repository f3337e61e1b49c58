/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/window/window_avx2.h"

#ifdef __x86_64__

/* The inverse of both steps. */
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

TARGET static inline __m256i values_of(const uint64_t *keys)
{
	const __m256i change = _mm256_set1_epi64x((long long)WINDOW_DIFFERENCE);
	__m256i y = undo_finish(_mm256_loadu_si256((const void *)keys));

	return finish_nearly(nearly_finish(_mm256_xor_si256(y, change)));
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

/* A multiple of 32 keys, at most 254 times, so that no byte of the sums
 * overflows. */
TARGET static void sum_part(const uint64_t *keys, size_t count,
			    uint32_t sums[64])
{
	struct sums_256 s = { 0 };
	__m256i v[8];
	size_t i;
	int k;

	for (i = 0; i < count; i += 32) {
		for (k = 0; k < 8; k++)
			v[k] = values_of(keys + i + 4 * k);
		add_vectors(&s, v);
	}
	add_lanes(&s, sums);
}

TARGET static void sum(const uint64_t *keys, size_t count, uint32_t sums[64])
{
	const size_t most = 254 * 32;
	size_t i, part;

	for (i = 0; i + 32 <= count; i += part) {
		part = count - i < most ? (count - i) / 32 * 32 : most;
		sum_part(keys + i, part, sums);
	}
	window_scalar.sum(keys + i, count - i, sums);
}

const struct kernel_window window_avx2 = { window_pick_avx2, sum };

#endif
