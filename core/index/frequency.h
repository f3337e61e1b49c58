/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_FREQUENCY_H
#define CORE_INDEX_FREQUENCY_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/digest/sketch/sketch.h"

/*
 * The approximate number of contents in which a value of a sketch occurs.
 *
 * A table of counters is indexed by bits of a value.  Different values may share
 * a counter; the average of all counters is subtracted to correct for that (a
 * count-mean sketch, Deng and Rafiei 2007).  Contents that are removed stay
 * counted until the next start that counts anew (index.h).
 *
 * The table has 32 KiB at first and doubles whenever more values were counted
 * than it has counters, up to 8 MiB.  The two counters that follow from one both
 * have its count, which is never too low for that.  A value that very many
 * contents have makes another one common, too, that shared its counter before;
 * there were few such values when the table was small, as then there were few
 * contents.
 *
 * Private to core/index and its tests.  Not thread-safe.
 */
struct frequency;

int frequency_new(struct frequency **out);
void frequency_free(struct frequency *f);
size_t frequency_bytes(const struct frequency *f);

/* Counts the values of one more content. */
void frequency_add(struct frequency *f, const struct sketch *sketch);

/* In how many contents the value is, 1 or more. */
uint32_t frequency_contents(const struct frequency *f, uint64_t value);

#endif
