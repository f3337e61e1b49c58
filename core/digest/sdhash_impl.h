/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SDHASH_IMPL_H
#define CORE_DIGEST_SDHASH_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "core/digest/sdhash.h"

#define SDHASH_RANKS 1001
#define SDHASH_CUTOFFS 129

/* ---- the program's tables ---- */

extern const int32_t sdhash_entropy[SDHASH_WINDOW + 1];
extern const uint16_t sdhash_rank[SDHASH_RANKS];
extern const uint16_t sdhash_cutoff[SDHASH_CUTOFFS];

/* ---- which features count: sdhash_features.c ---- */

/* Ranks of the windows that start at bytes 0..count - 1; count + 63 bytes are
 * read. */
void sdhash_rank_windows(const uint8_t *bytes, size_t count,
			 uint16_t *ranks_out);

/*
 * Slides the window of ranks over positions 0..steps - 1 and adds to the
 * scores of its minima.  Reads and writes up to position steps + 63; positions
 * below steps are final.  lowest starts zeroed, and is left with position
 * steps as its origin.
 */
void sdhash_score_ranks(struct sdhash_lowest *lowest, const uint16_t *ranks,
			size_t steps, uint8_t *scores);

/* ---- filters ---- */

/* Appends count empty ones: sdhash.c.  -ENOMEM, with d unchanged. */
int sdhash_add_filters(struct sdhash_digest *d, size_t count);

/* Sets the weights from the bits: sdhash_score.c. */
void sdhash_weigh(struct sdhash_digest *d);

#endif
