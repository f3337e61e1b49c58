/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_WINDOW_SAMPLE_H
#define CORE_DIGEST_WINDOW_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/bottom_k.h"

/*
 * The smallest hashes of all windows of a stream, which sif and SimHash are
 * made from.  A window starts at every byte that has enough bytes behind it,
 * however the stream is cut into updates.
 */
#define WINDOW_SAMPLE_MOST 32 /* bytes of a window */
#define WINDOW_SAMPLE_LONG 16 /* from that on most occur once */

/* The windows that pick is given at once begin in one unit of the stream: where
 * a value was seen, if the sample counts them, is the number of that unit. */
#define WINDOW_SAMPLE_UNIT BOTTOM_K_PART

/*
 * Writes the hashes up to bound of the count windows that start at bytes,
 * bytes + 1 and so on; count is at most BOTTOM_K_PART.  Returns their number.
 */
typedef size_t window_pick_fn(void *arg, const uint8_t *bytes, size_t count,
			      uint64_t bound, uint64_t *hashes_out);

struct window_sample {
	size_t window; /* bytes */
	window_pick_fn *pick;
	void *arg;
	bool started;
	uint64_t length; /* bytes of the stream so far */
	size_t fill;     /* bytes in last: one less than a window has, but at
		      * the start */
	uint8_t last[WINDOW_SAMPLE_MOST];
	struct bottom_k smallest;
};

/* window is 2..WINDOW_SAMPLE_MOST, max as for bottom_k_begin(); arg is passed
 * to pick. */
void window_sample_begin(struct window_sample *s, size_t window, size_t max,
			 window_pick_fn *pick, void *arg);
void window_sample_update(struct window_sample *s, const void *data,
			  size_t len);
/* Adds zero bytes as if they were data; many take no longer than some. */
void window_sample_update_zeros(struct window_sample *s, uint64_t len);

#endif
