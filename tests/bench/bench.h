/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/kernel/kernel.h"

/*
 * What the parts of the benchmark of the digests share.  It is a program: it
 * prints, and what fails ends it with exit code 1.
 *
 * All times are CPU times of the one thread, so that a busy machine disturbs
 * them little, and medians of several runs.
 */
#define MAX_VARIANTS 8
#define MAX_RUNS 99
#define MIB ((size_t)1 << 20)
#define KIB ((size_t)1 << 10)

struct bench {
	size_t size;                       /* of the large inputs */
	size_t runs;                       /* 1..MAX_RUNS */
	const struct kernel_ops *variants; /* kernel_all() */
	size_t variant_count;
	FILE *figures; /* NULL: nobody wants them */
};

/* ---- parts: each prints its tables ---- */

void bench_speed(const struct bench *b);
void bench_small(const struct bench *b);
void bench_pairs(const struct bench *b);
void bench_memory(const struct bench *b);

/* ---- figures ---- */

double cpu_seconds(void);

/* Of 1 or more values, which get sorted. */
double median(double *values, size_t count);

/* A line "table subject variant unit value" for scripts; no argument has
 * blanks. */
void figure(const struct bench *b, const char *table, const char *subject,
	    const char *variant, const char *unit, double value);

/* A blank, and the names of the variants over columns of that width. */
void print_variants(const struct bench *b, int width);

/* ---- failures ---- */

void fail(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* When err is not 0. */
void fail_errno(const char *what, int err);

void *allocate(size_t size);

#endif
