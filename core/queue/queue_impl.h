/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_QUEUE_IMPL_H
#define CORE_QUEUE_QUEUE_IMPL_H

#include "core/queue/queue.h"

/* The caller holds the queue's lock. */

/* ---- jobs ---- */

static inline struct job *jobs_first(const struct queue *q,
				     enum job_state state)
{
	return TAILQ_FIRST(&q->lists[state].jobs);
}

static inline bool job_is_waited(const struct job *job)
{
	return !LIST_EMPTY(&job->waiters);
}

static inline bool job_is_queued(const struct job *job)
{
	return job->state >= JOB_QUEUED && job->state <= JOB_QUEUED_TEXT;
}

static inline bool job_is_running(const struct job *job)
{
	return job->state >= JOB_RUNNING && job->state < JOB_DONE;
}

static inline bool job_is_large(const struct job *job)
{
	return job->seen.size >= QUEUE_LARGE;
}

/* Whether a worker is to feed the queue: files wait for that, and there is
 * room. */
static inline bool queue_is_hungry(const struct queue *q)
{
	return (q->feed_wanted || q->feed_passes) && !q->feeds &&
	       q->lists[JOB_QUEUED + JOB_SCAN].count < FEED_BELOW &&
	       q->jobs < QUEUE_MAX / 2;
}

/* The job of the file, or NULL. */
struct job *job_find(struct queue *q, const struct file_key *key,
		     uint32_t demanded);
/* Makes a new job; NULL: no memory. */
struct job *job_add(struct queue *q, const struct file_key *key,
		    uint32_t demanded);
/* Frees a job that no request waits for. */
void job_drop(struct queue *q, struct job *job);

/* The file was closed; identity: as it is now, or NULL.  If that is not the same
 * closing once more (flush and release), moves the requests that wait for an
 * earlier one, which was not of the present content. */
void job_note_closed(struct queue *q, struct job *job,
		     const struct file_identity *identity,
		     struct request_list *out);
/* The last closing of the file has been hashed, or need not be. */
void job_forget_closed(struct queue *q, struct job *job);

/* Sets the state, and so the list.  That is in the order of a key; jobs with
 * the same one are in the order in which they came. */
void job_move(struct queue *q, struct job *job, enum job_state state,
	      uint64_t order);
/* Queues the job. */
void job_enqueue(struct queue *q, struct job *job);
/* Queues the job of a file that has changed; it coalesces before that if the
 * file was closed and no request waits. */
void job_renew(struct queue *q, struct job *job);

/* Wakes a worker of the kind, or has one started. */
void job_wake(struct queue *q, enum worker_kind kind);
/* Wakes one for small files of the background, or to feed the queue. */
void job_wake_background(struct queue *q);

/* ---- parked requests ---- */

void waiter_link(struct queue *q, struct job *job, struct parked_request *w);
/* Moves the request from its lists to *out; its job may then be one of the
 * background, or gone. */
void waiter_take(struct queue *q, struct parked_request *w,
		 struct request_list *out);
/* Moves all requests of the job. */
void waiters_take(struct queue *q, struct job *job, struct request_list *out);

/* Calls done() for each of them, without the lock. */
void waiters_answer(struct request_list *list, int err,
		    const struct result *found);

#endif
