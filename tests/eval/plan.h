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

/* Bases of 32 KiB to 1 MiB, in families "parts/...", and of each parts of 1/4 to
 * 1/250 of it: whole ones, and some of which most was replaced. */
#define PARTS_GROUP "parts/"

void plan_parts(struct corpus *c, struct material *m);
size_t plan_parts_bytes(void);

#endif
