/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SCAN_H
#define CORE_INDEX_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"
#include "core/kernel/columns.h"

/*
 * The inner loop of a query: which rows of the columns may be worth a close
 * look.  Private to core/index and its tests.
 *
 * Traits are kept in tiles of rows, as core/kernel/columns.h says.
 *
 * A SimHash of 0 and traits that are all zero mean "none".  (A file without
 * a single window has the SimHash 0 and nothing that could be compared.)
 */
#define TRAIT_COUNT COLUMNS_TRAITS
#define TILE_ROWS COLUMNS_TILE_ROWS
#define TILE_BYTES COLUMNS_TILE_BYTES
#define SCAN_ROWS 512 /* a multiple of COLUMNS_WORD_ROWS */
#define DISTANCE_NONE 64

uint64_t scan_simhash_of(const struct digests *d);
void scan_traits_of(const struct digests *d, uint8_t *traits_out);

void scan_traits_store(uint8_t *tiles, size_t row, const uint8_t *traits);
void scan_traits_load(const uint8_t *tiles, size_t row, uint8_t *traits_out);

struct scan_query {
	uint64_t simhash;
	uint8_t traits[TRAIT_COUNT];
	bool has_traits;
	uint8_t most, fewest; /* distance, traits: one of them is enough */
};

/* Wants every row whose estimate may be at least 1. */
void scan_query_init(struct scan_query *query, const struct digests *d);

/* Wants every row whose estimate may be at least that. */
void scan_query_limit(struct scan_query *query, int least);

/* The numbers of the wanted rows, at most SCAN_ROWS, in ascending order.  May
 * name a row too many, never one too few.  tiles starts with the tile of the
 * first row; nothing of later rows than count is read. */
size_t scan_rows(const struct scan_query *query, const uint64_t *simhash,
		 const uint8_t *tiles, size_t count, size_t *hits_out);

/* Exactly, for one row: the Hamming distance, DISTANCE_NONE when one side has
 * no SimHash; the equal traits, -1 when one side has none. */
uint8_t scan_distance(const struct scan_query *query, uint64_t simhash);
int scan_equal_traits(const struct scan_query *query, const uint8_t *traits);

#endif
