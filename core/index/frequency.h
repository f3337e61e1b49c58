/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_FREQUENCY_H
#define CORE_INDEX_FREQUENCY_H

#include <stddef.h>
#include <stdint.h>

#include "core/digest/sif.h"

/*
 * In how many contents a value of a sketch occurs, approximately.
 *
 * Counts are kept by some bits of the value in a fixed table (8 MiB).  What
 * shares a count by chance is taken off again on the average (a count-mean
 * sketch, Deng and Rafiei 2007); what is removed stays counted until the next
 * start.
 *
 * Values that very many contents have (licence headers, include guards,
 * templates) say little about two of them.  Up to FREQUENCY_COMMON contents a
 * value counts fully, then as much less as it is more frequent.  The number is
 * absolute: versions of one thing are rarely more, in trees of any size.
 *
 * Private to core/index and its tests.  Not thread-safe by itself.
 */
struct frequency;

#define FREQUENCY_COMMON 128

int frequency_new(struct frequency **out);
void frequency_free(struct frequency *f);
size_t frequency_bytes(const struct frequency *f);

/* Counts the values of one more content. */
void frequency_add(struct frequency *f, const struct sif_sketch *sketch);

/* What a value counts, 0..1. */
double frequency_weight(const struct frequency *f, uint64_t value);

#endif
