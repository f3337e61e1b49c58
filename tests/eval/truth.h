/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_TRUTH_H
#define TESTS_EVAL_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How alike two contents are, exactly.
 *
 * A content is its windows of 16 bytes, each by a hash of 64 bits and with how
 * often it occurs; one that is shorter has itself for its only window.  Windows
 * that repeat one byte do not count: padding is not in common.
 */
#define TRUTH_WINDOW 16

struct windows {
	uint64_t *hash;  /* distinct, ascending; owned */
	uint32_t *times; /* how often each occurs; owned */
	size_t count;
	uint64_t all; /* the sum of times */
};

struct truth {
	float jaccard;     /* of the distinct windows, 0..1 */
	float containment; /* of the content with fewer of them, 0..1 */
	/* Percentage of the larger content's windows that the other one has
	 * as well, each as often: what a score estimates. */
	float shared;
	/* Percentage of the bytes that are the same, where single bytes of one
	 * content were replaced to get the other; else the same as shared. */
	float bytes;
};

/* Tables of one kind share few distinct windows, but many times. */
static inline bool truth_is_unrelated(const struct truth *t)
{
	return t->jaccard < 0.05f && t->shared < 10;
}

void windows_init(struct windows *out, const uint8_t *data, size_t len);
void windows_release(struct windows *w);

/* The larger content is the one that has more windows. */
struct truth truth_of(const struct windows *a, const struct windows *b);

#endif
