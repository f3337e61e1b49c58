/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/rdc_block.h"

#include <string.h>

/* Places that are compared with the first for a period. */
#define TRIES 16

static inline void add_hash(struct rdc_peak *peak, uint32_t hash,
			    uint32_t place)
{
	if (hash > peak->hash)
		*peak = (struct rdc_peak){ hash, place, true };
	else if (hash == peak->hash)
		peak->unique = false;
}

static struct rdc_peak peak_of_few(const struct kernel_high *high, size_t count)
{
	struct rdc_peak peak = { high->hashes[0], high->places[0], true };
	size_t i;

	for (i = 1; i < count; i++)
		add_hash(&peak, high->hashes[i], high->places[i]);
	return peak;
}

static struct rdc_peak peak_of_all(const struct kernel_rolling *rolling,
				   const uint8_t *data, size_t count)
{
	const uint8_t *out = data - rolling->window;
	uint32_t hash = kernel_hash(rolling, data), i;
	struct rdc_peak peak = { hash, 0, true };

	for (i = 1; i < count; i++) {
		hash = kernel_roll(rolling, hash, data[i], out[i]);
		add_hash(&peak, hash, i);
	}
	return peak;
}

/*
 * So many high hashes are most likely those of bytes that repeat: the period
 * is the distance of two places with the same.
 */
static struct rdc_peak peak_of_many(const struct kernel_rolling *rolling,
				    const uint8_t *data, size_t count,
				    const struct kernel_high *high)
{
	const uint8_t *start = data + 1 - rolling->window;
	size_t i, period, len = count + rolling->window - 1;
	struct rdc_peak peak;
	int tries = TRIES;

	for (i = 1; i < high->count && tries > 0; i++) {
		if (high->hashes[i] != high->hashes[0])
			continue;
		tries--;
		period = high->places[i] - high->places[0];
		if (memcmp(start, start + period, len - period) != 0)
			continue;
		peak = peak_of_few(high, i);
		peak.unique = peak.unique && peak.place + period >= count;
		return peak;
	}
	return peak_of_all(rolling, data, count);
}

/* Random hashes have up to twice as many from this on, on the average. */
static uint32_t limit_for(size_t count, unsigned expected)
{
	if (count <= expected)
		return 0;
	return 0u - (expected << __builtin_clz((uint32_t)count - 1));
}

/*
 * The limit spares nearly all hashes but leaves one in most blocks, the next
 * one leaves one in all others unless their hashes are not random, but those
 * of bytes that repeat.
 */
static void find_high(const struct rdc_hasher *hasher, const uint8_t *data,
		      size_t count, struct rdc_block *out)
{
	static const unsigned expected[] = { 4, KERNEL_PLACES / 4 };
	size_t i;

	for (i = 0; i < 2; i++) {
		out->limit = limit_for(count, expected[i]);
		hasher->ops->find(&hasher->rolling, data, count, out->limit,
				  &out->high);
		out->all_high = out->high.count < KERNEL_PLACES;
		if (out->high.count > 0)
			return;
	}
	hasher->ops->find(&hasher->rolling, data,
			  count < KERNEL_PLACES ? count : KERNEL_PLACES, 0,
			  &out->high);
	out->all_high = false;
}

void rdc_block_hash(const struct rdc_hasher *hasher, const uint8_t *data,
		    size_t count, struct rdc_block *out)
{
	find_high(hasher, data, count, out);
	if (out->all_high)
		out->peak = peak_of_few(&out->high, out->high.count);
	else
		out->peak =
			peak_of_many(&hasher->rolling, data, count, &out->high);
}

static bool few_below(const struct kernel_high *high, size_t first, size_t last,
		      uint32_t limit)
{
	size_t i;

	for (i = 0; i < high->count; i++)
		if (high->places[i] >= first && high->places[i] < last &&
		    high->hashes[i] >= limit)
			return false;
	return true;
}

bool rdc_block_below(const struct rdc_hasher *hasher, const uint8_t *data,
		     const struct rdc_block *block, size_t first, size_t last,
		     uint32_t limit)
{
	const struct rdc_peak *peak = &block->peak;
	struct kernel_high part;

	if (peak->hash < limit)
		return true;
	if (peak->place >= first && peak->place < last)
		return false;
	if (block->all_high && limit >= block->limit)
		return few_below(&block->high, first, last, limit);
	hasher->ops->find(&hasher->rolling, data + first, last - first, limit,
			  &part);
	return part.count == 0;
}
