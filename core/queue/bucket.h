/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_BUCKET_H
#define CORE_QUEUE_BUCKET_H

#include <stdint.h>

/*
 * A token bucket that may run into debt.  A thread waits until the bucket has
 * no debt, works, and takes as many tokens as it has used; so it need not know
 * the number beforehand, and the rate is exact in the long run.  The bucket
 * holds the tokens of BUCKET_SAVED_NS at most.
 *
 * All times are the caller's, in nanoseconds of a monotonic clock.  Not
 * thread-safe: the caller has a lock.
 */
#define BUCKET_SAVED_NS INT64_C(100000000)

struct token_bucket {
	uint64_t rate;  /* tokens a second; 0: no limit */
	int64_t due_ns; /* when the debt is paid off */
	uint64_t rest;  /* the fraction of a nanosecond to add, in 1/rate */
};

void bucket_init(struct token_bucket *b, uint64_t rate, int64_t now_ns);

/* When tokens may be taken; a time in the past means now. */
int64_t bucket_due_ns(const struct token_bucket *b);

/* Allows no tokens to be taken before until_ns. */
void bucket_close(struct token_bucket *b, int64_t until_ns);

/* At most 2^32 tokens at a time. */
void bucket_take(struct token_bucket *b, uint64_t bytes, int64_t now_ns);

#endif
