/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/queue/queue_impl.h"

/* States of jobs, and the requests that wait for them. */

/* Coalescing ends at a multiple of this, 32 to 64 ms later: by then the
 * timestamps are old enough, see SETTLE_MS in core/source/times.c. */
enum { COALESCE_MS = 32 };

static size_t bucket_of(const struct file_key *key)
{
	uint64_t h = key->inode ^ (uint64_t)key->generation << 32 ^ key->device;

	h *= UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(h >> 32) % QUEUE_BUCKETS;
}

struct job *job_find(struct queue *q, const struct file_key *key,
		     uint32_t demanded)
{
	struct job *job = q->buckets[bucket_of(key)];

	while (job &&
	       (!file_key_equal(&job->key, key) || job->demanded != demanded))
		job = job->chain;
	return job;
}

struct job *job_add(struct queue *q, const struct file_key *key,
		    uint32_t demanded)
{
	struct job **bucket = &q->buckets[bucket_of(key)];
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->key = *key;
	job->demanded = demanded;
	job->level = JOB_SCAN;
	job->chain = *bucket;
	*bucket = job;
	q->jobs++;
	return job;
}

/* Removes the job from its list. */
static void job_leave(struct queue *q, struct job *job)
{
	struct job_list *list = &q->lists[job->state];

	if (job->state != JOB_NEW) {
		TAILQ_REMOVE(&list->jobs, job, link);
		list->count--;
	}
	result_free(job->result);
	job->result = NULL;
	job->gate = NULL;
}

void job_drop(struct queue *q, struct job *job)
{
	struct job **at = &q->buckets[bucket_of(&job->key)];

	assert(!job_is_waited(job));
	job_forget_closed(q, job);
	job_leave(q, job);
	while (*at != job)
		at = &(*at)->chain;
	*at = job->chain;
	q->jobs--;
	free(job);
}

void job_move(struct queue *q, struct job *job, enum job_state state,
	      uint64_t order)
{
	struct job_list *list = &q->lists[state];
	struct job *after;

	job_leave(q, job);
	after = TAILQ_LAST(&list->jobs, job_links);
	while (after && after->order > order)
		after = TAILQ_PREV(after, job_links, link);
	if (after)
		TAILQ_INSERT_AFTER(&list->jobs, after, job, link);
	else
		TAILQ_INSERT_HEAD(&list->jobs, job, link);
	list->count++;
	job->order = order;
	job->state = state;
}

void job_wake(struct queue *q, enum worker_kind kind)
{
	pthread_cond_signal(&q->work[kind]);
	crew_want(&q->workers[kind]);
}

/* In a hurry, too, a worker of the background waits for its end. */
void job_wake_background(struct queue *q)
{
	if (q->hurry_ms > clock_now_ms())
		job_wake(q, WORKER_SERVING);
	job_wake(q, WORKER_BACKGROUND);
}

void job_enqueue(struct queue *q, struct job *job)
{
	bool waited = job_is_waited(job);
	uint64_t turn = waited ? job->turn : UINT64_MAX;

	if (job->demanded == QUEUE_TEXT) {
		job_move(q, job,
			 waited ? JOB_QUEUED_TEXT_WAITED : JOB_QUEUED_TEXT,
			 turn);
		job_wake(q, waited ? WORKER_TEXT : WORKER_TEXT_IDLE);
	} else if (job_is_large(job)) {
		job_move(q, job,
			 waited ? JOB_QUEUED_LARGE_WAITED : JOB_QUEUED_LARGE,
			 turn);
		job_wake(q, WORKER_LARGE);
	} else if (waited) {
		job_move(q, job, JOB_QUEUED + JOB_WAITED, turn);
		job_wake(q, WORKER_SERVING);
	} else {
		job_move(q, job, JOB_QUEUED + job->level, turn);
		if (!q->paused)
			job_wake_background(q);
	}
}

void job_renew(struct queue *q, struct job *job)
{
	int64_t ready_ms = (clock_now_ms() / COALESCE_MS + 2) * COALESCE_MS;

	if (job->level != JOB_CLOSED || job_is_waited(job)) {
		job_enqueue(q, job);
		return;
	}
	job_move(q, job, JOB_COALESCES, (uint64_t)ready_ms);
	if (q->lists[JOB_COALESCES].count == 1)
		queue_wake_timer(q);
}

/* ---- parked requests ---- */

void waiter_link(struct queue *q, struct job *job, struct parked_request *w)
{
	struct parked_request *after = TAILQ_LAST(&q->waiting, request_queue);

	w->job = job;
	LIST_INSERT_HEAD(&job->waiters, w, job_link);
	while (after && after->deadline_ms > w->deadline_ms)
		after = TAILQ_PREV(after, request_queue, link);
	if (after)
		TAILQ_INSERT_AFTER(&q->waiting, after, w, link);
	else
		TAILQ_INSERT_HEAD(&q->waiting, w, link);
	queue_wake_timer(q);
}

static void waiter_move(struct queue *q, struct parked_request *w,
			struct request_list *out)
{
	LIST_REMOVE(w, job_link);
	TAILQ_REMOVE(&q->waiting, w, link);
	quota_give(&q->quota, w->uid);
	LIST_INSERT_HEAD(out, w, job_link);
}

void waiter_take(struct queue *q, struct parked_request *w,
		 struct request_list *out)
{
	struct job *job = w->job;

	waiter_move(q, w, out);
	if (job_is_waited(job))
		return;
	if (job->gate)
		gate_set(job->gate, false);
	if (job_is_queued(job) && job->demanded)
		job_drop(q, job);
	else if (job_is_queued(job))
		job_enqueue(q, job);
}

void job_forget_closed(struct queue *q, struct job *job)
{
	if (job->closed)
		TAILQ_REMOVE(&q->closed, job, closed_link);
	job->closed = 0;
	job->overdue = false;
}

void job_note_closed(struct queue *q, struct job *job,
		     const struct file_identity *identity,
		     struct request_list *out)
{
	static const struct file_identity unknown;
	struct parked_request *w, *next = LIST_FIRST(&job->waiters);

	if (!identity)
		identity = &unknown;
	if (job->closed && file_identity_equal(&job->closed_as, identity))
		return;
	job_forget_closed(q, job);
	job->closed_as = *identity;
	job->closed = ++q->closings;
	TAILQ_INSERT_TAIL(&q->closed, job, closed_link);
	while ((w = next)) {
		next = LIST_NEXT(w, job_link);
		if (w->closed_until)
			waiter_take(q, w, out);
	}
}

void waiters_take(struct queue *q, struct job *job, struct request_list *out)
{
	while (job_is_waited(job))
		waiter_move(q, LIST_FIRST(&job->waiters), out);
}

void waiters_answer(struct request_list *list, int err,
		    const struct result *found)
{
	struct parked_request *w;

	/* done() ends the request's life. */
	while ((w = LIST_FIRST(list))) {
		LIST_REMOVE(w, job_link);
		w->done(w->arg, err, found);
	}
}
