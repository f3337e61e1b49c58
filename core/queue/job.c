/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/queue/crew.h"
#include "core/queue/queue_impl.h"

/* States, levels and lists of jobs, and the requests that wait for them. */

/* ---- lists ---- */

static void job_list_remove(struct job *job)
{
	struct job_list *list = job->list;

	if (job->prev)
		job->prev->next = job->next;
	else
		list->first = job->next;
	if (job->next)
		job->next->prev = job->prev;
	else
		list->last = job->prev;
	job->prev = job->next = NULL;
	job->list = NULL;
	list->count--;
}

static void insert_after(struct job_list *list, struct job *job,
			 struct job *after)
{
	job->list = list;
	job->prev = after;
	job->next = after ? after->next : list->first;
	if (job->next)
		job->next->prev = job;
	else
		list->last = job;
	if (after)
		after->next = job;
	else
		list->first = job;
	list->count++;
}

void job_list_append(struct job_list *list, struct job *job)
{
	insert_after(list, job, list->last);
}

void job_list_insert_by_time(struct job_list *list, struct job *job)
{
	struct job *after = list->last;

	while (after && after->ready_ms > job->ready_ms)
		after = after->prev;
	insert_after(list, job, after);
}

/* Searches from the end of a list that is in that order. */
static void insert_by_turn(struct job_list *list, struct job *job)
{
	struct job *after = list->last;

	while (after && after->turn > job->turn)
		after = after->prev;
	insert_after(list, job, after);
}

/* ---- jobs ---- */

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
	job->level = job->background = JOB_SCAN;
	job->chain = *bucket;
	*bucket = job;
	q->jobs++;
	return job;
}

void job_drop(struct queue *q, struct job *job)
{
	struct job **at = &q->buckets[bucket_of(&job->key)];

	assert(!job->waiters);
	while (*at != job)
		at = &(*at)->chain;
	*at = job->chain;
	q->jobs--;
	free(job);
}

void job_wake(struct queue *q, enum worker_kind kind)
{
	pthread_cond_signal(&q->work[kind]);
	if (q->workers[kind])
		crew_want(q->workers[kind]);
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
	bool waited = job->level == JOB_WAITED;
	bool is_text = job->demanded == QUEUE_TEXT;
	struct job_list *list = is_text    ? &q->texts :
				job->large ? &q->large[!waited] :
					     &q->levels[job->level];

	job->state = JOB_QUEUED;
	if (waited || is_text)
		insert_by_turn(list, job);
	else
		job_list_append(list, job);
	if (job->large)
		job_wake(q, WORKER_LARGE);
	else if (waited)
		job_wake(q, WORKER_SERVING);
	else if (!q->paused)
		job_wake_background(q);
}

static void job_coalesce(struct queue *q, struct job *job)
{
	job->state = JOB_DELAYED;
	job->ready_ms = (clock_now_ms() / COALESCE_MS + 2) * COALESCE_MS;
	job_list_append(&q->coalescing, job);
	if (q->coalescing.count == 1)
		queue_wake_timer(q);
}

void job_renew(struct queue *q, struct job *job)
{
	if (job->level == JOB_CLOSED)
		job_coalesce(q, job);
	else
		job_enqueue(q, job);
}

void job_leave(struct job *job)
{
	if (job->list)
		job_list_remove(job);
	result_free(job->result);
	job->result = NULL;
	job->gate = NULL;
}

void job_raise(struct queue *q, struct job *job, enum job_level level)
{
	bool queued = job->state == JOB_QUEUED;

	if (level < job->background)
		job->background = level;
	if (level >= job->level)
		return;
	if (queued)
		job_leave(job);
	job->level = level;
	if (queued)
		job_renew(q, job);
}

/* The last request that waited for the job is gone; so may be the job. */
static void job_lower(struct queue *q, struct job *job)
{
	if (job->level != JOB_WAITED)
		return;
	if (job->state == JOB_QUEUED)
		job_leave(job);
	job->level = job->background;
	if (job->gate)
		gate_set(job->gate, false);
	if (job->state != JOB_QUEUED)
		return;
	if (job->demanded)
		job_drop(q, job);
	else
		job_enqueue(q, job);
}

/* ---- parked requests ---- */

static void waiter_unlink(struct queue *q, struct parked_request *w)
{
	struct parked_request **at = &w->job->waiters;

	while (*at != w)
		at = &(*at)->job_next;
	*at = w->job_next;
	if (w->prev)
		w->prev->next = w->next;
	else
		q->waiting_first = w->next;
	if (w->next)
		w->next->prev = w->prev;
	else
		q->waiting_last = w->prev;
	q->waiting--;
	share_give(&q->share, w->uid);
}

void waiter_leave(struct queue *q, struct parked_request *w)
{
	struct job *job = w->job;

	waiter_unlink(q, w);
	if (!job->waiters)
		job_lower(q, job);
}

struct parked_request *waiter_find(const struct queue *q, uint64_t ticket)
{
	struct parked_request *w = q->waiting_last;

	while (w && (!w->ticket || w->ticket->number != ticket))
		w = w->prev;
	return w;
}

void waiters_answer(struct parked_request *w, int err,
		    const struct result *found)
{
	while (w) {
		struct parked_request *next = w->job_next;

		w->done(w->arg, err, found);
		w = next;
	}
}

struct parked_request *waiters_take(struct queue *q, struct job *job)
{
	struct parked_request *taken = NULL;

	while (job->waiters) {
		struct parked_request *w = job->waiters;

		waiter_unlink(q, w);
		w->job_next = taken;
		taken = w;
	}
	return taken;
}

void waiter_link(struct queue *q, struct job *job, struct parked_request *w)
{
	struct parked_request *after = q->waiting_last;

	w->job = job;
	w->job_next = job->waiters;
	job->waiters = w;
	while (after && after->deadline_ms > w->deadline_ms)
		after = after->prev;
	w->prev = after;
	w->next = after ? after->next : q->waiting_first;
	if (w->next)
		w->next->prev = w;
	else
		q->waiting_last = w;
	if (after)
		after->next = w;
	else
		q->waiting_first = w;
	q->waiting++;
	queue_wake_timer(q);
}
