/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/bucket.h"

#include <assert.h>

#define SECOND_NS UINT64_C(1000000000)

void bucket_init(struct token_bucket *b, uint64_t rate, int64_t now_ns)
{
	*b = (struct token_bucket){ .rate = rate, .due_ns = now_ns };
}

int64_t bucket_due_ns(const struct token_bucket *b)
{
	return b->rate ? b->due_ns : INT64_MIN;
}

void bucket_close(struct token_bucket *b, int64_t until_ns)
{
	if (b->due_ns < until_ns) {
		b->due_ns = until_ns;
		b->rest = 0;
	}
}

void bucket_take(struct token_bucket *b, uint64_t bytes, int64_t now_ns)
{
	uint64_t parts;

	assert(bytes <= UINT64_C(1) << 32);
	if (!b->rate)
		return;
	bucket_close(b, now_ns - BUCKET_SAVED_NS);
	parts = bytes * SECOND_NS + b->rest;
	b->due_ns += (int64_t)(parts / b->rate);
	b->rest = parts % b->rate;
}
