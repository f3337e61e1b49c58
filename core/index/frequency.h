/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_FREQUENCY_H
#define CORE_INDEX_FREQUENCY_H

#include <stddef.h>
#include <stdint.h>

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

/* Counts the features of one more content.  -EINVAL when sise is no
 * signature, -ENOMEM. */
int frequency_add(struct frequency *f, const char *sise);

/*
 * How much of what the two signatures share is left when common features
 * count little: 0 (nothing) to 1 (all).  1 when they have no block size in
 * common or share nothing.  contents: how many there are.
 */
int frequency_discount(const struct frequency *f, size_t contents,
		       const char *sise_a, const char *sise_b,
		       double *discount_out);

#endif
