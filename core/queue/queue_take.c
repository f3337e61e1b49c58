/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/queue.h"

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/queue/crew.h"
#include "core/queue/queue_impl.h"

/* The choice of the next job, and when a running job has to be handed over. */

/* A background worker feeds the queue when fewer jobs of the scan are left. */
enum { FEED_BELOW = 1024 };

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
	const struct job *job = q->running[kind].first;
	size_t count = 0;

	for (; job; job = job->next)
		count += (job->level == JOB_WAITED) == waited;
	return count;
}

/* Whether a worker of the kind serves the user. */
static bool is_served(const struct queue *q, enum worker_kind kind, uid_t uid)
{
	const struct job *job = q->running[kind].first;

	while (job && (job->level != JOB_WAITED || job->uid != uid))
		job = job->next;
	return job != NULL;
}

/* The first job that requests wait for.  When serve_most workers are busy, that
 * is one of a user that no worker serves.  Turns put the first jobs of all users
 * in front, so a short search is enough. */
static struct job *first_waited(const struct queue *q, enum worker_kind kind)
{
	struct job *job = kind == WORKER_LARGE ? q->large[0].first :
						 q->levels[JOB_WAITED].first;
	int i;

	if (count_running(q, kind, true) < q->serve_most)
		return job;
	for (i = 0; job && i < SPARE_LOOK && is_served(q, kind, job->uid); i++)
		job = job->next;
	return i < SPARE_LOOK ? job : NULL;
}

/* The first job of the background, whether a worker may take it now or not. */
static struct job *first_of_background(const struct queue *q,
				       enum worker_kind kind)
{
	if (kind == WORKER_LARGE)
		return q->large[1].first;
	return q->levels[JOB_CLOSED].first ? q->levels[JOB_CLOSED].first :
					     q->levels[JOB_SCAN].first;
}

/* Whether the kind is for the background now. */
static bool is_for_background(const struct queue *q, enum worker_kind kind)
{
	return kind == WORKER_LARGE ||
	       is_hurried(q) == (kind == WORKER_SERVING);
}

static bool is_making_text(const struct queue *q)
{
	const struct job *job;
	int kind;

	for (kind = 0; kind < WORKER_KINDS; kind++)
		for (job = q->running[kind].first; job; job = job->next)
			if (job->demanded == QUEUE_TEXT)
				return true;
	return false;
}

static struct job *first_text(const struct queue *q, enum worker_kind kind)
{
	bool hashed = !q->feed && !q->large[0].first && !q->large[1].first;
	struct job *job = kind == WORKER_LARGE ? NULL : q->texts.first;
	int i;

	for (i = 0; i < JOB_LEVELS; i++)
		hashed = hashed && !q->levels[i].first;
	return job && (hashed || job->level == JOB_WAITED) &&
			       !is_making_text(q) ?
		       job :
		       NULL;
}

static struct job *find_next(const struct queue *q, enum worker_kind kind)
{
	struct job *text = first_text(q, kind), *job = NULL;

	if (kind != WORKER_BACKGROUND)
		job = first_waited(q, kind);
	if (!job && text && text->level == JOB_WAITED)
		job = text;
	if (job || q->paused || !is_for_background(q, kind) ||
	    count_running(q, kind, false) >= q->serve_most)
		return job;
	job = first_of_background(q, kind);
	return job ? job : text;
}

/* ---- taking ---- */

static bool wants_feed(const struct queue *q, enum worker_kind kind)
{
	return q->feed && kind != WORKER_LARGE && is_for_background(q, kind) &&
	       q->levels[JOB_SCAN].count < FEED_BELOW &&
	       q->jobs < QUEUE_MAX / 2;
}

/* Whether there is work for the kind, now or later. */
static bool has_queued(const struct queue *q, enum worker_kind kind)
{
	const struct job *text = q->texts.first;

	if (kind == WORKER_LARGE)
		return q->large[0].first || q->large[1].first;
	if (kind == WORKER_SERVING && (q->levels[JOB_WAITED].first ||
				       (text && text->level == JOB_WAITED)))
		return true;
	return (kind == WORKER_BACKGROUND || is_hurried(q)) &&
	       (first_of_background(q, kind) || text || q->feed);
}

/* A worker of this kind has nothing to do any more; so a text may be made now, by
 * one of another kind. */
static void wake_for_text(struct queue *q, enum worker_kind kind)
{
	enum worker_kind other =
		is_hurried(q) ? WORKER_SERVING : WORKER_BACKGROUND;

	if (kind != other && q->texts.first && find_next(q, other))
		job_wake(q, other);
}

