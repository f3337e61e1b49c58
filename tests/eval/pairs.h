/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_PAIRS_H
#define TESTS_EVAL_PAIRS_H

#include "tests/eval/cache.h"
#include "tests/eval/listing.h"

/*
 * Pairs of contents whose truth is known: those of one family, and those that
 * are listed.
 */
struct pair {
	uint32_t a, b; /* a < b */
	struct truth truth;
	/* Of INDEX_ALIKE, whether a candidate or not, at threshold 0: listed, or
	 * boilerplate. */
	struct verdict verdict;
	bool is_kin;       /* of one family */
	bool is_symmetric; /* the verdict of b and a is the same */
};

struct pairs {
	struct pair *pairs; /* by a, then by b */
	size_t count;
};

/* All pairs of the families of one half, or with the first member only where
 * the family is a star of large contents; not those of plan_parts(). */
void pairs_add_kin(struct pairs *p, const struct corpus *c, bool held_out);

/* Those of a listing that count. */
void pairs_add_listed(struct pairs *p, const struct listing *l);

/* Sorts, drops repeats, and finds truths and scores. */
void pairs_finish(struct pairs *p, const struct corpus *c, struct index *ix);
void pairs_release(struct pairs *p);

/* NULL when it is not there. */
const struct pair *pairs_find(const struct pairs *p, size_t a, size_t b);

#endif
