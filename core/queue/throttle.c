/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/throttle.h"

#include "core/engine/engine_impl.h"

enum { LEAST_READ = 4096 }; /* what reading less costs the disk */

static int64_t ms_of(int64_t ns)
{
	return ns > 0 ? (ns + 999999) / 1000000 : 0;
}

/* ---- life ---- */

int throttle_init(struct throttle *p)
{
	return -pthread_mutex_init(&p->lock, NULL);
}

void throttle_start(struct engine *e)
{
	int64_t now = clock_now_ns();

	bucket_init(&e->throttle.bytes, e->options.rate, now);
	backoff_init(&e->throttle.backoff, e->options.workers, now);
}

void throttle_release(struct throttle *p)
{
	pthread_mutex_destroy(&p->lock);
}

/* ---- while the host is busy ---- */

struct look {
	bool lately;
	int64_t due_ns;
};

static struct look look(struct engine *e, int64_t now_ns)
{
	const struct engine_host *host = &e->options.host;
	bool had_requests = host->had_requests && host->had_requests(host->ctx);
	struct throttle *p = &e->throttle;
	struct look found;

	pthread_mutex_lock(&p->lock);
	backoff_poll(&p->backoff, had_requests, now_ns);
	found.lately = backoff_was_busy(&p->backoff, now_ns);
	found.due_ns = backoff_due_ns(&p->backoff, now_ns);
	pthread_mutex_unlock(&p->lock);
	return found;
}

static void pay_time(struct throttle *p, int64_t since_ns, int64_t now_ns)
{
	pthread_mutex_lock(&p->lock);
	backoff_pay(&p->backoff, since_ns, now_ns);
	pthread_mutex_unlock(&p->lock);
}

int64_t throttle_due_ns(struct engine *e, int64_t *since_ns)
{
	int64_t now = clock_now_ns();
	struct look found;

	if (*since_ns)
		pay_time(&e->throttle, *since_ns, now);
	found = look(e, now);
	*since_ns = found.lately && found.due_ns <= now ? now : 0;
	return found.due_ns;
}

bool throttle_wait(struct engine *e, const struct job *job, int64_t *since_ns)
{
	int64_t due_ns;

	while ((due_ns = throttle_due_ns(e, since_ns)) > clock_now_ns())
		if (!queue_rest(&e->queue, job, ms_of(due_ns)))
			return false;
	return true;
}

bool throttle_was_busy(struct engine *e)
{
	return look(e, clock_now_ns()).lately;
}

void engine_hurry(struct engine *e)
{
	struct throttle *p = &e->throttle;

	pthread_mutex_lock(&p->lock);
	backoff_hurry(&p->backoff, clock_now_ns());
	pthread_mutex_unlock(&p->lock);
}

void throttle_end_hurry(struct engine *e)
{
	struct throttle *p = &e->throttle;

	pthread_mutex_lock(&p->lock);
	backoff_calm(&p->backoff, clock_now_ns());
	pthread_mutex_unlock(&p->lock);
}

/* ---- bytes ---- */

static int64_t read_due_ms(struct throttle *p)
{
	int64_t due_ns;

	pthread_mutex_lock(&p->lock);
	due_ns = bucket_due_ns(&p->bytes);
	pthread_mutex_unlock(&p->lock);
	return ms_of(due_ns);
}

bool throttle_wait_read(struct engine *e, const struct job *job)
{
	int64_t due_ms;

	while ((due_ms = read_due_ms(&e->throttle)) > clock_now_ms())
		if (!queue_rest(&e->queue, job, due_ms))
			return false;
	return true;
}

void throttle_charge_read(struct engine *e, size_t bytes)
{
	struct throttle *p = &e->throttle;

	if (bytes < LEAST_READ)
		bytes = LEAST_READ;
	pthread_mutex_lock(&p->lock);
	bucket_take(&p->bytes, bytes, clock_now_ns());
	pthread_mutex_unlock(&p->lock);
}
