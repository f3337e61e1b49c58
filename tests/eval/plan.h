/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_PLAN_H
#define TESTS_EVAL_PLAN_H

#include "tests/eval/corpus.h"
#include "tests/eval/material.h"

/*
 * Which contents are made of a material: bases of every octave of sizes, and
 * of each some edits.  Larger ones are fewer.
 */
struct plan {
	size_t largest; /* lengths of bases go up to twice that; a power of 2 */
	size_t bases;   /* of an octave up to 64 KiB */
	size_t edits;   /* of a base up to 64 KiB */
};

void plan_material(struct corpus *c, const struct plan *plan,
		   struct material *m);

/* Edits of a whole file that somebody wrote; donor is another one's. */
void plan_file(struct corpus *c, const struct plan *plan, const char *name,
	       const struct base *base);

/* How much material plan_material() uses at most. */
size_t plan_bytes(const struct plan *plan);

/* The parts of the bytes that are replaced in all bases of plan_scattered(), in
 * 1/10000. */
#define SCATTERED_AMOUNTS 5
extern const unsigned scattered_amounts[SCATTERED_AMOUNTS];

/* Bases of 1 to 512 KiB, and of each copies with single bytes replaced. */
void plan_scattered(struct corpus *c, struct material *m);
size_t plan_scattered_bytes(void);

#endif
