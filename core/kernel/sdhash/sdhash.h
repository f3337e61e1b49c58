/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_SDHASH_SDHASH_H
#define CORE_KERNEL_SDHASH_SDHASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * How sdhash finds its features: every window of 64 bytes has a rank, the
 * lowest rank of 64 windows in a row has a score, and the windows of high
 * scores are its features.
 */
#define SDHASH_WINDOW 64

/* What score() may read of ranks beyond those that it uses. */
#define SDHASH_RANK_ROOM 64

/*
 * The lowest rank of the windows that score() looks at.  Places are counted
 * from where the next call begins; a zeroed one is the start of an input.
 */
struct sdhash_lowest {
	size_t at;
	uint16_t rank; /* 0: none */
};

struct kernel_sdhash {
	/*
	 * Ranks of the count windows that start at bytes, bytes + 1 and so
	 * on: by their entropy, 1 the rarest, 990 the most common, 0 never to
	 * be taken.  Reads count + 63 bytes, none if count is 0; writes within
	 * ranks_out[count].
	 */
	void (*rank)(const uint8_t *bytes, size_t count, uint16_t *ranks_out);

	/*
	 * Adds 1 to the score of the lowest rank of every 64 in a row that
	 * start at places 0 .. steps - 1.  Takes ranks up to place steps + 63,
	 * all below 1024, and may read SDHASH_RANK_ROOM more; adds to scores
	 * up to place steps + 63, and to those below steps for the last time.
	 */
	void (*score)(struct sdhash_lowest *lowest, const uint16_t *ranks,
		      size_t steps, uint8_t *scores);

	/* Writes the places 0 .. count - 1 <= 65535 that have a score of least
	 * or more, and nothing else; returns their number. */
	size_t (*pick)(const uint8_t *scores, size_t count, uint8_t least,
		       uint16_t *places_out);
};

extern const struct kernel_sdhash sdhash_scalar;

#endif
