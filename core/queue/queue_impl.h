/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_QUEUE_IMPL_H
#define CORE_QUEUE_QUEUE_IMPL_H

#include "core/base/clock.h"
#include "core/queue/queue.h"

/* The caller holds the queue's lock. */

/* ---- job.c: jobs, and the lists that they are in ---- */

static inline bool job_is_waited(const struct job *job)
{
	return !LIST_EMPTY(&job->waiters);
}

static inline bool job_is_large(const struct job *job)
{
	return job->seen.size >= QUEUE_LARGE;
}

/* The job of the file, or NULL. */
struct job *job_find(struct queue *q, const struct file_key *key,
		     uint32_t demanded);
/* Makes a new job of the level JOB_SCAN; NULL: no memory. */
struct job *job_add(struct queue *q, const struct file_key *key,
		    uint32_t demanded);
/* Frees a job that no request waits for. */
void job_drop(struct queue *q, struct job *job);

/* Sets the state, and moves the job to the list, or with NULL to none.  A list is
 * in the order of a key; jobs with the same one are in the order in which they
 * came. */
void job_move(struct job *job, enum job_state state, struct job_list *list,
	      uint64_t order);
/* Queues the job. */
void job_enqueue(struct queue *q, struct job *job);
/* Queues the job of a file that has changed; it coalesces before that if the
 * file was closed and no request waits. */
void job_renew(struct queue *q, struct job *job);
void job_delay(struct queue *q, struct job *job, int64_t delay_ms);

/* A reference to the result that the job has for that state of the file, or
 * NULL. */
struct result *job_get_result(struct queue *q, const struct file_key *key,
			      uint32_t demanded,
			      const struct file_identity *identity);

/* ---- queue_take.c ---- */

/* Wakes a worker of the kind, or has one started, if there is a job for it. */
void queue_wake_worker(struct queue *q, enum worker_kind kind);
void queue_wake_workers(struct queue *q);

/* ---- park.c: parked requests ---- */

/* The file was closed; identity: as it is now, or NULL.  If that is not the same
 * closing once more (flush and release), moves the requests that wait for an
 * earlier one, which was not of the present content. */
void job_note_closed(struct queue *q, struct job *job,
		     const struct file_identity *identity,
		     struct request_list *out);
/* The last closing of the file has been hashed, or need not be. */
void job_forget_closed(struct queue *q, struct job *job);

/* Moves all requests of the job. */
void waiters_take(struct queue *q, struct job *job, struct request_list *out);
/* Moves those whose deadline has passed.  Returns the next deadline. */
int64_t waiters_expire(struct queue *q, int64_t now_ms,
		       struct request_list *out);
/* Calls done() for each of them, without the lock. */
void waiters_answer(struct request_list *list, int err,
		    const struct result *found);

#endif
