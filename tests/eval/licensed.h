/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_LICENSED_H
#define TESTS_EVAL_LICENSED_H

#include "tests/eval/corpus.h"
#include "tests/eval/material.h"

/*
 * Small sources below a licence, in families "licensed/LICENCE/NUMBER": a few
 * licences, each on top of sources that have nothing else in common, with
 * versions of each source.  The licence is 20 to 80 % of a folded file, so that it is
 * most of what two files of different families share.
 */
#define LICENSED_GROUP "licensed/"

struct licensed {
	struct material sources, licences;
	double folded;          /* bytes of sources to those of licences, for
				 * one size when folded */
	struct bytes *contents; /* of the bases */
	size_t count;
};

/* The corpus borrows the contents. */
void licensed_add(struct licensed *l, struct corpus *c);
void licensed_release(struct licensed *l);

#endif
