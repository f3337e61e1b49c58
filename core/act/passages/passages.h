/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ACT_PASSAGES_PASSAGES_H
#define CORE_ACT_PASSAGES_PASSAGES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The passages that two contents have in common, found by reading both: what the
 * sketches estimate (core/index/judge.h), with the places.  Contents are compared
 * folded (core/digest/sketch/sketch.h), so letters and digits count.
 *
 * Of the second content a hash of each block of PASSAGE_BLOCK folded bytes is kept;
 * of the first one the hash of the same length is rolled over all places (Karp and
 * Rabin 1987; the blocks as in rsync: Tridgell 1999, chapter 3).  Where a block is
 * found, it is extended to both sides.  So each passage of 2 * PASSAGE_BLOCK - 1
 * folded bytes and more is found; of those that begin at one place, the longest.
 */
enum {
	PASSAGE_BLOCK = 32,
	/* Two passages are one if no more folded bytes are between them in
	 * either content: somebody has changed a word. */
	PASSAGE_GAP = 96,
};

/* A content with what it is folded to. */
struct folded_content {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	uint8_t *folded; /* owned */
	size_t length;   /* of what it is folded to */
	struct folded_mark *marks;
};

/* -ENOMEM.  To be released in any case. */
int folded_init(struct folded_content *c, const void *bytes, size_t size);
void folded_release(struct folded_content *c);

/* The number of the line of a byte, from 1. */
size_t folded_line(const struct folded_content *c, size_t place);

/* Bytes [a, a_end) of the first content and [b, b_end) of the second. */
struct passage {
	size_t a, a_end, b, b_end;
};

/* Those that are at least so many bytes long in one of the contents, in the order
 * of the first one; the caller frees the array.  -ENOMEM. */
int passages_find(const struct folded_content *a,
		  const struct folded_content *b, size_t least,
		  struct passage **out, size_t *count_out);

#endif
