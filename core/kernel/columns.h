/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_COLUMNS_H
#define CORE_KERNEL_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Columns of digests, a row to each content: its SimHash and its RDC traits.
 * Traits are kept in tiles of 16 rows: first trait 0 of all of them, then
 * trait 1, and so on, so that one comparison serves 16 rows.
 */
#define COLUMNS_TRAITS 16
#define COLUMNS_TILE_ROWS 16
#define COLUMNS_TILE_BYTES (COLUMNS_TILE_ROWS * COLUMNS_TRAITS)
#define COLUMNS_WORD_ROWS 64

struct kernel_near {
	uint64_t simhash;
	uint8_t traits[COLUMNS_TRAITS];
	uint8_t most;   /* bits that may differ */
	uint8_t fewest; /* traits that must be equal; above 16: no number is
			 * enough */
};

struct kernel_columns {
	/*
	 * Bit i % 64 of bits_out[i / 64] says of each of the count rows
	 * whether its SimHash is near or enough of its traits are equal; the
	 * bits behind the last are 0.  Reads nothing of later rows, and no
	 * traits where none are enough.
	 */
	void (*near)(const struct kernel_near *query, const uint64_t *simhash,
		     const uint8_t *tiles, size_t count, uint64_t *bits_out);
};

extern const struct kernel_columns columns_scalar;

#endif
