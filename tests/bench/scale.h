/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SCALE_H
#define TESTS_BENCH_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/bench/scale_model.h"

/*
 * What the parts of the benchmark of large trees share.  It is a program: it
 * prints, and what fails ends it with exit code 1.
 *
 * In DIRECTORY are source/, the tree, with files that have the size and no
 * bytes, and catalog/.
 */
struct scale {
	struct scale_model model;
	const char *directory; /* or the mount */
	uint64_t queries;
};

/* ---- what can be done: each prints its figures ---- */

/* Makes the tree and the catalog; bare: without files, which nothing but the
 * index can do with. */
void scale_fill(const struct scale *s, bool bare);

/* Opens and loads the catalog as a mount does, and asks the index, if there
 * are queries. */
void scale_ask(const struct scale *s);

/* Makes groups of what is in the catalog, which is not mounted. */
void scale_groups(const struct scale *s);

/* Lists what resembles what through the mount. */
void scale_list(const struct scale *s);

/* ---- places ---- */

enum { SCALE_PATH = 64 };

/* Relative to the source; copy 0 is the content's first file. */
void scale_path(uint64_t number, uint64_t copy, char out[SCALE_PATH]);

/* The number of the content that query i is about: any, or of the
 * crowd. */
enum scale_choice { SCALE_ANY, SCALE_CROWD };
uint64_t scale_question(const struct scale *s, enum scale_choice choice,
			uint64_t i);

/* ---- figures ---- */

double scale_clock(void);

/* "key value unit" */
void scale_figure(const char *key, const char *unit, double value);

/* Sorts them; "key.p50" and so on. */
void scale_figures(const char *key, const char *unit, double *values,
		   size_t count);

#endif
