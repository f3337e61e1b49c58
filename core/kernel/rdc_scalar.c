/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/rdc_impl.h"

/* The rotation for the usual window, 48. */
#define USUAL_ROTATION 2

static inline uint32_t rotate(uint32_t x, uint32_t bits)
{
	return x << bits | x >> (-bits & 31);
}

static inline void hash_bytes(const struct kernel_rolling *rolling,
			      const uint8_t *in, size_t count, uint32_t hash,
			      uint32_t *hashes_out, uint32_t rotation)
{
	const uint32_t *h3 = rolling->h3->values;
	const uint8_t *out = in - rolling->window;
	size_t i;

	for (i = 0; i < count; i++) {
		hash = rotate(hash ^ (h3[out[i]] ^ h3[in[i]]), rotation);
		hashes_out[i] = hash;
	}
}

void rdc_hash_block_scalar(const struct kernel_rolling *rolling,
			   const uint8_t *data, size_t count, uint32_t hash,
			   uint32_t *hashes_out)
{
	/* A rotation that the compiler knows is faster by a third. */
	if (rolling->rotation == USUAL_ROTATION)
		hash_bytes(rolling, data, count, hash, hashes_out,
			   USUAL_ROTATION);
	else
		hash_bytes(rolling, data, count, hash, hashes_out,
			   rolling->rotation);
}

static struct kernel_peak block_maximum(const uint32_t *values, size_t count)
{
	struct kernel_peak peak = { 0, 0, count > 0 };
	uint32_t value = count > 0 ? values[0] : 0;
	size_t i;

	for (i = 1; i < count; i++) {
		if (values[i] < value)
			continue;
		peak.unique = values[i] > value;
		if (peak.unique)
			peak.offset = (uint32_t)i;
		value = values[i];
	}
	peak.value = value;
	return peak;
}

const struct kernel_rdc rdc_scalar = { rdc_hash_block_scalar, block_maximum };
