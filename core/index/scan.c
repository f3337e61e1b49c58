/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/scan.h"

#include <stdbool.h>
#include <string.h>

#include "core/index/score.h"
#include "core/kernel/kernel.h"

static const uint8_t no_traits[TRAIT_COUNT];

uint64_t scan_simhash_of(const struct digests *d)
{
	return d->set & DIGEST_BIT(DIGEST_SIMHASH) ? d->simhash : 0;
}

void scan_traits_of(const struct digests *d, uint8_t *traits_out)
{
	if (d->set & DIGEST_BIT(DIGEST_RDC))
		memcpy(traits_out, d->traits, TRAIT_COUNT);
	else
		memset(traits_out, 0, TRAIT_COUNT);
}

static size_t tile_offset(size_t row)
{
	return row / TILE_ROWS * TILE_BYTES + row % TILE_ROWS;
}

void scan_traits_store(uint8_t *tiles, size_t row, const uint8_t *traits)
{
	uint8_t *to = tiles + tile_offset(row);
	size_t k;

	for (k = 0; k < TRAIT_COUNT; k++)
		to[k * TILE_ROWS] = traits[k];
}

void scan_traits_load(const uint8_t *tiles, size_t row, uint8_t *traits_out)
{
	const uint8_t *from = tiles + tile_offset(row);
	size_t k;

	for (k = 0; k < TRAIT_COUNT; k++)
		traits_out[k] = from[k * TILE_ROWS];
}

void scan_query_init(struct scan_query *query, const struct digests *d)
{
	query->simhash = scan_simhash_of(d);
	scan_traits_of(d, query->traits);
	query->has_traits = memcmp(query->traits, no_traits, TRAIT_COUNT);
	scan_query_limit(query, 1);
}

void scan_query_limit(struct scan_query *query, int least)
{
	uint8_t distance = DISTANCE_NONE, traits = 0;

	while (distance && score_ceiling(distance, 0) < least)
		distance--;
	while (traits <= TRAIT_COUNT &&
	       score_ceiling(DISTANCE_NONE, traits) < least)
		traits++;
	query->most = distance;
	query->fewest = traits;
}

uint8_t scan_distance(const struct scan_query *query, uint64_t simhash)
{
	if (!query->simhash || !simhash)
		return DISTANCE_NONE;
	return (uint8_t)__builtin_popcountll(query->simhash ^ simhash);
}

int scan_equal_traits(const struct scan_query *query, const uint8_t *traits)
{
	int equal = 0;
	size_t k;

	if (!query->has_traits || !memcmp(traits, no_traits, TRAIT_COUNT))
		return -1;
	for (k = 0; k < TRAIT_COUNT; k++)
		equal += traits[k] == query->traits[k];
	return equal;
}

/*
 * A row without a SimHash or without traits gets some number here, not the
 * exact answer; no measure is held against the other one, so no row is lost.
 */
size_t scan_rows(const struct scan_query *query, const uint64_t *simhash,
		 const uint8_t *tiles, size_t count, size_t *hits_out)
{
	struct kernel_near near = { .simhash = query->simhash,
				    .most = query->most,
				    .fewest = TRAIT_COUNT + 1 };
	uint64_t bits[SCAN_ROWS / COLUMNS_WORD_ROWS], word;
	size_t i, hits = 0;

	if (query->has_traits) {
		memcpy(near.traits, query->traits, TRAIT_COUNT);
		near.fewest = query->fewest;
	}
	kernel_best()->columns->near(&near, simhash, tiles, count, bits);
	for (i = 0; i < count; i += COLUMNS_WORD_ROWS)
		for (word = bits[i / COLUMNS_WORD_ROWS]; word; word &= word - 1)
			hits_out[hits++] = i + (size_t)__builtin_ctzll(word);
	return hits;
}
