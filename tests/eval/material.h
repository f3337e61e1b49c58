/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_MATERIAL_H
#define TESTS_EVAL_MATERIAL_H

#include <stdbool.h>

#include "tests/eval/edits.h"

/*
 * Stuff of one class, a long stretch of bytes that contents are cut from.
 * Cuts never overlap, so what is alike in two of them is alike by nature.
 * The last quarter is kept for what edits put in.
 */
struct material {
	const char *name;
	struct bytes pool;
	size_t used;
};

/*
 * text     sentences of invented words, the frequent ones frequent
 * source   functions in something like C
 * records  a table of binary records with counters, small numbers and padding
 * random   no repeats at all: compressed or encrypted data
 * json, svg, script
 *          objects, shapes and minified statements, most of which repeats
 */
#define GENERATED_CLASSES 7
#define PLAIN_CLASSES 4 /* the first: most of their windows occur once */
/* Materials of two seeds have nothing in common but their vocabulary. */
struct material material_generate(size_t class, uint64_t seed, size_t size);
void material_release(struct material *m);

/* Borrowed from the pool; false when that is used up. */
bool material_cut(struct material *m, size_t len, struct bytes *out);
struct bytes material_donor(const struct material *m);

#endif
