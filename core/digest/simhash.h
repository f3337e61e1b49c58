/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SIMHASH_H
#define CORE_DIGEST_SIMHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel/window/window.h"

/*
 * SimHash (Charikar 2002) as the Similarity Index v2.0 builds it: the sum of
 * the signs of the hashes of all distinct shingles.  A shingle is a window of
 * 8 bytes, its hash is XXH3; a file shorter than that is one shingle.
 *
 * Up to SIMHASH_SAMPLE distinct windows all count.  Of more, those with the
 * smallest keys stand for all; the key is XXH3 with seed 1, which gives no two
 * windows the same key.
 *
 * The first SIMHASH_HELD bytes are held until all of them are there: to look
 * twice at a window costs less than to keep one that does not belong to the
 * sample.  What follows goes into the set as it comes.  Up to SIMHASH_FEW
 * windows all count, and need no set.
 */
#define SIMHASH_WINDOW 8
#define SIMHASH_SAMPLE 65536
#define SIMHASH_SLOTS 131072
#define SIMHASH_MAX_FILL 98304 /* then it is cut down to SIMHASH_SAMPLE */
#define SIMHASH_HELD 1048576
#define SIMHASH_FEW WINDOW_TALLY_MOST
#define SIMHASH_PLACE_BITS 17
#define SIMHASH_RECENT 2048
#define SIMHASH_BATCH 1024 /* windows whose keys are taken together */

struct simhash {
	const struct kernel_window *ops;
	size_t held_len;
	bool streams;    /* held bytes are in the set, and no longer held */
	uint64_t limit;  /* no window with a larger key is in the sample */
	size_t tail_len; /* the last bytes seen, at most 7 */
	uint8_t tail[SIMHASH_WINDOW];
	uint64_t keys[2 * SIMHASH_BATCH]; /* not yet in the set */
	size_t key_count;
	uint64_t recent[SIMHASH_RECENT]; /* keys in the set, by bits of them */
	struct window_set set;           /* slots in memory */
	bool has_zero;                   /* key 0, which the set can not hold */
	uint64_t memory[SIMHASH_SLOTS + WINDOW_ALIGN / sizeof(uint64_t)];
	union {
		uint8_t held[SIMHASH_HELD];
		uint64_t scratch[SIMHASH_SLOTS];
		struct {
			uint8_t held[SIMHASH_FEW + SIMHASH_WINDOW]; /* same */
			uint16_t table[(1 << SIMHASH_PLACE_BITS) + 4];
			uint64_t rest[SIMHASH_FEW];
		} few; /* windows */
	};
};

/* 2 MiB and some KiB; a small file touches little of it.  Not to be copied. */
void simhash_init(struct simhash *s);
void simhash_update(struct simhash *s, const void *data, size_t len);
/* Adds zero bytes as if they were data; many take no longer than some. */
void simhash_update_zeros(struct simhash *s, uint64_t len);

/* 0 for an empty file.  s must be initialised before it is used again. */
uint64_t simhash_final(struct simhash *s);

#endif
