/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_EVAL_H
#define TESTS_EVAL_EVAL_H

#include <stddef.h>
#include <stdint.h>

/*
 * What the parts of the evaluation share.  It is a program: it prints, and
 * what fails ends it with exit code 2.  Everything that is drawn comes from
 * seeds, so that two runs over the same files print the same.
 */
#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

void fail(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* When err is not 0. */
void fail_errno(const char *what, int err);

/* At least one byte; there is always memory, or the program ends. */
void *allocate(size_t size);
char *allocate_text(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* The array with room for one more element behind count: it doubles when it
 * is full. */
void *grown(void *array, size_t count, size_t element);

/* splitmix64; any state will do. */
uint64_t draw(uint64_t *state);
/* 0..limit-1, and 0 when limit is 0. */
size_t draw_below(uint64_t *state, size_t limit);
uint64_t hash_text(const char *text);

/* Size classes of files and of pairs, which have that of the smaller file. */
#define SIZE_CLASSES 6
extern const char *const size_class_names[SIZE_CLASSES];
size_t size_class(uint64_t size);

#endif
