/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/pace.h"

#include "core/engine/engine_impl.h"

enum { LEAST_READ = 4096 }; /* what reading less costs the disk */

static int64_t ms_of(int64_t ns)
{
	return ns > 0 ? (ns + 999999) / 1000000 : 0;
}

/* ---- life ---- */

int pace_init(struct pace *p)
{
	return -pthread_mutex_init(&p->lock, NULL);
}

void pace_start(struct engine *e)
{
	int64_t now = engine_now_ns();

	bucket_init(&e->pace.bytes, e->options.rate, now);
	backoff_init(&e->pace.backoff, e->options.workers, now);
}

void pace_release(struct pace *p)
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
	bool asked = host->asked && host->asked(host->ctx);
	struct pace *p = &e->pace;
	struct look found;

	pthread_mutex_lock(&p->lock);
	backoff_look(&p->backoff, asked, now_ns);
	found.lately = backoff_was_busy(&p->backoff, now_ns);
	found.due_ns = backoff_due_ns(&p->backoff, now_ns);
	pthread_mutex_unlock(&p->lock);
	return found;
}

static void pay_time(struct pace *p, int64_t since_ns, int64_t now_ns)
{
	pthread_mutex_lock(&p->lock);
	backoff_pay(&p->backoff, since_ns, now_ns);
	pthread_mutex_unlock(&p->lock);
}

int64_t pace_due_ns(struct engine *e, int64_t *since_ns)
{
	int64_t now = engine_now_ns();
	struct look found;

	if (*since_ns)
		pay_time(&e->pace, *since_ns, now);
	found = look(e, now);
	*since_ns = found.lately && found.due_ns <= now ? now : 0;
	return found.due_ns;
}

bool pace_rest(struct engine *e, const struct job *job, int64_t *since_ns)
{
	int64_t due_ns;

	while ((due_ns = pace_due_ns(e, since_ns)) > engine_now_ns())
		if (!queue_rest(&e->queue, job, ms_of(due_ns)))
			return false;
	return true;
}

bool pace_was_busy(struct engine *e)
{
	return look(e, engine_now_ns()).lately;
}

void engine_hurry(struct engine *e)
{
	struct pace *p = &e->pace;

	pthread_mutex_lock(&p->lock);
	backoff_hurry(&p->backoff, engine_now_ns());
	pthread_mutex_unlock(&p->lock);
}

void pace_calm(struct engine *e)
{
	struct pace *p = &e->pace;

	pthread_mutex_lock(&p->lock);
	backoff_calm(&p->backoff, engine_now_ns());
	pthread_mutex_unlock(&p->lock);
}

/* ---- bytes ---- */

static int64_t read_due_ms(struct pace *p)
{
	int64_t due_ns;

	pthread_mutex_lock(&p->lock);
	due_ns = bucket_due_ns(&p->bytes);
	pthread_mutex_unlock(&p->lock);
	return ms_of(due_ns);
}

bool pace_rest_read(struct engine *e, const struct job *job)
{
	int64_t due_ms;

	while ((due_ms = read_due_ms(&e->pace)) > engine_now_ms())
		if (!queue_rest(&e->queue, job, due_ms))
			return false;
	return true;
}

void pace_pay_read(struct engine *e, size_t bytes)
{
	struct pace *p = &e->pace;

	if (bytes < LEAST_READ)
		bytes = LEAST_READ;
	pthread_mutex_lock(&p->lock);
	bucket_take(&p->bytes, bytes, engine_now_ns());
	pthread_mutex_unlock(&p->lock);
}
