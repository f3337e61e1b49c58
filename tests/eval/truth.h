/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_TRUTH_H
#define TESTS_EVAL_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How alike two contents are, exactly.
 *
 * The blanks NUL, TAB, LF, VT, FF, CR and SPACE are left out of a content; what
 * is left is the folded content.  A content is the windows of 16 bytes of that,
 * each by a hash of 64 bits and with how often it occurs.  Windows that repeat
 * one byte do not count: padding is not in common.
 */
#define TRUTH_WINDOW 16

struct windows {
	uint64_t *hash;  /* distinct, ascending; owned */
	uint32_t *times; /* how often each occurs; owned */
	size_t count;
	uint64_t all; /* the sum of times */
};

struct truth {
	float jaccard; /* of the distinct windows, 0..1 */
	/* Percentage of the larger content's windows that the other one has
	 * as well, each as often: what a score estimates. */
	float shared;
	float contained; /* the same of the smaller content's windows */
	float ratio;     /* windows of the larger to those of the smaller */
};

/* Tables of one kind share few distinct windows, but many times. */
static inline bool truth_is_unrelated(const struct truth *t)
{
	return t->jaccard < 0.05f && t->shared < 10;
}

/* Copies what is not blank; returns how much that is. */
size_t fold(const uint8_t *data, size_t len, uint8_t *out);

void windows_init(struct windows *out, const uint8_t *data, size_t len);
void windows_release(struct windows *w);

/* The larger content is the one that has more windows.  All 0 if one has
 * none. */
struct truth truth_of(const struct windows *a, const struct windows *b);

#endif
