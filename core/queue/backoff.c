/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/backoff.h"

#define MS_NS INT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

static int64_t sooner(int64_t a_ns, int64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

void backoff_init(struct backoff *b, unsigned workers, int64_t now_ns)
{
	*b = (struct backoff){ .busy_ns = now_ns - BACKOFF_LATELY_MS * MS_NS,
			       .quiet_ns = now_ns,
			       .hurry_ns = now_ns };
	bucket_init(&b->share, SECOND_NS / 100 * BACKOFF_PERCENT * workers,
		    now_ns);
	bucket_init(&b->lately,
		    SECOND_NS / 100 * BACKOFF_LATELY_PERCENT * workers, now_ns);
}

void backoff_poll(struct backoff *b, bool had_requests, int64_t now_ns)
{
	int64_t quiet_ns = now_ns - b->quiet_ns;

	if (!had_requests) {
		if (now_ns >= b->busy_ns && b->quiet_ns > now_ns)
			b->quiet_ns = now_ns;
		return;
	}
	if (quiet_ns > BACKOFF_ALONE_MS * MS_NS)
		quiet_ns = BACKOFF_ALONE_MS * MS_NS;
	if (quiet_ns > 0)
		bucket_close(&b->share, now_ns + quiet_ns);
	b->quiet_ns = INT64_MAX;
	b->busy_ns = now_ns + BACKOFF_QUIET_MS * MS_NS;
}

void backoff_hurry(struct backoff *b, int64_t now_ns)
{
	b->hurry_ns = now_ns + BACKOFF_HURRY_MS * MS_NS;
}

void backoff_calm(struct backoff *b, int64_t now_ns)
{
	b->hurry_ns = sooner(b->hurry_ns, now_ns);
}

bool backoff_is_busy(const struct backoff *b, int64_t now_ns)
{
	return now_ns < b->busy_ns && now_ns >= b->hurry_ns;
}

/* When the host has had no request for BACKOFF_LATELY_MS. */
static int64_t lately_end_ns(const struct backoff *b)
{
	return b->busy_ns + (BACKOFF_LATELY_MS - BACKOFF_QUIET_MS) * MS_NS;
}

bool backoff_was_busy(const struct backoff *b, int64_t now_ns)
{
	return now_ns < lately_end_ns(b) && now_ns >= b->hurry_ns;
}

int64_t backoff_due_ns(const struct backoff *b, int64_t now_ns)
{
	if (now_ns < b->hurry_ns)
		return 0;
	if (backoff_is_busy(b, now_ns))
		return sooner(bucket_due_ns(&b->share), b->busy_ns);
	if (backoff_was_busy(b, now_ns))
		return sooner(bucket_due_ns(&b->lately), lately_end_ns(b));
	return now_ns;
}

void backoff_pay(struct backoff *b, int64_t since_ns, int64_t now_ns)
{
	uint64_t worked_ns =
		(uint64_t)sooner(now_ns - since_ns, BACKOFF_PIECE_MS * MS_NS);

	bucket_take(&b->lately, worked_ns, now_ns);
	if (since_ns < b->busy_ns)
		bucket_take(&b->share, worked_ns, now_ns);
}