/* Waits for a job; false: the worker is to end. */
static bool wait_for_job(struct queue *q, enum worker_kind kind,
			 int64_t idle_ms)
{
	int64_t until_ms = is_hurried(q) ? q->hurry_ms : INT64_MAX;

	if (has_queued(q, kind))
		idle_ms = clock_now_ms();
	if (q->workers[kind])
		return crew_wait(q->workers[kind], &q->work[kind], until_ms,
				 idle_ms);
	cond_wait_until(&q->work[kind], &q->lock, until_ms);
	return true;
}

static void begin_job(struct queue *q, struct job *job, enum worker_kind kind,
		      struct gate *gate)
{
	job_leave(job);
	job->state = JOB_RUNNING;
	job->kind = kind;
	job->gate = gate;
	job->joined = false;
	job->served = job->level == JOB_WAITED;
	job->scanned = job->level == JOB_SCAN && !job->demanded;
	job->identity = (struct file_identity){ 0 };
	job->left = 0;
	job_list_append(&q->running[kind], job);
	if (job->served)
		share_serve(&q->share, job->turn);
	if (gate)
		gate_set(gate, job->served);
}

struct job *queue_take(struct queue *q, enum worker_kind kind,
		       struct gate *gate, bool *feed_out)
{
	struct crew *crew = q->workers[kind];
	int64_t idle_ms = clock_now_ms();
	struct job *job = NULL;

	*feed_out = false;
	pthread_mutex_lock(&q->lock);
	while (!q->stopped) {
		*feed_out = wants_feed(q, kind);
		job = *feed_out ? NULL : find_next(q, kind);
		if (job || *feed_out)
			break;
		wake_for_text(q, kind);
		if (!wait_for_job(q, kind, idle_ms))
			break;
	}
	if (*feed_out)
		q->feed = false;
	if (job)
		begin_job(q, job, kind, gate);
	if (crew && job && find_next(q, kind))
		crew_want(crew); /* another one, for these */
	else if (crew && !job && !*feed_out)
		crew_leave(crew);
	pthread_mutex_unlock(&q->lock);
	return job;
}

void queue_feed(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->feed = true;
	job_wake_background(q);
	pthread_mutex_unlock(&q->lock);
}

void queue_hurry(struct queue *q, int64_t until_ms)
{
	pthread_mutex_lock(&q->lock);
	q->hurry_ms = until_ms;
	pthread_cond_broadcast(&q->work[WORKER_SERVING]);
	pthread_cond_broadcast(&q->work[WORKER_BACKGROUND]);
	if (q->jobs || q->feed)
		job_wake_background(q);
	pthread_mutex_unlock(&q->lock);
}

/* ---- handing over ---- */

void queue_hand_over(struct queue *q, struct job *job)
{
	pthread_mutex_lock(&q->lock);
	job->again = false;
	job_leave(job);
	if (job->demanded && !job->waiters)
		job_drop(q, job);
	else
		job_enqueue(q, job);
	pthread_mutex_unlock(&q->lock);
}

static enum queue_order order_locked(const struct queue *q,
				     const struct job *job, uint64_t left)
{
	bool is_other =
		job->kind == WORKER_BACKGROUND && left > HAND_OVER_BYTES;
	bool waited = job->waiters != NULL, back = false;

	if (waited)
		back = is_other;
	else if (job->demanded)
		back = true;
	else if (job->kind != WORKER_LARGE)
		back = q->paused || (is_other && is_hurried(q));
	else if (job->served) /* no request waits for it any more */
		back = count_running(q, WORKER_LARGE, false) > q->serve_most;
	if (back)
		return QUEUE_HAND_OVER;
	return q->paused && !waited ? QUEUE_SUSPEND : QUEUE_GO_ON;
}

/* Bytes were read.  Those before a pause of SPEED_MS do not count for the
 * speed. */
static void count_bytes(struct queue *q, uint64_t bytes)
{
	int64_t now = clock_now_ms();

	if (now - q->read.ms >= SPEED_MS)
		q->next_mark = (struct read_mark){ now, q->read.bytes };
	if (now - q->read.ms >= SPEED_MS || now - q->next_mark.ms >= SPEED_MS) {
		q->mark = q->next_mark;
		q->next_mark = (struct read_mark){ now, q->read.bytes };
	}
	q->read = (struct read_mark){ now, q->read.bytes + bytes };
}

void queue_note_left(struct queue *q, struct job *job, uint64_t left)
{
	pthread_mutex_lock(&q->lock);
	count_bytes(q, job->left - left);
	job->left = left;
	pthread_mutex_unlock(&q->lock);
}

enum queue_order queue_order(struct queue *q, struct job *job, uint64_t left)
{
	enum queue_order order;

	pthread_mutex_lock(&q->lock);
	order = order_locked(q, job, left);
	if (job->gate)
		gate_set(job->gate, job->waiters != NULL);
	pthread_mutex_unlock(&q->lock);
	return order;
}
