/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_INDEX_IMPL_H
#define CORE_INDEX_INDEX_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/frequency.h"
#include "core/index/index.h"
#include "core/index/postings.h"

/*
 * Two locks; change_lock is taken first.
 *
 * change_lock is held for the whole of a change.  Its holder may read all
 * fields without columns_lock, because no other thread writes.
 *
 * columns_lock protects what queries read: the column pointers, the number of
 * rows, the sizes of these rows, the postings and the frequencies.  It is held
 * for writing only to publish: a new row is written behind the last row that
 * queries see, and columns that are enlarged or compacted are copies until they
 * replace the old ones.
 *
 * A row is dead when its size is 0; no live content is empty.
 */
struct columns {
	uint32_t *content; /* ascending */
	uint64_t *size;
	uint64_t *simhash; /* 0: none */
	uint32_t *known;   /* upper 32 bits of sif_known() of the sketch */
	uint8_t *traits;   /* in tiles, see column_scan.h; all zero: none */
	size_t capacity;
};

struct index {
	pthread_mutex_t change_lock;
	pthread_rwlock_t columns_lock;
	struct columns columns;
	struct frequency *frequency;
	struct postings *postings;
	size_t rows;
	size_t dead;
	/* Under change_lock, see index_store_counts(). */
	size_t counted_removed; /* contents removed since all was counted */
	bool counts_distrusted;
	bool counts_loaded;       /* what is being loaded is counted already */
	_Atomic uint32_t end;     /* index_end(); 0 before the first */
	_Atomic uint64_t changes; /* index_change_count() */
};

/* So many of the smallest values of a sketch are always in the postings. */
#define ANCHORS 8

/* What a shared value adds to the rank of a candidate if at most
 * WEIGHT_FULL contents have it. */
#define VALUE_RANK 32

/* columns.known lacks so many of the lowest bits of a value. */
#define KNOWN_SHIFT (SIF_BITS - 32)

/* The first row whose content id is not below the given one. */
size_t columns_find_row(const struct columns *c, size_t rows, uint32_t content);

/* The key of a value in the postings. */
static inline uint32_t posting_key(uint64_t value)
{
	return (uint32_t)(sif_spread(value) >> 33);
}

#endif
