/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_INDEX_H
#define CORE_INDEX_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"

/*
 * Which contents resemble which, in memory.
 *
 * Flat columns, one row per distinct content: content id, size, SimHash, RDC
 * traits (36 bytes a row).  A query streams over the columns.  Beside them
 * only counts of features are kept.  Thread-safe: many queries or one
 * change at a time.
 *
 * The index knows contents by their id only, nothing of files or storage.
 */
struct index;

int index_new(struct index **out);
void index_free(struct index *ix);

/* Adds a content; ids come in ascending order (-EINVAL else).  An empty
 * content (size 0) must not be added: it resembles nothing. */
int index_add(struct index *ix, uint32_t content, const struct digests *d);

/* Counts the features of a content that was added without its SiSe
 * signature (see frequency.h). */
int index_learn(struct index *ix, const struct digests *d);

/* 0 also when it is not there.  Rows of removed contents are reclaimed by
 * themselves. */
int index_remove(struct index *ix, uint32_t content);

/* One more than the greatest id ever added; 1 at first. */
uint32_t index_end(const struct index *ix);

size_t index_count(const struct index *ix);
size_t index_bytes(const struct index *ix);

/*
 * A content that is scored against others: what of it need be looked at only
 * once.  For one thread at a time.
 */
struct index_subject;

/* Borrows d.  -EINVAL when its SiSe signature is malformed, -ENOMEM. */
int index_subject_new(struct index *ix, const struct digests *d,
		      struct index_subject **out);
void index_subject_free(struct index_subject *s);

/*
 * Its score against another content as score_contents() has it, less what
 * they share only with a large part of all contents in the index (see
 * frequency.h).  -EINVAL as above.
 */
int index_score(struct index_subject *s, const struct digests *d,
		int *score_out);

struct candidate {
	uint64_t size;
	uint32_t content;
	uint8_t distance; /* Hamming distance of the SimHashes, 0..64 */
	uint8_t traits;   /* equal RDC traits, 0..16 */
	uint8_t estimate; /* 0..99: score_estimate() of the two */
};

/* What is to resemble what. */
struct index_query {
	const struct digests *digests;
	uint32_t self;          /* the content that has them, 0: none */
	uint32_t first_content; /* least id that is looked at; 1: all */
	int min_estimate;       /* candidates below are not reported */
};

/* The contents most likely to resemble the digests of q, but self, best
 * estimate first, at most capacity. */
int index_query(struct index *ix, const struct index_query *q,
		struct candidate *out, size_t capacity, size_t *count_out);

#endif
