/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "core/queue/queue_impl.h"

/* Jobs, and the lists that they are in. */

/* Coalescing ends at a multiple of this, 32 to 64 ms later: by then the
 * timestamps are old enough, see SETTLE_MS in core/source/times.c. */
enum { COALESCE_MS = 32 };

static struct job **bucket_of(struct queue *q, const struct file_key *key)
{
	uint64_t h = key->inode ^ (uint64_t)key->generation << 32 ^ key->device;

	h *= UINT64_C(0x9e3779b97f4a7c15);
	return &q->buckets[(h >> 32) % QUEUE_BUCKETS];
}

struct job *job_find(struct queue *q, const struct file_key *key,
		     uint32_t demanded)
{
	struct job *job = *bucket_of(q, key);

	while (job &&
	       (!file_key_equal(&job->key, key) || job->demanded != demanded))
		job = job->chain;
	return job;
}

struct job *job_add(struct queue *q, const struct file_key *key,
		    uint32_t demanded)
{
	struct job **bucket = bucket_of(q, key);
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
static void job_leave(struct job *job)
{
	if (job->list) {
		TAILQ_REMOVE(&job->list->jobs, job, link);
		job->list->count--;
	}
	job->list = NULL;
	result_free(job->result);
	job->result = NULL;
	job->gate = NULL;
}

void job_drop(struct queue *q, struct job *job)
{
	struct job **at = bucket_of(q, &job->key);

	assert(!job_is_waited(job));
	job_forget_closed(q, job);
	job_leave(job);
	while (*at != job)
		at = &(*at)->chain;
	*at = job->chain;
	q->jobs--;
	free(job);
}

void job_move(struct job *job, enum job_state state, struct job_list *list,
	      uint64_t order)
{
	struct job *after = NULL;

	job_leave(job);
	job->state = state;
	job->order = order;
	job->list = list;
	if (!list)
		return;
	after = TAILQ_LAST(&list->jobs, job_links);
	while (after && after->order > order)
		after = TAILQ_PREV(after, job_links, link);
	if (after)
		TAILQ_INSERT_AFTER(&list->jobs, after, job, link);
	else
		TAILQ_INSERT_HEAD(&list->jobs, job, link);
	list->count++;
}

/* The kind of worker that takes the job. */
static enum worker_kind job_kind(const struct job *job)
{
	if (job->demanded == QUEUE_TEXT)
		return WORKER_TEXT;
	if (job_is_large(job))
		return WORKER_LARGE;
	return job_is_waited(job) ? WORKER_SERVING : WORKER_BACKGROUND;
}

void job_enqueue(struct queue *q, struct job *job)
{
	const bool waited = job_is_waited(job);
	const enum worker_kind kind = job_kind(job);
	struct job_list *list = &q->queued[kind][job->level];

	if (waited)
		list = &q->queued[kind][JOB_WAITED];
	else if (job->demanded == QUEUE_FEED)
		list = &q->feed;
	job_move(job, JOB_QUEUED, list, waited ? job->turn : 0);
	queue_wake_worker(q, kind);
	/* In a hurry the job is for these. */
	if (kind == WORKER_BACKGROUND)
		queue_wake_worker(q, WORKER_SERVING);
}

void job_delay(struct queue *q, struct job *job, int64_t delay_ms)
{
	job_move(job, JOB_DELAYED, &q->delayed,
		 (uint64_t)(clock_now_ms() + delay_ms));
	queue_wake_timer(q);
}

void job_renew(struct queue *q, struct job *job)
{
	int64_t ready_ms = (clock_now_ms() / COALESCE_MS + 2) * COALESCE_MS;

	if (job->level != JOB_CLOSED || job_is_waited(job)) {
		job_enqueue(q, job);
		return;
	}
	job_move(job, JOB_COALESCES, &q->coalescing, (uint64_t)ready_ms);
	if (q->coalescing.count == 1)
		queue_wake_timer(q);
}
