/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/rdc_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx2")))
#define LANES 8

static TARGET inline __m256i load(const uint32_t *values)
{
	return _mm256_loadu_si256((const __m256i *)values);
}

static TARGET inline uint32_t largest_lane(__m256i v)
{
	__m128i x = _mm_max_epu32(_mm256_castsi256_si128(v),
				  _mm256_extracti128_si256(v, 1));

	x = _mm_max_epu32(x, _mm_shuffle_epi32(x, 0x4e));
	x = _mm_max_epu32(x, _mm_shuffle_epi32(x, 0xb1));
	return (uint32_t)_mm_cvtsi128_si32(x);
}

static TARGET struct kernel_peak block_maximum(const uint32_t *values,
					       size_t count)
{
	struct kernel_peak peak = { 0, 0, false };
	__m256i most = _mm256_setzero_si256();
	uint32_t equal, found = 0;
	size_t i;

	for (i = 0; i + LANES <= count; i += LANES)
		most = _mm256_max_epu32(most, load(values + i));
	peak.value = largest_lane(most);
	for (; i < count; i++)
		if (values[i] > peak.value)
			peak.value = values[i];

	most = _mm256_set1_epi32((int)peak.value);
	for (i = 0; i + LANES <= count && found < 2; i += LANES) {
		equal = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(
			_mm256_cmpeq_epi32(load(values + i), most)));
		if (equal && !found)
			peak.offset =
				(uint32_t)i + (uint32_t)__builtin_ctz(equal);
		found += (uint32_t)__builtin_popcount(equal);
	}
	for (; i < count && found < 2; i++) {
		if (values[i] != peak.value)
			continue;
		if (!found)
			peak.offset = (uint32_t)i;
		found++;
	}
	peak.unique = found == 1;
	return peak;
}

/* Neither gathers nor a scan of what was looked up byte by byte are as fast as
 * the scalar loop. */
const struct kernel_rdc rdc_avx2 = { rdc_hash_block_scalar, block_maximum };

#endif
