/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_KERNEL_IMPL_H
#define CORE_KERNEL_KERNEL_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel/kernel.h"

extern const struct kernel_rdc rdc_scalar;
extern const struct kernel_md4 md4_scalar;

void rdc_hash_block_scalar(const struct kernel_rolling *rolling,
			   const uint8_t *data, size_t count, uint32_t hash,
			   uint32_t *hashes_out);

#ifdef __x86_64__
extern const struct kernel_rdc rdc_avx2;
extern const struct kernel_md4 md4_avx2;
extern const struct kernel_rdc rdc_avx512;
extern const struct kernel_md4 md4_avx512;
#endif

/* ---- MD4 of several messages side by side ---- */

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
