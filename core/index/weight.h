/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_WEIGHT_H
#define CORE_INDEX_WEIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/sketch/sketch.h"

/*
 * How much a value of a sketch counts.
 *
 * Values that very many contents have (licence headers, include guards,
 * templates) say little about two of them.  A value counts fully up to
 * WEIGHT_FULL contents (judge_rules.h); above, its weight falls with the
 * power WEIGHT_POWER of the number.  WEIGHT_FULL does not depend on the size of the tree,
 * because the number of versions of one file does not either.
 */
#define WEIGHT_ONE (UINT32_C(1) << 30) /* of a value that counts fully */

/* The weight of a value that so many contents have; 0: of 0, which is not
 * known. */
uint32_t weight_of_contents(uint32_t contents);

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
 * Not thread-safe.
 */
struct frequency;

int frequency_new(struct frequency **out);
void frequency_free(struct frequency *f);
size_t frequency_bytes(const struct frequency *f);

/* Counts the values of one more content. */
void frequency_add(struct frequency *f, const struct sketch *sketch);

/* In how many contents the value is, 1 or more. */
uint32_t frequency_contents(const struct frequency *f, uint64_t value);

/* Where the numbers of contents come from: the frequency of a value or, if that
 * is NULL, a function.  It returns 0 if the number is not known.  With neither,
 * each value is in one content.  A value of a known licence that is not common in the
 * tree is in as many as can be counted. */
struct weigher {
	const struct frequency *frequency;
	uint32_t (*contents)(void *arg, uint64_t value);
	void *arg;
};

uint32_t weight_contents(const struct weigher *w, uint64_t value);

/* A sketch that is compared with many others, with the contents and the weights
 * of its values. */
struct weighed_sketch {
	const struct sketch *sketch; /* borrowed */
	bool has_common;             /* whether a weight is below 1 */
	uint32_t contents[SKETCH_MOST];
	uint32_t weights[SKETCH_MOST];
	uint64_t sums[SKETCH_MOST + 1]; /* sums[i]: of the first i weights */
};

void weight_sketch(const struct weigher *w, const struct sketch *sketch,
		   struct weighed_sketch *out);

#endif
