/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/column_scan.h"

#include <stdbool.h>
#include <string.h>

#include "core/kernel/kernel.h"

static const uint8_t no_traits[COLUMNS_TRAITS];

uint64_t column_simhash_of(const struct digests *d)
{
	return d->set & DIGEST_BIT(DIGEST_SIMHASH) ? digests_simhash(d) : 0;
}

void column_traits_of(const struct digests *d, uint8_t *traits_out)
{
	if (d->set & DIGEST_BIT(DIGEST_RDC))
		memcpy(traits_out, d->traits, COLUMNS_TRAITS);
	else
		memset(traits_out, 0, COLUMNS_TRAITS);
}

static size_t tile_offset(size_t row)
{
	return row / COLUMNS_TILE_ROWS * COLUMNS_TILE_BYTES +
	       row % COLUMNS_TILE_ROWS;
}

void column_traits_store(uint8_t *tiles, size_t row, const uint8_t *traits)
{
	uint8_t *to = tiles + tile_offset(row);
	size_t k;

	for (k = 0; k < COLUMNS_TRAITS; k++)
		to[k * COLUMNS_TILE_ROWS] = traits[k];
}

void column_traits_load(const uint8_t *tiles, size_t row, uint8_t *traits_out)
{
	const uint8_t *from = tiles + tile_offset(row);
	size_t k;

	for (k = 0; k < COLUMNS_TRAITS; k++)
		traits_out[k] = from[k * COLUMNS_TILE_ROWS];
}

void column_scan_init(struct column_scan *query, const struct digests *d)
{
	query->simhash = column_simhash_of(d);
	column_traits_of(d, query->traits);
	query->has_traits = memcmp(query->traits, no_traits, COLUMNS_TRAITS);
}

uint8_t column_scan_distance(const struct column_scan *query, uint64_t simhash)
{
	if (!query->simhash || !simhash)
		return SIMHASH_DISTANCE_NONE;
	return (uint8_t)__builtin_popcountll(query->simhash ^ simhash);
}

int column_scan_equal_traits(const struct column_scan *query,
			     const uint8_t *traits)
{
	int equal = 0;
	size_t k;

	if (!query->has_traits || !memcmp(traits, no_traits, COLUMNS_TRAITS))
		return -1;
	for (k = 0; k < COLUMNS_TRAITS; k++)
		equal += traits[k] == query->traits[k];
	return equal;
}

/*
 * The kernel compares rows without a SimHash or without traits, too.  Such a
 * row may be selected for no reason.  It is never missed, because one measure
 * alone is enough.
 */
size_t column_scan_rows(const struct column_scan *query,
			const uint64_t *simhash, const uint8_t *tiles,
			size_t count, size_t *hits_out)
{
	struct kernel_near near = { .simhash = query->simhash,
				    .most = query->most,
				    .fewest = COLUMNS_TRAITS + 1 };
	uint64_t bits[COLUMN_SCAN_ROWS / COLUMNS_WORD_ROWS], word;
	size_t i, hits = 0;

	if (query->has_traits) {
		memcpy(near.traits, query->traits, COLUMNS_TRAITS);
		near.fewest = query->fewest;
	}
	kernel_best()->columns->near(&near, simhash, tiles, count, bits);
	for (i = 0; i < count; i += COLUMNS_WORD_ROWS)
		for (word = bits[i / COLUMNS_WORD_ROWS]; word; word &= word - 1)
			hits_out[hits++] = i + (size_t)__builtin_ctzll(word);
	return hits;
}
