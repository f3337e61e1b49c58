/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_BUCKET_H
#define CORE_QUEUE_BUCKET_H

#include <stdint.h>

/*
 * A token bucket that runs into debt: a thread that may take takes what it
 * needs, and the next one comes when that is paid off.  So nothing has to be
 * known or given back beforehand, and the rate is exact in the long run.  What
 * is not used for BUCKET_SAVED_NS can be used later, more cannot.
 *
 * The clock is the caller's, in nanoseconds from any start, and never goes
 * back.  No lock: the caller's, too.
 */
#define BUCKET_SAVED_NS INT64_C(100000000)

struct token_bucket {
	uint64_t rate;  /* bytes a second; 0: no limit */
	int64_t due_ns; /* all that was taken is paid off then */
	uint64_t rest;  /* and that many 1/rate of a nanosecond */
};

void bucket_init(struct token_bucket *b, uint64_t rate, int64_t now_ns);

/* From when on something may be taken; in the past means now. */
int64_t bucket_due_ns(const struct token_bucket *b);

/* Nothing is to be taken before that. */
void bucket_close(struct token_bucket *b, int64_t until_ns);

/* At most 2^32 bytes at a time. */
void bucket_take(struct token_bucket *b, uint64_t bytes, int64_t now_ns);

#endif
