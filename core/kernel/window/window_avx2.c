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

const struct kernel_window window_avx2 = {
	.pick = window_pick_avx2,
	.insert = insert,
	.sift = sift,
	.between = between,
	.evaluate = evaluate,
	.sum = window_sum_avx2,
	.tally = window_tally_avx2,
};

#endif
