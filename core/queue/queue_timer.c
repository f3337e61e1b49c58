/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/queue.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/queue/job.h"
#include "core/queue/waiter.h"

/* Deadlines of parked requests, and ends of delays and coalescing. */

/* Queues the jobs that are ready; returns when the next one will be. */
static int64_t enqueue_ready(struct queue *q, const struct job_list *list,
			     int64_t now)
{
	struct job *job;

	while ((job = list->first) && job->ready_ms <= now) {
		job_leave(q, job);
		job_enqueue(q, job);
	}
	return job ? job->ready_ms : INT64_MAX;
}

/* Queues what is ready and takes off the requests whose deadline has passed.
 * Returns the time of the next timeout. */
static int64_t timer_step(struct queue *q, struct waiter **expired_out)
{
	int64_t now = clock_now_ms();
	int64_t next = enqueue_ready(q, &q->delayed, now);
	int64_t soonest = enqueue_ready(q, &q->coalescing, now);
	struct waiter *w;

	if (soonest < next)
		next = soonest;
	while ((w = q->waiting_first) && w->deadline_ms <= now) {
		waiter_leave(q, w);
		w->job_next = *expired_out;
		*expired_out = w;
	}
	if (w && w->deadline_ms < next)
		next = w->deadline_ms;
	return next;
}

static void *timer_run(void *arg)
{
	struct queue *q = arg;

	thread_set_name("kinfs-timer");
	pthread_mutex_lock(&q->lock);
	while (!q->stopped) {
		struct waiter *expired = NULL;
		int64_t next = timer_step(q, &expired);

		if (!expired) {
			cond_wait_until(&q->timer, &q->lock, next);
			continue;
		}
		pthread_mutex_unlock(&q->lock);
		waiters_answer(expired, -ETIMEDOUT, NULL);
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

int queue_start(struct queue *q)
{
	int err = -pthread_create(&q->timer_thread, NULL, timer_run, q);

	q->timer_started = !err;
	return err;
}
