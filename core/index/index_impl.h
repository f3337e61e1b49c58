/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_INDEX_IMPL_H
#define CORE_INDEX_INDEX_IMPL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/frequency.h"
#include "core/index/index.h"
#include "core/index/postings.h"

/*
 * Two locks.  change_lock makes changes come one at a time and is taken
 * first; its holder may read everything without the other lock, because only
 * it writes.  columns_lock protects what queries see: the column pointers, the
 * number of rows and the sizes of rows below it, the postings, the
 * frequencies.  New rows are written behind the last visible one, and larger
 * or compacted columns are filled aside, as merged postings are, so
 * columns_lock is held for writing only to publish.
 *
 * A row is dead when its size is 0; no live content is empty.
 */
struct columns {
	uint32_t *content; /* ascending */
	uint64_t *size;
	uint64_t *simhash; /* 0: none */
	uint32_t *known;   /* sif_known() of its sketch, the upper bits */
	uint8_t *traits;   /* in tiles, see scan.h; all zero: none */
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
	_Atomic uint32_t end; /* index_end(); 0 before the first */
};

/* The smallest values of a sketch are indexed in any case. */
#define ANCHORS 8

/* What a value in common counts in the rank of a candidate, when no more than
 * FREQUENCY_COMMON contents have it. */
#define VALUE_RANK 32

/* The bits of a value that the column has not. */
#define KNOWN_SHIFT (SIF_BITS - 32)

/* First row whose content is not below the given one. */
size_t columns_row_from(const struct columns *c, size_t rows, uint32_t content);

/* The key of a value of a sketch in the postings. */
static inline uint32_t posting_key(uint64_t value)
{
	return (uint32_t)value & (POSTINGS_KEYS - 1);
}

#endif
