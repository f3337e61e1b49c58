/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_RDC_BLOCK_H
#define CORE_DIGEST_RDC_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel/rdc.h"

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

struct rdc_block {
	struct kernel_high high; /* at least one */
	bool all_high;           /* are there, of those from limit on */
	uint32_t limit;
	struct rdc_peak peak;
};

/* The count > 0 bytes at data and the window before them are read. */
void rdc_block_hash(const struct rdc_hasher *hasher, const uint8_t *data,
		    size_t count, struct rdc_block *out);

/* Whether the hashes from first to last - 1, at least one, are below limit. */
bool rdc_block_below(const struct rdc_hasher *hasher, const uint8_t *data,
		     const struct rdc_block *block, size_t first, size_t last,
		     uint32_t limit);

#endif
