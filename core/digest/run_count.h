/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_RUN_COUNT_H
#define CORE_DIGEST_RUN_COUNT_H

#include <stddef.h>
#include <stdint.h>

/* How many windows of a stream repeat one byte, and how many do not.  A window
 * starts at every byte that has enough bytes behind it. */
struct run_count {
	size_t window;  /* bytes, 4 or more */
	uint64_t bytes; /* so far */
	uint64_t same;  /* windows that repeat one byte */
	uint64_t run;   /* equal bytes at the end, if there are bytes */
	uint8_t last;
};

void run_count_begin(struct run_count *r, size_t window);
void run_count_update(struct run_count *r, const void *data, size_t len);
/* Adds zero bytes as if they were data; many take no longer than some. */
void run_count_update_zeros(struct run_count *r, uint64_t len);

/* The windows that do not repeat one byte. */
uint64_t run_count_others(const struct run_count *r);

#endif
