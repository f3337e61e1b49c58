/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SCALE_MODEL_H
#define TESTS_BENCH_SCALE_MODEL_H

#include <stdint.h>

#include "core/digest/digest.h"
#include "core/digest/sketch/sketch.h"

/*
 * A tree of any number of contents without their bytes: the digests that they
 * would have, the same in every run.
 *
 * Contents come in families of near-duplicates, whose sizes have a heavy tail:
 * three in four families are of one, few of hundreds, and one, the crowd, of
 * 50000 or a twentieth of all.  A member keeps 50 to 99 % of what the first
 * one has and adds to it, one in eight a multiple of it.  Two in a hundred
 * begin with the same 1000 bytes.  One content has as many exact copies as the
 * crowd has members.
 *
 * A content is a union of sets of windows.  The fingerprints of a set are an
 * ascending stream of random values, so the smallest ones of a union are made
 * of the smallest ones of its sets, as those of real contents are.
 *
 * Contents are known by their place, in which families are together, and by
 * their number, in which they come, and in which they are not.
 */
struct scale_model {
	uint64_t contents;
	uint64_t crowd; /* its places are the first */
	uint64_t there; /* from place to number, modulo contents */
	uint64_t back;  /* the reverse */
};

struct scale_content {
	struct digests digests; /* identity, SimHash and traits alone */
	struct sketch sketch;
};

void scale_model_init(struct scale_model *m, uint64_t contents);

/* 0..contents-1 */
uint64_t scale_number(const struct scale_model *m, uint64_t place);
void scale_content(const struct scale_model *m, uint64_t number,
		   struct scale_content *out);

/* The number of the content that has copies; how many more of it there are. */
uint64_t scale_copied(const struct scale_model *m);
uint64_t scale_copies(const struct scale_model *m);

#endif
