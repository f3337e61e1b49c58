/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/columns.h"

#include <string.h>

/*
 * Vectors of 16 bytes in the compilers' own notation: any processor has them,
 * or the compiler takes them apart.
 */
typedef uint64_t words __attribute__((vector_size(16)));
typedef uint8_t lanes __attribute__((vector_size(16)));

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

static void distances(uint64_t wanted, const uint64_t *simhash, uint8_t *out)
{
	words w;
	size_t i;

	for (i = 0; i < COLUMNS_WORD_ROWS; i += 2) {
		memcpy(&w, simhash + i, sizeof(w));
		w = bit_counts(w ^ wanted);
		out[i] = (uint8_t)w[0];
		out[i + 1] = (uint8_t)w[1];
	}
}

static inline lanes equal_counts_of_tile(const uint8_t *wanted,
					 const uint8_t *tile)
{
	lanes sum = { 0 }, row;
	size_t k;

	for (k = 0; k < COLUMNS_TRAITS; k++) {
		memcpy(&row, tile + k * COLUMNS_TILE_ROWS, sizeof(row));
		sum -= (lanes)(row == wanted[k]); /* true is 255 */
	}
	return sum;
}

/* Bit i: whether lane i is 255, not 0.  The product brings the bits of eight
 * bytes together in the highest one. */
static inline uint64_t bits_of(lanes x)
{
	const lanes bits = { 1, 2, 4, 8, 16, 32, 64, 128,
			     1, 2, 4, 8, 16, 32, 64, 128 };
	words w = (words)(x & bits);

	return w[0] * 0x0101010101010101u >> 56 |
	       w[1] * 0x0101010101010101u >> 56 << 8;
}

static uint64_t near_of_word(const struct kernel_near *query,
			     const uint64_t *simhash, const uint8_t *tiles)
{
	uint8_t distance[COLUMNS_WORD_ROWS];
	uint64_t bits = 0;
	lanes near;
	size_t i;

	distances(query->simhash, simhash, distance);
	for (i = 0; i < COLUMNS_WORD_ROWS; i += COLUMNS_TILE_ROWS) {
		memcpy(&near, distance + i, sizeof(near));
		near = (lanes)(near <= query->most);
		if (query->fewest <= COLUMNS_TRAITS)
			near |= (lanes)(equal_counts_of_tile(
						query->traits,
						tiles + i * COLUMNS_TRAITS) >=
					query->fewest);
		bits |= bits_of(near) << i;
	}
	return bits;
}

static uint64_t near_of_row(const struct kernel_near *query, uint64_t simhash,
			    const uint8_t *tile)
{
	unsigned equal = 0;
	size_t k;

	if (__builtin_popcountll(query->simhash ^ simhash) <= query->most)
		return 1;
	if (query->fewest > COLUMNS_TRAITS)
		return 0;
	for (k = 0; k < COLUMNS_TRAITS; k++)
		equal += tile[k * COLUMNS_TILE_ROWS] == query->traits[k];
	return equal >= query->fewest;
}

static void near(const struct kernel_near *query, const uint64_t *simhash,
		 const uint8_t *tiles, size_t count, uint64_t *bits_out)
{
	const uint8_t *tile;
	size_t i;

	for (i = 0; i + COLUMNS_WORD_ROWS <= count; i += COLUMNS_WORD_ROWS)
		*bits_out++ = near_of_word(query, simhash + i,
					   tiles + i * COLUMNS_TRAITS);
	if (i < count)
		*bits_out = 0;
	for (; i < count; i++) {
		tile = tiles + i / COLUMNS_TILE_ROWS * COLUMNS_TILE_BYTES;
		*bits_out |= near_of_row(query, simhash[i],
					 tile + i % COLUMNS_TILE_ROWS)
			     << i % COLUMNS_WORD_ROWS;
	}
}

const struct kernel_columns columns_scalar = { near };
