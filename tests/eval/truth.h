/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_TRUTH_H
#define TESTS_EVAL_TRUTH_H

#include <stddef.h>
#include <stdint.h>

/*
 * How alike two contents are, exactly.
 *
 * A content is the set of its distinct windows of 16 bytes, each by a hash of
 * 64 bits; one that is shorter has itself for its only window.  Windows that
 * repeat one byte do not count: padding is not in common.
 */
#define TRUTH_WINDOW 16

struct windows {
	uint64_t *hash; /* ascending; owned */
	size_t count;
};

struct truth {
	float jaccard;     /* 0..1 */
	float containment; /* of the content with fewer windows, 0..1 */
	/* Percentage of the larger content's windows that the other one has:
	 * what a score estimates. */
	float shared;
	/* Percentage of the bytes that are the same, where single bytes of one
	 * content were replaced to get the other; else the same as shared. */
	float bytes;
};

void windows_init(struct windows *out, const uint8_t *data, size_t len);
void windows_release(struct windows *w);

/* Sizes in bytes tell which content is the larger one; of two equal sizes it
 * is the one with more windows. */
struct truth truth_of(const struct windows *a, uint64_t size_a,
		      const struct windows *b, uint64_t size_b);

#endif
