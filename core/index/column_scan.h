/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_COLUMN_SCAN_H
#define CORE_INDEX_COLUMN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"
#include "core/kernel/columns.h"

/*
 * The inner loop of a query by columns: it selects the rows that are near enough.  Private to core/index and its tests.
 *
 * Traits are kept in tiles of rows (core/kernel/columns.h).
 *
 * A SimHash of 0 and traits that are all zero mean "none".  (A file that is
 * shorter than a window has the SimHash 0 and no features to compare.)
 */
#define COLUMN_SCAN_ROWS 512 /* a multiple of COLUMNS_WORD_ROWS */
#define SIMHASH_DISTANCE_NONE 64

uint64_t column_simhash_of(const struct digests *d);
void column_traits_of(const struct digests *d, uint8_t *traits_out);

void column_traits_store(uint8_t *tiles, size_t row, const uint8_t *traits);
void column_traits_load(const uint8_t *tiles, size_t row, uint8_t *traits_out);

struct column_scan {
	uint64_t simhash;
	uint8_t traits[COLUMNS_TRAITS];
	bool has_traits;
	/* A row is selected if its distance is at most `most` or if at least
	 * `fewest` traits are equal. */
	uint8_t most, fewest;
};

/* Of the digests of the query; the caller sets most and fewest. */
void column_scan_init(struct column_scan *query, const struct digests *d);

/* Writes the numbers of the selected rows, ascending, of at most
 * COLUMN_SCAN_ROWS rows.  A row without a SimHash or traits may be selected;
 * no row is missed.  tiles starts with the tile of the first row; later rows than
 * count are not read. */
size_t column_scan_rows(const struct column_scan *query,
			const uint64_t *simhash, const uint8_t *tiles,
			size_t count, size_t *hits_out);

/* For one row, exactly: the Hamming distance (SIMHASH_DISTANCE_NONE when one
 * side has no SimHash), and the number of equal traits (-1 when one side has
 * none). */
uint8_t column_scan_distance(const struct column_scan *query, uint64_t simhash);
int column_scan_equal_traits(const struct column_scan *query,
			     const uint8_t *traits);

#endif
