/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_FREQUENCY_H
#define CORE_INDEX_FREQUENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/sise.h"

/*
 * In how many contents a feature occurs, approximately.
 *
 * A feature is three consecutive pairs of a SiSe signature at its block size:
 * the same three pieces of content, in that order.  Counts are kept by a hash
 * of it in a fixed table (8 MiB), so a count may be too high by a few, never
 * too low; what is removed stays counted until the next start.
 *
 * Features that a large share of all contents have (licence headers, include
 * guards, templates) say little about two of them.  What two contents share
 * is therefore weighed: a common feature counts a tenth of another one.
 *
 * Private to core/index and its tests.  Not thread-safe by itself.
 */
struct frequency;

/* From that many contents on, and that share of all, a feature is common. */
#define FREQUENCY_COMMON_MIN 256
#define FREQUENCY_COMMON_SHARE 50 /* one in fifty */

int frequency_new(struct frequency **out);
void frequency_free(struct frequency *f);
size_t frequency_bytes(const struct frequency *f);

/* Counts the features of one more content. */
void frequency_add(struct frequency *f, const struct sise_signature *sig);

/* The features of one half of a signature, the distinct ones. */
struct features {
	uint64_t hash[SISE_MAX_PAIRS]; /* ascending */
	size_t count;
};

/* A signature that is weighed against many. */
struct weighed {
	const struct sise_signature *sig; /* borrowed */
	size_t limit; /* of a count, from which on a feature is common */
	struct features features[2];
	bool has_common[2];
};

/* contents: how many there are. */
void frequency_prepare(const struct frequency *f, size_t contents,
		       const struct sise_signature *sig, struct weighed *out);

/*
 * How much of what the two signatures share is left when common features
 * count little: 0 (nothing) to 1 (all).  1 when they have no block size in
 * common or share nothing.
 */
double frequency_discount(const struct frequency *f, const struct weighed *a,
			  const struct sise_signature *b);

#endif
