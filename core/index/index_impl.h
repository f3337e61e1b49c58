/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_INDEX_IMPL_H
#define CORE_INDEX_INDEX_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/weight.h"
#include "core/index/index.h"
#include "core/index/postings.h"

/*
 * Two locks; change_lock is taken first.
 *
 * change_lock is held for the whole of a change.  Its holder may read all
 * fields without rows_lock, because no other thread writes.
 *
 * rows_lock protects what queries read: the rows and their number, the postings,
 * the pictures and the frequencies.  It is held
 * for writing only to publish: a new row is written behind the last row that
 * queries see, and rows that are enlarged or compacted are copies until they
 * replace the old ones.
 *
 * A row is dead when its level is LEVEL_DEAD.
 */
struct row {
	double extent;  /* of the sketch */
	uint32_t id;    /* ascending */
	uint32_t other; /* of the subject's other sketch; 0: it has none */
	uint8_t level;  /* of the sketch */
	bool is_text;   /* other is the content then */
};

static inline uint32_t row_content(const struct row *row)
{
	return row->is_text ? row->other : row->id;
}

/* A query looks at all of them: a million take a tenth of a second. */
struct picture_row {
	uint32_t id; /* ascending */
	uint32_t content;
	struct pdq hash;
};

struct index {
	pthread_mutex_t change_lock;
	pthread_rwlock_t rows_lock;
	struct row *rows; /* owned */
	size_t count, room;
	size_t dead;
	struct picture_row *pictures; /* owned */
	size_t picture_count;
	struct frequency *frequency;
	struct postings *postings;
	_Atomic uint32_t end;     /* index_end() */
	_Atomic uint64_t changes; /* index_change_count() */
};

/* So many of the smallest values of a sketch are always in the postings. */
#define ANCHORS 8

/* What a shared value adds to the rank of a candidate if at most
 * WEIGHT_FULL contents have it. */
#define VALUE_RANK 32

#define LEVEL_DEAD UINT8_MAX

/* The row with that id, if it is alive; or NULL. */
struct row *index_row(const struct index *ix, uint32_t id);

/*
 * Posting lists and numbers of contents for a caller to whom not every content is
 * visible.  These functions are called without a lock.
 */

/* Finds the visible contents of a key, at most `most` and one more: so many are
 * in out then.  -ENOMEM. */
int visible_find(struct index *ix, const struct index_visibility *v,
		 uint32_t key, size_t most, uint32_t *out, size_t *count_out);

/* postings_limit(), with the lock taken. */
uint32_t visible_limit(struct index *ix);

struct visible_index {
	struct index *ix;
	struct index_visibility *visibility; /* NULL: all are visible */
	uint32_t limit;                      /* visible_limit() */
	int err; /* of the first number that could not be found */
};

/* Serves as weigher.contents; arg is a struct visible_index.  Of a value that
 * the postings hold for some contents only (as an anchor) it is not known. */
uint32_t visible_contents(void *arg, uint64_t value);

/* The key of a value in the postings. */
static inline uint32_t posting_key(uint64_t value)
{
	return (uint32_t)(sketch_spread(value) >> 33);
}

#endif
