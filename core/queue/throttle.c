/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/throttle.h"

#include <assert.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

#define MS_NS INT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

/* ---- a limit of something a second ---- */

void bucket_init(struct token_bucket *b, uint64_t rate, int64_t now_ns)
{
	*b = (struct token_bucket){ .rate = rate, .due_ns = now_ns };
}

int64_t bucket_due_ns(const struct token_bucket *b)
{
	return b->rate ? b->due_ns : INT64_MIN;
}

/* Allows no tokens to be taken before until_ns. */
static void bucket_close(struct token_bucket *b, int64_t until_ns)
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

/* ---- a limit of working time ---- */

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

/* ---- both ---- */

/* Smaller reads are charged as this: the disk reads a page anyway. */
enum { LEAST_READ = 4096 };

int throttle_init(struct throttle *t, const struct throttle_context *context)
{
	int64_t now = clock_now_ns();
	int err = -pthread_mutex_init(&t->lock, NULL);

	t->context = *context;
	bucket_init(&t->bytes, context->rate, now);
	backoff_init(&t->backoff, context->workers, now);
	return err ? err : cond_init_monotonic(&t->wake);
}

void throttle_release(struct throttle *t)
{
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
}

void throttle_stop(struct throttle *t)
{
	pthread_mutex_lock(&t->lock);
	t->stopped = true;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

int64_t throttle_due_ns(struct throttle *t, int64_t *since_ns)
{
	const struct throttle_context *c = &t->context;
	bool had_requests = c->had_requests && c->had_requests(c->ctx);
	int64_t now = clock_now_ns(), due_ns;

	pthread_mutex_lock(&t->lock);
	if (*since_ns)
		backoff_pay(&t->backoff, *since_ns, now);
	backoff_poll(&t->backoff, had_requests, now);
	due_ns = t->stopped ? 0 : backoff_due_ns(&t->backoff, now);
	*since_ns =
		backoff_was_busy(&t->backoff, now) && due_ns <= now ? now : 0;
	pthread_mutex_unlock(&t->lock);
	return due_ns;
}

int64_t throttle_read_due_ns(struct throttle *t)
{
	int64_t due_ns;

	pthread_mutex_lock(&t->lock);
	due_ns = t->stopped ? 0 : bucket_due_ns(&t->bytes);
	pthread_mutex_unlock(&t->lock);
	return due_ns;
}

void throttle_charge_read(struct throttle *t, size_t bytes)
{
	if (bytes < LEAST_READ)
		bytes = LEAST_READ;
	pthread_mutex_lock(&t->lock);
	bucket_take(&t->bytes, bytes, clock_now_ns());
	pthread_mutex_unlock(&t->lock);
}

void throttle_sleep(struct throttle *t, const atomic_bool *open,
		    int64_t until_ns)
{
	pthread_mutex_lock(&t->lock);
	if (!atomic_load(open) && !t->stopped)
		cond_wait_until(&t->wake, &t->lock,
				(until_ns + 999999) / 1000000);
	pthread_mutex_unlock(&t->lock);
}

void throttle_wake(struct throttle *t)
{
	pthread_mutex_lock(&t->lock);
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

void throttle_hurry(struct throttle *t)
{
	pthread_mutex_lock(&t->lock);
	backoff_hurry(&t->backoff, clock_now_ns());
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

void throttle_end_hurry(struct throttle *t)
{
	pthread_mutex_lock(&t->lock);
	backoff_calm(&t->backoff, clock_now_ns());
	pthread_mutex_unlock(&t->lock);
}
