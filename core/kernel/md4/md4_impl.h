/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_MD4_MD4_IMPL_H
#define CORE_KERNEL_MD4_MD4_IMPL_H

#include "core/kernel/md4/md4.h"

/*
 * MD4 of several messages side by side, a lane for each.  All lanes go on for
 * a turn of some blocks before it is found out which of them need other data;
 * those of a lane whose message ends earlier in the turn do not count.
 */
#define MD4_MAX_LANES 64
#define MD4_BLOCK 64
#define MD4_TURN 4 /* blocks */

extern const uint32_t md4_start[4];

struct md4_lanes {
	uint32_t words[4][MD4_MAX_LANES]; /* the states */
	uint32_t blocks[MD4_MAX_LANES];   /* that count, 0..MD4_TURN */
	const uint8_t *at[MD4_MAX_LANES]; /* MD4_TURN blocks in any case */
};

/* So many lanes take up to count blocks into their states. */
struct md4_width {
	size_t lanes;
	void (*turn)(struct md4_lanes *lanes, size_t count);
};

/* What struct kernel_md4 says of many, with width_count widths, the narrowest
 * first. */
size_t md4_many_lanes(struct kernel_message *messages, size_t count,
		      size_t leave, uint8_t (*hashes_out)[16],
		      const struct md4_width *widths, size_t width_count);

#endif
