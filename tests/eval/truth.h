/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_TRUTH_H
#define TESTS_EVAL_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How alike two contents are, exactly.
 *
 * NUL, white space and the punctuation of ASCII are left out of a content, and A to
 * Z become a to z; what is left is the folded content.  A content is the windows of
 * 16 bytes of that, each by a hash of 64 bits and with how often it occurs: n times
 * count log2(1 + n).  Windows that repeat one byte do not count: padding is not in
 * common.
 */
#define TRUTH_WINDOW 16

struct windows {
	uint64_t *hash;  /* distinct, ascending; owned */
	uint32_t *times; /* how often each occurs; owned */
	size_t count;
	double extent; /* the sum of log2(1 + times) */
};

struct truth {
	float jaccard; /* of the distinct windows, 0..1 */
	/* Percentage of the larger content's extent that the other one has as
	 * well: what a score estimates. */
	float shared;
	float contained; /* the same of the smaller content's extent */
	float ratio;     /* of the larger extent to the smaller */
};

/* Tables of one kind share few distinct windows, but many times. */
static inline bool truth_is_unrelated(const struct truth *t)
{
	return t->jaccard < 0.05f && t->shared < 10;
}

/* Copies what is not left out, folded; returns how much that is. */
size_t fold(const uint8_t *data, size_t len, uint8_t *out);

void windows_init(struct windows *out, const uint8_t *data, size_t len);
void windows_release(struct windows *w);

/* The larger content is the one of the larger extent.  All 0 if one has no
 * windows. */
struct truth truth_of(const struct windows *a, const struct windows *b);

#endif
