/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_MD4_IMPL_H
#define CORE_KERNEL_MD4_IMPL_H

#include "core/kernel/md4.h"

/* MD4 of several messages side by side. */

#define MD4_MAX_LANES 16

extern const uint32_t md4_start[4];

/*
 * The state of message l is in words[0..3][l], little-endian; its next block
 * is at[l], the one after that step[l] bytes further.
 */
struct md4_lanes {
	uint32_t words[4][MD4_MAX_LANES];
	const uint8_t *at[MD4_MAX_LANES];
	size_t step[MD4_MAX_LANES];
};

/* Takes count > 0 blocks of every message into its state and leaves at and
 * step alone. */
typedef void md4_run_fn(struct md4_lanes *lanes, size_t count);

/* What struct kernel_md4 says of many. */
void md4_many_lanes(const struct kernel_message *messages, size_t count,
		    uint8_t (*hashes_out)[16], size_t lane_count,
		    md4_run_fn *run);

#endif
