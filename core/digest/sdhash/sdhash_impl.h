/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SDHASH_SDHASH_IMPL_H
#define CORE_DIGEST_SDHASH_SDHASH_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "core/digest/sdhash/sdhash.h"

/*
 * Features: sdhash_features.c.  Every window of 64 bytes has a rank, the lowest
 * rank of 64 windows in a row has a score, and the windows of high scores are
 * the features.
 */

/*
 * Ranks of the count windows that start at bytes, bytes + 1 and so on: by their
 * entropy, 1 the rarest, 990 the most common, 0 never to be taken.  Reads count
 * + 63 bytes, none if count is 0.
 */
void sdhash_rank(const uint8_t *bytes, size_t count, uint16_t *ranks_out);

/*
 * Adds 1 to the score of the lowest rank of every 64 in a row that start at
 * places 0 .. steps - 1.  Reads ranks up to place steps + 64; adds to scores up
 * to place steps + 63, and to those below steps for the last time.
 */
void sdhash_score_places(struct sdhash_lowest *lowest, const uint16_t *ranks,
			 size_t steps, uint8_t *scores);

/* Writes the places 0 .. count - 1 <= 65535 that have a score of least or more;
 * returns their number. */
size_t sdhash_pick(const uint8_t *scores, size_t count, uint8_t least,
		   uint16_t *places_out);

/* Appends count empty ones: sdhash.c.  -ENOMEM, with d unchanged. */
int sdhash_add_filters(struct sdhash_digest *d, size_t count);

/* Sets the weights from the bits: sdhash_score.c. */
void sdhash_weigh(struct sdhash_digest *d);

#endif
