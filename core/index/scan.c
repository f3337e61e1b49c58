/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/scan.h"

#include <stdbool.h>
#include <string.h>

#include "core/index/score.h"

/*
 * Vectors of 16 bytes in the compilers' own notation: any processor has them,
 * or the compiler takes them apart.
 */
typedef uint64_t words __attribute__((vector_size(16)));
typedef uint8_t lanes __attribute__((vector_size(16)));

#define WORDS_ROWS (sizeof(words) / sizeof(uint64_t))

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

static uint8_t equal_count(const uint8_t *a, const uint8_t *b)
{
	uint8_t equal = 0;
	size_t k;

	for (k = 0; k < TRAIT_COUNT; k++)
		equal = (uint8_t)(equal + (a[k] == b[k]));
	return equal;
}

int scan_equal_traits(const struct scan_query *query, const uint8_t *traits)
{
	if (!query->has_traits || !memcmp(traits, no_traits, TRAIT_COUNT))
		return -1;
	return equal_count(query->traits, traits);
}

/* One bits of each word; the builtin is a call where the processor may lack
 * the instruction. */
static inline words bit_counts(words x)
{
	x -= (x >> 1) & 0x5555555555555555u;
	x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	x += x >> 8;
	x += x >> 16;
	x += x >> 32;
	return x & 0x7f;
}

static void distances(uint64_t wanted, const uint64_t *simhash, size_t count,
		      uint8_t *out)
{
	words w;
	size_t i;

	for (i = 0; i + WORDS_ROWS <= count; i += WORDS_ROWS) {
		memcpy(&w, simhash + i, sizeof(w));
		w = bit_counts(w ^ wanted);
		out[i] = (uint8_t)w[0];
		out[i + 1] = (uint8_t)w[1];
	}
	for (; i < count; i++)
		out[i] = (uint8_t)__builtin_popcountll(wanted ^ simhash[i]);
}

static inline void equal_counts_of_tile(const uint8_t *wanted,
					const uint8_t *tile, uint8_t *out)
{
	lanes sum = { 0 }, row;
	size_t k;

	for (k = 0; k < TRAIT_COUNT; k++) {
		memcpy(&row, tile + k * TILE_ROWS, sizeof(row));
		sum -= (lanes)(row == wanted[k]); /* true is 255 */
	}
	memcpy(out, &sum, sizeof(sum));
}

static void equal_counts(const uint8_t *wanted, const uint8_t *tiles,
			 size_t count, uint8_t *out)
{
	uint8_t traits[TRAIT_COUNT];
	size_t i;

	for (i = 0; i + TILE_ROWS <= count; i += TILE_ROWS)
		equal_counts_of_tile(wanted, tiles + tile_offset(i), out + i);
	for (; i < count; i++) {
		scan_traits_load(tiles, i, traits);
		out[i] = equal_count(wanted, traits);
	}
}

/* Bit masks of which of 16 rows are near or have enough equal traits. */
static inline lanes promising(const uint8_t *distance, const uint8_t *equal,
			      uint8_t most, uint8_t fewest)
{
	lanes d, e;

	memcpy(&d, distance, sizeof(d));
	memcpy(&e, equal, sizeof(e));
	return (lanes)(d <= most) | (lanes)(e >= fewest);
}

static inline bool any(lanes x)
{
	words w = (words)x;

	return w[0] | w[1];
}

/*
 * A row without a SimHash or without traits gets some number here, not the
 * exact answer; no measure is held against the other one, so no row is lost.
 */
size_t scan_rows(const struct scan_query *query, const uint64_t *simhash,
		 const uint8_t *tiles, size_t count, size_t *hits_out)
{
	uint8_t distance[SCAN_ROWS], equal[SCAN_ROWS] = { 0 };
	size_t i, k, hits = 0;

	distances(query->simhash, simhash, count, distance);
	for (i = count; i % TILE_ROWS; i++)
		distance[i] = UINT8_MAX;
	if (query->has_traits)
		equal_counts(query->traits, tiles, count, equal);
	for (i = 0; i < count; i += TILE_ROWS) {
		lanes row = promising(distance + i, equal + i, query->most,
				      query->fewest);

		if (!any(row))
			continue;
		for (k = 0; k < TILE_ROWS; k++)
			if (row[k])
				hits_out[hits++] = i + k;
	}
	return hits;
}
