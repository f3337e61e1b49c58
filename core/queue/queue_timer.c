/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/queue.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/queue/crew.h"
#include "core/queue/queue_impl.h"

/* Deadlines of parked requests, ends of delays and coalescing, and the start of
 * threads. */

/* Queues the jobs that are ready; returns when the next one will be. */
static int64_t enqueue_ready(struct queue *q, const struct job_list *list,
			     int64_t now)
{
	struct job *job;

	while ((job = list->first) && job->ready_ms <= now) {
		job_leave(job);
		job_enqueue(q, job);
	}
	return job ? job->ready_ms : INT64_MAX;
}

/* Queues what is ready and takes off the requests whose deadline has passed.
 * Returns the time of the next timeout. */
static int64_t timer_step(struct queue *q, struct parked_request **expired_out)
{
	int64_t now = clock_now_ms();
	int64_t next = enqueue_ready(q, &q->delayed, now);
	int64_t soonest = enqueue_ready(q, &q->coalescing, now);
	struct parked_request *w;

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

void queue_wake_timer(struct queue *q)
{
	(void)sem_post(&q->wake);
}

static void wait_for_wake(struct queue *q, int64_t until_ms)
{
	struct timespec until = { until_ms / 1000, until_ms % 1000 * 1000000 };

	if (until_ms == INT64_MAX)
		(void)sem_wait(&q->wake);
	else
		(void)sem_clockwait(&q->wake, CLOCK_MONOTONIC, &until);
	while (!sem_trywait(&q->wake))
		;
}

/* When to try again what could not be started; INT64_MAX: nothing. */
static int64_t serve_crews(struct queue *q)
{
	int64_t retry_ms = INT64_MAX;
	struct crew *c;

	for (c = q->crews; c; c = c->next)
		if (!crew_serve(c))
			retry_ms = clock_now_ms() + CREW_RETRY_MS;
	return retry_ms;
}

static void *timer_run(void *arg)
{
	struct queue *q = arg;
	bool stopped = false;

	thread_set_name("kinfs-timer");
	while (!stopped) {
		int64_t retry_ms = serve_crews(q), next_ms;
		struct parked_request *expired = NULL;

		pthread_mutex_lock(&q->lock);
		next_ms = timer_step(q, &expired);
		stopped = q->stopped;
		pthread_mutex_unlock(&q->lock);
		if (expired)
			waiters_answer(expired, -ETIMEDOUT, NULL);
		else if (!stopped)
			wait_for_wake(q,
				      next_ms < retry_ms ? next_ms : retry_ms);
	}
	return NULL;
}

int queue_start(struct queue *q)
{
	int err = -pthread_create(&q->timer_thread, NULL, timer_run, q);

	q->timer_started = !err;
	return err;
}
