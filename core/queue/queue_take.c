/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/queue.h"

#include "core/base/clock.h"
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

	TAILQ_FOREACH(job, &q->lists[JOB_RUNNING + kind].jobs, link)
		count += job_is_waited(job) == waited;
	return count;
}

/* Whether a worker of the kind serves the user. */
static bool is_served(const struct queue *q, enum worker_kind kind, uid_t uid)
{
	const struct job *job;

	TAILQ_FOREACH(job, &q->lists[JOB_RUNNING + kind].jobs, link)
		if (job_is_waited(job) && job->uid == uid)
			return true;
	return false;
}

/* The first job that requests wait for.  When serve_most workers are busy, that
 * is one of a user that no worker serves.  Turns put the first jobs of all users
 * in front, so a short search is enough. */
static struct job *first_waited(const struct queue *q, enum worker_kind kind)
{
	static const enum job_state states[WORKER_KINDS] = {
		[WORKER_SERVING] = JOB_QUEUED + JOB_WAITED,
		[WORKER_LARGE] = JOB_QUEUED_LARGE_WAITED,
		[WORKER_TEXT] = JOB_QUEUED_TEXT_WAITED,
	};
	struct job *job = jobs_first(q, states[kind]);
	int i;

	if (count_running(q, kind, true) < q->serve_most)
		return job;
	for (i = 0; job && i < SPARE_LOOK && is_served(q, kind, job->uid); i++)
		job = TAILQ_NEXT(job, link);
	return i < SPARE_LOOK ? job : NULL;
}

/* The first job of the background, whether a worker may take it now or not. */
static struct job *first_of_background(const struct queue *q,
				       enum worker_kind kind)
{
	struct job *closed = jobs_first(q, JOB_QUEUED + JOB_CLOSED);

	if (kind == WORKER_LARGE)
		return jobs_first(q, JOB_QUEUED_LARGE);
	return closed ? closed : jobs_first(q, JOB_QUEUED + JOB_SCAN);
}

/* Whether the kind is for the background now. */
static bool is_for_background(const struct queue *q, enum worker_kind kind)
{
	return kind == WORKER_LARGE ||
	       is_hurried(q) == (kind == WORKER_SERVING);
}

static bool has_to_feed(const struct queue *q)
{
	return q->feed_wanted || q->feed_passes;
}

/* A text that no request waits for is made when all files are hashed. */
static struct job *first_text(const struct queue *q)
{
	bool hashed = !q->paused && !has_to_feed(q);
	int i;

	for (i = JOB_QUEUED; i < JOB_QUEUED_TEXT_WAITED; i++)
		hashed = hashed && !q->lists[i].count;
	return hashed ? jobs_first(q, JOB_QUEUED_TEXT) : NULL;
}

static struct job *find_next(const struct queue *q, enum worker_kind kind)
{
	struct job *job = NULL;

	if (kind == WORKER_TEXT_IDLE)
		return first_text(q);
	if (kind != WORKER_BACKGROUND)
		job = first_waited(q, kind);
	if (job || kind == WORKER_TEXT || q->paused ||
	    !is_for_background(q, kind) ||
	    count_running(q, kind, false) >= q->serve_most)
		return job;
	return first_of_background(q, kind);
}

/* ---- taking ---- */

static bool wants_feed(const struct queue *q, enum worker_kind kind)
{
	return queue_is_hungry(q) &&
	       (kind == WORKER_SERVING || kind == WORKER_BACKGROUND) &&
	       is_for_background(q, kind);
}

/* Whether there is work for the kind, now or later. */
static bool has_queued(const struct queue *q, enum worker_kind kind)
{
	switch (kind) {
	case WORKER_TEXT:
		return jobs_first(q, JOB_QUEUED_TEXT_WAITED);
	case WORKER_TEXT_IDLE:
		return jobs_first(q, JOB_QUEUED_TEXT);
	case WORKER_LARGE:
		return jobs_first(q, JOB_QUEUED_LARGE_WAITED) ||
		       jobs_first(q, JOB_QUEUED_LARGE);
	case WORKER_SERVING:
		if (jobs_first(q, JOB_QUEUED + JOB_WAITED))
			return true;
		break;
	default:
		break;
	}
	return (kind == WORKER_BACKGROUND || is_hurried(q)) &&
	       (first_of_background(q, kind) || has_to_feed(q));
}

