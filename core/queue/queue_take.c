/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "core/base/thread.h"
#include "core/queue/queue_impl.h"

/* The choice of the next job, and when a running job has to be handed over. */

/* How many jobs of a list are searched for one of another user. */
enum { SPARE_LOOK = 64 };

static bool is_hurried(const struct queue *q)
{
	return q->hurry_ms > clock_now_ms();
}

/* ---- the next job ---- */

/* How many workers of the kind are at files that requests wait for, or not. */
static size_t count_running(const struct queue *q, enum worker_kind kind,
			    bool waited)
{
	const struct job *job;
	size_t count = 0;

	TAILQ_FOREACH(job, &q->running.jobs, link)
		count += job->worker == kind && job_is_waited(job) == waited;
	return count;
}

/* Whether a worker of the kind serves the user. */
static bool is_served(const struct queue *q, enum worker_kind kind, uid_t uid)
{
	const struct job *job;

	TAILQ_FOREACH(job, &q->running.jobs, link)
		if (job->worker == kind && job_is_waited(job) &&
		    job->uid == uid)
			return true;
	return false;
}

/* The first job that requests wait for.  When serve_most workers are busy, that
 * is one of a user that no worker serves.  Turns put the first jobs of all users
 * in front, so a short search is enough. */
static struct job *first_waited(const struct queue *q, enum worker_kind kind)
{
	struct job *job = TAILQ_FIRST(&q->queued[kind][JOB_WAITED].jobs);
	int i;

	if (!job || count_running(q, kind, true) < q->serve_most)
		return job;
	for (i = 0; job && i < SPARE_LOOK && is_served(q, kind, job->uid); i++)
		job = TAILQ_NEXT(job, link);
	return i < SPARE_LOOK ? job : NULL;
}

/* The first job of the kind that no request waits for.  The queue is fed during a
 * pause, too: it knows then whether something is left to be hashed. */
static struct job *first_of_background(const struct queue *q,
				       enum worker_kind kind)
{
	const struct job_list *scan = &q->queued[kind][JOB_SCAN];
	struct job *job = NULL;

	if (!q->paused)
		job = TAILQ_FIRST(&q->queued[kind][JOB_CLOSED].jobs);
	if (!job && kind == WORKER_BACKGROUND && scan->count < FEED_BELOW)
		job = TAILQ_FIRST(&q->feed.jobs);
	return job || q->paused ? job : TAILQ_FIRST(&scan->jobs);
}

/* Texts that no request waits for are made then. */
static bool all_is_hashed(const struct queue *q)
{
	enum worker_kind kind = WORKER_SERVING;

	while (kind < WORKER_TEXT && !first_of_background(q, kind) &&
	       !TAILQ_FIRST(&q->queued[kind][JOB_WAITED].jobs))
		kind++;
	return kind == WORKER_TEXT;
}

static struct job *find_next(const struct queue *q, enum worker_kind kind)
{
	struct job *job = first_waited(q, kind);

	if (job || count_running(q, kind, false) >= q->serve_most)
		return job;
	switch (kind) {
	case WORKER_SERVING:
		return is_hurried(q) ?
			       first_of_background(q, WORKER_BACKGROUND) :
			       NULL;
	case WORKER_BACKGROUND:
		return is_hurried(q) ? NULL : first_of_background(q, kind);
	case WORKER_TEXT:
		return all_is_hashed(q) ? first_of_background(q, kind) : NULL;
	default:
		return first_of_background(q, kind);
	}
}

void queue_wake_worker(struct queue *q, enum worker_kind kind)
{
	if (!find_next(q, kind))
		return;
	pthread_cond_signal(&q->work[kind]);
	crew_want(&q->workers[kind]);
}

void queue_wake_workers(struct queue *q)
{
	int kind;

	for (kind = 0; kind < WORKER_KINDS; kind++)
		queue_wake_worker(q, kind);
}

/* ---- taking ---- */

static void begin_job(struct queue *q, struct job *job, enum worker_kind kind,
		      struct gate *gate)
{
	const bool waited = job_is_waited(job);

	assert(job->state == JOB_QUEUED);
	job_move(job, JOB_RUNNING, &q->running, 0);
	job->worker = kind;
	job->for_request = waited;
	job->scanned = !waited && job->level == JOB_SCAN && !job->demanded;
	job->reported = job->closed;
	/* One that feeds goes on with a pass. */
	job->again = job->again && job->demanded == QUEUE_FEED;
	job->fed = false;
	job->left = job->seen.size;
	job->gate = gate;
	gate_set(gate, waited);
	if (waited)
		quota_serve(&q->quota, job->turn);
}

struct job *queue_take(struct queue *q, enum worker_kind kind,
		       struct gate *gate)
{
	struct crew *crew = &q->workers[kind];
	int64_t idle_ms = clock_now_ms();
	struct job *job = NULL;
	bool ends = false;

	pthread_mutex_lock(&q->lock);
	while (!job && !ends) {
		job = q->stopped ? NULL : find_next(q, kind);
		if (job)
			begin_job(q, job, kind, gate);
		/* There may be more of the kind; or all is hashed. */
		queue_wake_worker(q, job ? kind : WORKER_TEXT);
		if (!job)
			ends = q->stopped || !crew_wait(crew, &q->work[kind],
							INT64_MAX, idle_ms);
	}
	if (ends)
		crew_leave(crew);
	pthread_mutex_unlock(&q->lock);
	return job;
}

void queue_hurry(struct queue *q, int64_t until_ms)
{
	pthread_mutex_lock(&q->lock);
	q->hurry_ms = until_ms;
	queue_wake_workers(q);
	queue_wake_timer(q);
	pthread_mutex_unlock(&q->lock);
}

void queue_pause(struct queue *q, bool on)
{
	struct job *job;

	pthread_mutex_lock(&q->lock);
	q->paused = on;
	/* Workers that wait at their gates see that they are to stop. */
	if (on)
		TAILQ_FOREACH(job, &q->running.jobs, link)
			gate_set(job->gate, true);
	else
		pthread_cond_broadcast(&q->resumed);
	queue_wake_workers(q);
	pthread_mutex_unlock(&q->lock);
}

/* ---- while it runs ---- */

static enum queue_order order_locked(const struct queue *q,
				     const struct job *job, uint64_t left)
{
	const bool waited = job_is_waited(job);
	bool back = false;

	if (job->demanded && !waited)
		back = true;
	else if (job->worker == WORKER_BACKGROUND)
		back = left > HAND_OVER_BYTES && (waited || is_hurried(q));
	/* The requests are gone for which it was begun. */
	else if (job->worker == WORKER_LARGE && job->for_request && !waited)
		back = count_running(q, WORKER_LARGE, false) > q->serve_most;
	if (back)
		return QUEUE_HAND_OVER;
	return q->paused && !waited ? QUEUE_SUSPEND : QUEUE_GO_ON;
}

enum queue_order queue_order(struct queue *q, struct job *job, uint64_t left)
{
	enum queue_order order;

	pthread_mutex_lock(&q->lock);
	order = order_locked(q, job, left);
	gate_set(job->gate, job_is_waited(job));
	pthread_mutex_unlock(&q->lock);
	return order;
}

void queue_sit_out_pause(struct queue *q, struct job *job)
{
	pthread_mutex_lock(&q->lock);
	job->suspended = true;
	while (q->paused && !job_is_waited(job) && !q->stopped)
		pthread_cond_wait(&q->resumed, &q->lock);
	job->suspended = false;
	pthread_mutex_unlock(&q->lock);
}
