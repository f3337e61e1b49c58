/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/throttle.h"

#include "core/base/clock.h"
#include "core/queue/queue.h"

/* Smaller reads are charged as this: the disk reads a page anyway. */
enum { LEAST_READ = 4096 };

static int64_t ms_of(int64_t ns)
{
	return ns > 0 ? (ns + 999999) / 1000000 : 0;
}

/* ---- life ---- */

int throttle_init(struct throttle *t, const struct throttle_context *context)
{
	int64_t now = clock_now_ns();

	t->context = *context;
	bucket_init(&t->bytes, context->rate, now);
	backoff_init(&t->backoff, context->workers, now);
	return -pthread_mutex_init(&t->lock, NULL);
}

void throttle_release(struct throttle *t)
{
	pthread_mutex_destroy(&t->lock);
}

/* ---- while the host is busy ---- */

struct host_state {
	bool was_busy; /* backoff_was_busy() */
	int64_t due_ns;
};

static struct host_state poll_host(struct throttle *t, int64_t now_ns)
{
	const struct throttle_context *c = &t->context;
	bool had_requests = c->had_requests && c->had_requests(c->ctx);
	struct host_state found;

	pthread_mutex_lock(&t->lock);
	backoff_poll(&t->backoff, had_requests, now_ns);
	found.was_busy = backoff_was_busy(&t->backoff, now_ns);
	found.due_ns = backoff_due_ns(&t->backoff, now_ns);
	pthread_mutex_unlock(&t->lock);
	return found;
}

static void pay_time(struct throttle *t, int64_t since_ns, int64_t now_ns)
{
	pthread_mutex_lock(&t->lock);
	backoff_pay(&t->backoff, since_ns, now_ns);
	pthread_mutex_unlock(&t->lock);
}

int64_t throttle_due_ns(struct throttle *t, int64_t *since_ns)
{
	int64_t now = clock_now_ns();
	struct host_state found;

	if (*since_ns)
		pay_time(t, *since_ns, now);
	found = poll_host(t, now);
	*since_ns = found.was_busy && found.due_ns <= now ? now : 0;
	return found.due_ns;
}

bool throttle_wait(struct throttle *t, const struct job *job, int64_t *since_ns)
{
	int64_t due_ns;

	while ((due_ns = throttle_due_ns(t, since_ns)) > clock_now_ns())
		if (!queue_wait_until(t->context.queue, job, ms_of(due_ns)))
			return false;
	return true;
}

void throttle_hurry(struct throttle *t)
{
	pthread_mutex_lock(&t->lock);
	backoff_hurry(&t->backoff, clock_now_ns());
	pthread_mutex_unlock(&t->lock);
	queue_hurry(t->context.queue, clock_now_ms() + BACKOFF_HURRY_MS);
}

void throttle_end_hurry(struct throttle *t)
{
	pthread_mutex_lock(&t->lock);
	backoff_calm(&t->backoff, clock_now_ns());
	pthread_mutex_unlock(&t->lock);
	queue_hurry(t->context.queue, 0);
}

/* ---- bytes ---- */

static int64_t read_due_ms(struct throttle *t)
{
	int64_t due_ns;

	pthread_mutex_lock(&t->lock);
	due_ns = bucket_due_ns(&t->bytes);
	pthread_mutex_unlock(&t->lock);
	return ms_of(due_ns);
}

bool throttle_wait_read(struct throttle *t, const struct job *job)
{
	int64_t due_ms;

	while ((due_ms = read_due_ms(t)) > clock_now_ms())
		if (!queue_wait_until(t->context.queue, job, due_ms))
			return false;
	return true;
}

void throttle_charge_read(struct throttle *t, size_t bytes)
{
	if (bytes < LEAST_READ)
		bytes = LEAST_READ;
	pthread_mutex_lock(&t->lock);
	bucket_take(&t->bytes, bytes, clock_now_ns());
	pthread_mutex_unlock(&t->lock);
}
