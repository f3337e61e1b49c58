/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/crew.h"

#include <errno.h>

#include "core/base/thread.h"
#include "core/queue/queue_impl.h"

/* Threads, and the one that starts them: the timer, which also ends delays and
 * answers requests whose deadline has passed. */

void crew_init(struct crew *c)
{
	(void)pthread_cond_init(&c->ended, NULL);
	c->next = c->queue->crews;
	c->queue->crews = c;
}

void crew_stop(struct crew *c)
{
	pthread_mutex_lock(c->lock);
	c->stopped = true;
	while (c->count)
		pthread_cond_wait(&c->ended, c->lock);
	pthread_mutex_unlock(c->lock);
}

void crew_release(struct crew *c)
{
	if (c->lock)
		pthread_cond_destroy(&c->ended);
}

/* ---- with the lock ---- */

static bool has_room(const struct crew *c)
{
	return !c->stopped && !c->waiting && c->count < c->most;
}

void crew_want(struct crew *c)
{
	if (has_room(c) && !atomic_exchange(&c->wanted, true))
		queue_wake_timer(c->queue);
}

bool crew_wait(struct crew *c, pthread_cond_t *work, int64_t until_ms,
	       int64_t idle_ms)
{
	int64_t end_ms = c->most ? idle_ms + CREW_IDLE_MS : INT64_MAX;

	if (clock_now_ms() >= end_ms)
		return false;
	c->waiting++;
	cond_wait_until(work, c->lock, until_ms < end_ms ? until_ms : end_ms);
	c->waiting--;
	return true;
}

void crew_leave(struct crew *c)
{
	if (c->most && --c->count == 0)
		pthread_cond_broadcast(&c->ended);
}

/* ---- without it ---- */

int crew_thread(void *(*run)(void *arg), void *arg)
{
	pthread_t thread;
	int err = -pthread_create(&thread, NULL, run, arg);

	if (!err)
		(void)pthread_detach(thread);
	return err;
}

/* Starts a thread if one is wanted; false: none can be started now. */
static bool crew_serve(struct crew *c)
{
	bool starts, failed;

	if (!atomic_exchange(&c->wanted, false))
		return true;
	pthread_mutex_lock(c->lock);
	starts = has_room(c);
	c->count += starts;
	pthread_mutex_unlock(c->lock);
	failed = starts && c->start(c);
	if (!failed)
		return true;
	pthread_mutex_lock(c->lock);
	crew_leave(c);
	pthread_mutex_unlock(c->lock);
	atomic_store(&c->wanted, true);
	return false;
}

/* ---- the timer ---- */

static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
	return a_ms < b_ms ? a_ms : b_ms;
}

/* Queues the jobs that are ready; returns when the next one will be. */
static int64_t enqueue_ready(struct queue *q, struct job_list *list,
			     int64_t now_ms)
{
	struct job *job;

	while ((job = TAILQ_FIRST(&list->jobs)) &&
	       job->order <= (uint64_t)now_ms)
		job_enqueue(q, job);
	return job ? (int64_t)job->order : INT64_MAX;
}

/* Queues what is ready, takes off the requests whose deadline has passed, and ends
 * a hurry.  Returns the time of the next timeout. */
static int64_t timer_step(struct queue *q, struct request_list *expired_out)
{
	const int64_t now_ms = clock_now_ms();
	int64_t next_ms = sooner(enqueue_ready(q, &q->delayed, now_ms),
				 enqueue_ready(q, &q->coalescing, now_ms));

	if (q->hurry_ms > now_ms) {
		next_ms = sooner(next_ms, q->hurry_ms);
	} else if (q->hurry_ms) {
		q->hurry_ms = 0;
		queue_wake_workers(q);
	}
	return sooner(next_ms, waiters_expire(q, now_ms, expired_out));
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

static void *timer_run(void *arg)
{
	struct queue *q = arg;
	bool stopped = false;

	thread_set_name("kinfs-timer");
	while (!stopped) {
		struct request_list expired = { NULL };
		int64_t next_ms, retry_ms = INT64_MAX;
		struct crew *c;

		for (c = q->crews; c; c = c->next)
			if (!crew_serve(c))
				retry_ms = clock_now_ms() + CREW_RETRY_MS;
		pthread_mutex_lock(&q->lock);
		next_ms = timer_step(q, &expired);
		stopped = q->stopped;
		pthread_mutex_unlock(&q->lock);
		if (!LIST_EMPTY(&expired))
			waiters_answer(&expired, -ETIMEDOUT, NULL);
		else if (!stopped)
			wait_for_wake(q, sooner(next_ms, retry_ms));
	}
	return NULL;
}

int queue_start(struct queue *q)
{
	int err = -pthread_create(&q->timer_thread, NULL, timer_run, q);

	q->timer_started = !err;
	return err;
}

void queue_stop(struct queue *q)
{
	int kind;

	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	for (kind = 0; kind < WORKER_KINDS; kind++)
		pthread_cond_broadcast(&q->work[kind]);
	pthread_cond_broadcast(&q->resumed);
	pthread_mutex_unlock(&q->lock);
	queue_end_waits(q);
	queue_wake_timer(q);
	if (q->timer_started)
		pthread_join(q->timer_thread, NULL);
	q->timer_started = false;
}
