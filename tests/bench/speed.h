/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SPEED_H
#define TESTS_BENCH_SPEED_H

#include "tests/bench/bench.h"
#include "tests/bench/inputs.h"
#include "tests/bench/subject.h"

/* Digest the input as files of piece bytes; what is left over at its end is
 * left out. */
struct load {
	const struct subject *subject;
	const struct input *in;
	size_t piece;
};

/*
 * Nanoseconds per byte for the variants from number first on.  The runs of the
 * variants take turns.  Nothing is timed before every variant gave the results
 * of the scalar one for every file: one that does not ends the program.
 */
void measure_speed(const struct bench *b, const struct load *load, size_t first,
		   double ns_out[MAX_VARIANTS]);

/* Of the last variant, the fastest. */
double measure_best(const struct bench *b, const struct load *load);

#endif
