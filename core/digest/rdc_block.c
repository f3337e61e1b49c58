/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/rdc_block.h"

#include <string.h>

static inline void add_hash(struct rdc_peak *peak, uint32_t hash,
			    uint32_t place)
{
	if (hash > peak->hash)
		*peak = (struct rdc_peak){ hash, place, true };
	else if (hash == peak->hash)
		peak->unique = false;
}

static struct rdc_peak peak_of_few(const uint32_t *hashes,
				   const uint32_t *places, size_t count)
{
	struct rdc_peak peak = { hashes[0], places[0], true };
	size_t i;

	for (i = 1; i < count; i++)
		add_hash(&peak, hashes[i], places[i]);
	return peak;
}

static struct rdc_peak peak_of_all(const struct rdc_hasher *hasher,
				   const uint8_t *data, size_t count)
{
	const struct kernel_rolling *rolling = &hasher->rolling;
	const uint8_t *out = data - rolling->window;
	struct rdc_peak peak = { 0, 0, true };
	uint32_t hash, i;

	hasher->ops->hashes(rolling, data, &peak.place, 1, &peak.hash);
	hash = peak.hash ^ rolling->bias;
	for (i = 1; i < count; i++) {
		hash = kernel_roll(rolling, hash, data[i], out[i]);
		add_hash(&peak, hash ^ rolling->bias, i);
	}
	return peak;
}

/*
 * So many hashes with the same top are most likely those of bytes that repeat:
 * the period is the distance of two places.
 */
static struct rdc_peak peak_of_many(const struct rdc_hasher *hasher,
				    const uint8_t *data, size_t count,
				    const struct rdc_block *block)
{
	size_t i, period, window = hasher->rolling.window;
	const uint8_t *start = data + 1 - window;
	size_t len = count + window - 1;
	struct rdc_peak peak;

	for (i = 1; i < KERNEL_PLACES; i++) {
		period = block->places[i] - block->places[0];
		if (memcmp(start, start + period, len - period) != 0)
			continue;
		peak = peak_of_few(block->hashes, block->places, i);
		peak.unique = peak.unique && peak.place + period >= count;
		return peak;
	}
	return peak_of_all(hasher, data, count);
}

static void find_peak(const struct rdc_hasher *hasher, const uint8_t *data,
		      const uint8_t *tops, size_t count,
		      struct rdc_block *block)
{
	block->count = hasher->ops->largest(tops, count, block->places);
	hasher->ops->hashes(&hasher->rolling, data, block->places, block->count,
			    block->hashes);
	if (block->count < KERNEL_PLACES)
		block->peak =
			peak_of_few(block->hashes, block->places, block->count);
	else
		block->peak = peak_of_many(hasher, data, count, block);
}

void rdc_block_hash(const struct rdc_hasher *hasher, const uint8_t *data,
		    size_t count, struct rdc_block *out)
{
	hasher->ops->tops(&hasher->rolling, data, count, out->tops);
	find_peak(hasher, data, out->tops, count, out);
}

static bool few_below(const struct rdc_block *block, size_t first, size_t last,
		      uint32_t limit)
{
	size_t i;

	for (i = 0; i < block->count; i++)
		if (block->places[i] >= first && block->places[i] < last &&
		    block->hashes[i] >= limit)
			return false;
	return true;
}

bool rdc_block_below(const struct rdc_hasher *hasher, const uint8_t *data,
		     const struct rdc_block *block, size_t first, size_t last,
		     uint32_t limit)
{
	const struct rdc_peak *peak = &block->peak;
	struct rdc_block part;

	if (peak->hash < limit)
		return true;
	if (peak->place >= first && peak->place < last)
		return false;
	/* What is not below the limit has no smaller top, so it is known. */
	if (peak->hash >> 24 == limit >> 24 && block->count < KERNEL_PLACES)
		return few_below(block, first, last, limit);
	find_peak(hasher, data + first, block->tops + first, last - first,
		  &part);
	return part.peak.hash < limit;
}
