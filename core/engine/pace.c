/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/pace.h"

#include "core/engine/engine_impl.h"

enum { LEAST_READ = 4096 }; /* what reading less costs the disk */

/* ---- life ---- */

int pace_init(struct pace *p)
{
	return -pthread_mutex_init(&p->lock, NULL);
}

void pace_start(struct engine *e)
{
	bucket_init(&e->pace.bytes, e->options.rate, engine_now_ns());
}

void pace_release(struct pace *p)
{
	pthread_mutex_destroy(&p->lock);
}

/* ---- bytes ---- */

static int64_t read_due_ms(struct pace *p)
{
	int64_t due_ns;

	pthread_mutex_lock(&p->lock);
	due_ns = bucket_due_ns(&p->bytes);
	pthread_mutex_unlock(&p->lock);
	return due_ns > 0 ? (due_ns + 999999) / 1000000 : 0;
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