/* Waits for a job; false: the worker is to end. */
static bool wait_for_job(struct queue *q, enum worker_kind kind,
			 int64_t idle_ms)
{
	int64_t until_ms = is_hurried(q) ? q->hurry_ms : INT64_MAX;

	if (has_queued(q, kind))
		idle_ms = clock_now_ms();
	if (q->workers[kind].most)
		return crew_wait(&q->workers[kind], &q->work[kind], until_ms,
				 idle_ms);
	cond_wait_until(&q->work[kind], &q->lock, until_ms);
	return true;
}

static void begin_job(struct queue *q, struct job *job, enum worker_kind kind,
		      struct gate *gate)
{
	bool waited = job_is_waited(job);

	job_move(q, job, JOB_RUNNING + kind, waited);
	job->gate = gate;
	job->scanned = !waited && job->level == JOB_SCAN && !job->demanded;
	job->reported = job->closed;
	job->left = job->seen.size;
	job->fed = false;
	if (waited)
		quota_serve(&q->quota, job->turn);
	if (gate)
		gate_set(gate, waited);
}

struct job *queue_take(struct queue *q, enum worker_kind kind,
		       struct gate *gate, bool *feed_out)
{
	struct crew *crew = &q->workers[kind];
	int64_t idle_ms = clock_now_ms();
	struct job *job = NULL;

	*feed_out = false;
	pthread_mutex_lock(&q->lock);
	while (!q->stopped) {
		*feed_out = wants_feed(q, kind);
		job = *feed_out ? NULL : find_next(q, kind);
		if (job || *feed_out)
			break;
		if (kind != WORKER_TEXT_IDLE && first_text(q))
			job_wake(q, WORKER_TEXT_IDLE); /* all is hashed */
		if (!wait_for_job(q, kind, idle_ms))
			break;
	}
	if (*feed_out) {
		q->feeds = true;
		q->feed_wanted = q->feed_wanted && q->feed_passes;
		q->feed_passes = true;
	}
	if (job)
		begin_job(q, job, kind, gate);
	if (job && find_next(q, kind))
		crew_want(crew); /* another one, for these */
	else if (crew->most && !job && !*feed_out)
		crew_leave(crew);
	pthread_mutex_unlock(&q->lock);
	return job;
}

void queue_want_feed(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->feed_wanted = true;
	job_wake_background(q);
	pthread_mutex_unlock(&q->lock);
}

void queue_fed(struct queue *q, bool more)
{
	pthread_mutex_lock(&q->lock);
	q->feeds = false;
	q->feed_passes = more;
	/* This worker may be of a kind that does not feed any more. */
	if (queue_is_hungry(q))
		job_wake_background(q);
	pthread_mutex_unlock(&q->lock);
}

void queue_hurry(struct queue *q, int64_t until_ms)
{
	pthread_mutex_lock(&q->lock);
	q->hurry_ms = until_ms;
	pthread_cond_broadcast(&q->work[WORKER_SERVING]);
	pthread_cond_broadcast(&q->work[WORKER_BACKGROUND]);
	if (q->jobs || has_to_feed(q))
		job_wake_background(q);
	pthread_mutex_unlock(&q->lock);
}

/* ---- handing over ---- */

void queue_hand_over(struct queue *q, struct job *job)
{
	pthread_mutex_lock(&q->lock);
	job->again = false;
	if (job->demanded && !job_is_waited(job))
		job_drop(q, job);
	else
		job_enqueue(q, job);
	pthread_mutex_unlock(&q->lock);
}

static enum queue_order order_locked(const struct queue *q,
				     const struct job *job, uint64_t left)
{
	enum worker_kind kind = job->state - JOB_RUNNING;
	bool is_other = kind == WORKER_BACKGROUND && left > HAND_OVER_BYTES;
	bool waited = job_is_waited(job), back = false;

	if (waited)
		back = is_other;
	else if (job->demanded)
		back = true;
	else if (kind != WORKER_LARGE)
		back = q->paused || (is_other && is_hurried(q));
	else if (job->order) /* no request waits for it any more */
		back = count_running(q, kind, false) > q->serve_most;
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
		gate_set(job->gate, job_is_waited(job));
	pthread_mutex_unlock(&q->lock);
	return order;
}
