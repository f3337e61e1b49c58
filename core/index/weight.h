/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_WEIGHT_H
#define CORE_INDEX_WEIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/digest/sketch/sketch.h"
#include "core/index/frequency.h"

/*
 * How much a value of a sketch counts.
 *
 * Values that very many contents have (licence headers, include guards,
 * templates) say little about two of them.  A value counts fully up to
 * WEIGHT_FULL contents (judge_rules.h); above, its weight falls with the third
 * power of the number.  WEIGHT_FULL does not depend on the size of the tree,
 * because the number of versions of one file does not either.
 */
#define WEIGHT_ONE (UINT32_C(1) << 30) /* of a value that counts fully */

/* The weight of a value that so many contents have; 0: of 0, which is not
 * known. */
uint32_t weight_of_contents(uint32_t contents);

/* Where the numbers of contents come from: the frequency of a value or, if that
 * is NULL, a function.  It returns 0 if the number is not known. */
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
