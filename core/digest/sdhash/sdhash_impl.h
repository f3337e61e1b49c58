/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SDHASH_SDHASH_IMPL_H
#define CORE_DIGEST_SDHASH_SDHASH_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "core/digest/sdhash/sdhash.h"

#define SDHASH_CUTOFFS 129

/* The program's: sdhash_cutoff.c. */
extern const uint16_t sdhash_cutoff[SDHASH_CUTOFFS];
extern const uint16_t sdhash_cutoff_folded[SDHASH_CUTOFFS];

/* Appends count empty ones: sdhash.c.  -ENOMEM, with d unchanged. */
int sdhash_add_filters(struct sdhash_digest *d, size_t count);

/* Sets the weights from the bits: sdhash_score.c. */
void sdhash_weigh(struct sdhash_digest *d);

#endif
