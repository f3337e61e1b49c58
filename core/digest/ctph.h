/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_CTPH_H
#define CORE_DIGEST_CTPH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"

/*
 * Context triggered piecewise hashing, what SiSe and ssdeep have in common: a
 * rolling hash of 7 bytes cuts the file into pieces, and a piece becomes 12
 * bits of its FNV hash; ssdeep's character is the low 6 of them.  Block sizes
 * are 3 * 2^level.  Triggers are nested: one of a level is one of every level
 * below.
 *
 * The size need not be known beforehand: every level grows, until it is
 * certain that no result needs it any more.
 */
#define CTPH_WINDOW 7
#define CTPH_LEVELS 31 /* above, no 32-bit rolling value triggers */
#define CTPH_ROWS 32   /* the last one is the whole file */
#define CTPH_MAX_PIECES 2560

/* Which digests are wanted. */
#define CTPH_SISE DIGEST_BIT(DIGEST_SISE)
#define CTPH_SSDEEP DIGEST_BIT(DIGEST_SSDEEP)

#define CTPH_BY_SIZE UINT_MAX

/* A piece that no trigger ends: ssdeep's last character, once a part is full,
 * stands for all the rest. */
struct ctph_tail {
	uint16_t state;
	uint16_t last; /* at the last trigger, the one that starts it apart */
};

struct ctph {
	unsigned digests;
	unsigned sise_low, ssdeep_low; /* levels below are not needed */
	unsigned top; /* levels above are not needed either, but for the last
		       * row, the whole file, as long as sise_low is 0 */
	/* Where SiSe's search for the block size starts; CTPH_BY_SIZE. */
	unsigned sise_start;
	uint64_t size;
	uint8_t last[CTPH_WINDOW]; /* bytes, the newest last */
	/* Of the levels that are needed: triggers, and the FNV state of the
	 * piece that is growing, the latter up to CTPH_MAX_PIECES. */
	uint64_t triggers[CTPH_ROWS];
	uint16_t states[CTPH_ROWS];
	/* Pieces that ssdeep does not end any more, as the first and as the
	 * second part of a signature. */
	struct ctph_tail whole[CTPH_ROWS];
	struct ctph_tail half[CTPH_ROWS];
	uint16_t pieces[CTPH_LEVELS][CTPH_MAX_PIECES];
};

/* digests: CTPH_SISE, CTPH_SSDEEP or both, which cost little more than one. */
void ctph_init(struct ctph *c, unsigned digests);

void ctph_update(struct ctph *c, const void *data, size_t len);

/* Whether a search for the block size that starts from size comes by level:
 * size / 64 is more than 3 * 2^(level - 1). */
static inline bool ctph_starts_at_or_above(uint64_t size, unsigned level)
{
	return level == 0 || size > UINT64_C(192) << (level - 1);
}

/* Whether the search of SiSe in c comes by level. */
static inline bool ctph_sise_comes_by(const struct ctph *c, uint64_t size,
				      unsigned level)
{
	if (c->sise_start != CTPH_BY_SIZE)
		return level <= c->sise_start;
	return ctph_starts_at_or_above(size, level);
}

/* The level of a block size in the binary forms, which know more of them than
 * there are here; CTPH_FOREIGN: it is none of 3 * 2^level. */
#define CTPH_BLOCKS 61
#define CTPH_FOREIGN 255
unsigned ctph_level_of(uint64_t block_size);

/* The rolling value after the last byte. */
uint32_t ctph_rolling_value(const struct ctph *c);

/* What SiSe and ssdeep are finished from: a struct ctph. */
extern const struct digest_part ctph_part;

/* The binary form of pieces of so many bits, the first in the highest ones;
 * zeros fill the last byte.  Unpacking moves *at behind it; false: this is not
 * what ctph_pack() makes of count pieces. */
int ctph_pack(const uint16_t *pieces, size_t count, unsigned bits,
	      struct buf *out);
bool ctph_unpack(const uint8_t **at, const uint8_t *end, size_t count,
		 unsigned bits, uint16_t *out);

#endif
