/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/rdc/rdc_block.h"

#include <string.h>

/* The longest period that is looked for, and how often data is compared. */
#define SOME_PLACES 128
#define TRIES 16

/*
 * So many high hashes are expected.  The first are found with little work and
 * leave nearly no block without any, the others leave none, unless hashes are
 * not random.
 */
#define FEW_HIGH 4
#define SOME_HIGH 16

static inline void add_hash(struct rdc_peak *peak, uint32_t hash,
			    uint32_t place)
{
	/* This cannot be predicted either: no branches. */
	peak->unique =
		hash > peak->hash || (peak->unique && hash != peak->hash);
	peak->place = hash > peak->hash ? place : peak->place;
	peak->hash = hash > peak->hash ? hash : peak->hash;
}

static struct rdc_peak peak_of_few(const uint32_t *places,
				   const uint32_t *hashes, size_t count)
{
	struct rdc_peak peak = { hashes[0], places[0], true };
	size_t i;

	for (i = 1; i < count; i++)
		add_hash(&peak, hashes[i], places[i]);
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
 * Hashes that are not random are most likely those of bytes that repeat: the
 * period is the distance of two places with the same.  high is what comes
 * first, whatever the hashes are.  0: bytes do not repeat.
 */
static size_t find_period(const struct rdc_row *row,
			  const struct kernel_high *high)
{
	const uint32_t window = row->hasher->rolling.window;
	const uint8_t *start = row->data + 1 - window;
	size_t period, len = row->size + window - 1;
	int tries = TRIES;

	for (period = 1; period < high->count && tries > 0; period++) {
		if (high->hashes[period] != high->hashes[0])
			continue;
		tries--;
		if (memcmp(start, start + period, len - period) == 0)
			return period;
	}
	return 0;
}

/* Of a block that repeats. */
static void take_run_peak(const struct rdc_row *row, struct rdc_block *out)
{
	out->peak = row->run_peak;
	out->peak.unique =
		out->peak.unique && out->peak.place + row->period >= row->size;
}

/* Whether the block goes on as the one before it, which repeats. */
static bool continue_run(struct rdc_row *row, struct rdc_block *out)
{
	const size_t period = row->period;
	struct rdc_peak *peak = &row->run_peak;

	row->period = 0;
	if (period == 0 ||
	    memcmp(row->data, row->data - period, row->size) != 0)
		return false;
	row->period = period;
	peak->place = (uint32_t)((peak->place + period - row->size % period) %
				 period);
	out->count = 0;
	out->all_high = false;
	take_run_peak(row, out);
	return true;
}

/* Random hashes have up to twice as many from this on, on the average. */
static uint32_t limit_for(size_t count, unsigned expected)
{
	if (count <= expected)
		return 1;
	return 0u - (expected << __builtin_clz((uint32_t)count - 1));
}

/* As much of it as there is room for. */
static void keep_high(struct rdc_block *block, const struct kernel_high *high)
{
	block->count = high->count < RDC_HIGH ? high->count : RDC_HIGH;
	memcpy(block->places, high->places,
	       block->count * sizeof(block->places[0]));
	memcpy(block->hashes, high->hashes,
	       block->count * sizeof(block->hashes[0]));
}

/* With a lower limit; false when that does not help. */
static bool find_some(const struct rdc_row *row, struct rdc_block *out)
{
	const struct rdc_hasher *hasher = row->hasher;
	struct kernel_high high;

	out->limit = limit_for(row->size, SOME_HIGH);
	hasher->ops->find(&hasher->rolling, row->data, row->size, out->limit,
			  &high);
	if (high.count == 0 || high.count == KERNEL_PLACES)
		return false;
	keep_high(out, &high);
	out->all_high = high.count <= RDC_HIGH;
	out->peak = peak_of_few(high.places, high.hashes, high.count);
	return true;
}

/* The first hashes, which are all there are when bytes repeat. */
static bool find_run(struct rdc_row *row, struct rdc_block *out)
{
	const size_t count = row->size < SOME_PLACES ? row->size : SOME_PLACES;
	struct kernel_high high;

	row->hasher->ops->find(&row->hasher->rolling, row->data, count, 0,
			       &high);
	keep_high(out, &high);
	out->all_high = false;
	row->period = find_period(row, &high);
	if (row->period == 0)
		return false;
	row->run_peak = peak_of_few(high.places, high.hashes, row->period);
	take_run_peak(row, out);
	return true;
}

/* A block without high hashes, or with too many of them; returns whether its
 * bytes repeat.  If likely, that is looked at first. */
static bool hash_unusual(struct rdc_row *row, bool likely,
			 struct rdc_block *out)
{
	if (!likely && find_some(row, out))
		return false;
	if (find_run(row, out))
		return true;
	if (!likely || !find_some(row, out))
		out->peak = peak_of_all(&row->hasher->rolling, row->data,
					row->size);
	return false;
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
	struct kernel_high part;

	if (peak->hash < limit)
		return true;
	if (peak->place >= first && peak->place < last)
		return false;
	if (block->all_high && limit >= block->limit)
		return few_below(block, first, last, limit);
	hasher->ops->find(&hasher->rolling, data + first, last - first, limit,
			  &part);
	return part.count == 0;
}

/* ---- rows ---- */

static void find_high(struct rdc_row *row)
{
	row->start = 0;
	row->next = 0;
	row->hasher->ops->find(&row->hasher->rolling, row->data,
			       row->size * row->left, row->limit, &row->high);
}

void rdc_row_hash(const struct rdc_hasher *hasher, const uint8_t *data,
		  size_t size, size_t count, struct rdc_row *out)
{
	out->hasher = hasher;
	out->data = data;
	out->size = size;
	out->left = count;
	out->limit = limit_for(size, FEW_HIGH);
	out->period = 0;
	find_high(out);
}

/* The next places that are before end, which are all there are.  One loop for
 * all: its end cannot be predicted. */
static void take_next(struct rdc_row *row, size_t end, struct rdc_block *out)
{
	const struct kernel_high *high = &row->high;
	struct rdc_peak peak = { 0, 0, false };
	uint32_t place, hash;
	size_t i, count = 0;

	for (i = row->next; i < high->count && high->places[i] < end; i++) {
		place = high->places[i] - (uint32_t)row->start;
		hash = high->hashes[i];
		if (count < RDC_HIGH) {
			out->places[count] = place;
			out->hashes[count] = hash;
		}
		count++;
		add_hash(&peak, hash, place);
	}
	row->next = i;
	out->count = count < RDC_HIGH ? count : RDC_HIGH;
	out->all_high = count <= RDC_HIGH;
	out->limit = row->limit;
	out->peak = peak;
}

/* Whether all high hashes before end are there. */
static bool knows(const struct rdc_row *row, size_t end)
{
	return row->high.count < KERNEL_PLACES ||
	       row->high.places[KERNEL_PLACES - 1] >= end;
}

void rdc_row_next(struct rdc_row *row, struct rdc_block *out)
{
	const struct kernel_high *high = &row->high;
	const size_t end = row->start + row->size;
	const bool known = knows(row, end);
	bool repeats = continue_run(row, out);

	if (!repeats && known)
		take_next(row, end, out);
	if (!repeats && (!known || out->count == 0))
		repeats = hash_unusual(row, high->count == 0, out);
	while (row->next < high->count && high->places[row->next] < end)
		row->next++;
	row->data += row->size;
	row->start = end;
	row->left--;
	/* A block that repeats is most likely followed by more of it. */
	if (!known && !repeats && row->left > 0)
		find_high(row);
}
