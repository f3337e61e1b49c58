/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_JOB_H
#define CORE_QUEUE_JOB_H

#include "core/queue/queue.h"

/* States and levels of jobs.  The caller holds the queue's lock. */

/* The job of the file, or NULL. */
struct job *job_find(struct queue *q, const struct file_key *key);
/* Makes a job, which is in no list yet; NULL: no memory. */
struct job *job_add(struct queue *q, const struct file_key *key);
/* Frees a job that is in no list and that no request waits for. */
void job_drop(struct queue *q, struct job *job);

/* Removes the job from the list of its state. */
void job_leave(struct queue *q, struct job *job);
/* Queues the job, which is in no list. */
void job_enqueue(struct queue *q, struct job *job);
/* Queues the job of a file that has changed; it coalesces before that if its
 * level is JOB_CLOSED. */
void job_renew(struct queue *q, struct job *job);

/* Wakes a worker for a job that a request waits for. */
void job_wake_served(struct queue *q);
/* Wakes a worker for a job of the background, or to feed the queue. */
void job_wake_background(struct queue *q);

/* Work kept with a job that is not running (struct kept). */
/* Removes it from the job and returns it, or NULL. */
struct kept *job_take_kept(struct queue *q, struct job *job);
/* Frees it. */
void job_forget_kept(struct queue *q, struct job *job);
/* Whether there is room for another one. */
bool job_may_keep(struct queue *q);
/* Takes kept (NULL: none); frees it when there is no room. */
void job_keep(struct queue *q, struct job *job, struct kept *kept);

void job_raise(struct queue *q, struct job *job, enum job_level level);
/* The last request that waited for the job is gone. */
void job_lower(struct queue *q, struct job *job);

#endif
