/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_RDC_RDC_BLOCK_H
#define CORE_DIGEST_RDC_RDC_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel/rdc/rdc.h"

/*
 * The hashes of a block of bytes, for FilterMax, which asks where the largest
 * is and how others compare to it.  Only the few that are high are kept.
 */
#define RDC_MAX_BLOCK 1024

struct rdc_hasher {
	const struct kernel_rdc *ops; /* borrowed */
	struct kernel_rolling rolling;
};

struct rdc_peak {
	uint32_t hash;
	uint32_t place; /* the first with this hash */
	bool unique;
};

#define RDC_HIGH 16

struct rdc_block {
	uint32_t places[RDC_HIGH], hashes[RDC_HIGH];
	size_t count;  /* of these, the high ones */
	bool all_high; /* are there, of those from limit on */
	uint32_t limit;
	struct rdc_peak peak;
};

/* Whether the hashes from first to last - 1, at least one, are below limit. */
bool rdc_block_below(const struct rdc_hasher *hasher, const uint8_t *data,
		     const struct rdc_block *block, size_t first, size_t last,
		     uint32_t limit);

/* Several blocks, one behind the other, that are hashed together. */
#define RDC_ROW 16

struct rdc_row {
	const struct rdc_hasher *hasher; /* borrowed, as is data */
	const uint8_t *data;             /* of the next block */
	size_t size;                     /* of a block */
	size_t left;                     /* blocks from there on */
	size_t start, next;              /* places before its own; of them */
	struct kernel_high high;
	uint32_t limit;
	size_t period;            /* of the last block; 0: it has none */
	struct rdc_peak run_peak; /* of its first period */
};

/*
 * count blocks of size bytes each, 1..RDC_ROW and 1..RDC_MAX_BLOCK.  These and
 * the window before them are read.
 */
void rdc_row_hash(const struct rdc_hasher *hasher, const uint8_t *data,
		  size_t size, size_t count, struct rdc_row *out);

/* The blocks in order. */
void rdc_row_next(struct rdc_row *row, struct rdc_block *out);

#endif
