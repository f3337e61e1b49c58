/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_QUEUE_IMPL_H
#define CORE_QUEUE_QUEUE_IMPL_H

#include "core/queue/queue.h"

/* ---- jobs; the caller holds the queue's lock ---- */

/* Doubly linked lists of jobs; inserted in the order of ready_ms. */
void job_list_append(struct job_list *list, struct job *job);
void job_list_insert_by_time(struct job_list *list, struct job *job);

/* The job of the file, or NULL. */
struct job *job_find(struct queue *q, const struct file_key *key,
		     uint32_t demanded);
/* Makes a job, which is in no list yet; NULL: no memory. */
struct job *job_add(struct queue *q, const struct file_key *key,
		    uint32_t demanded);
/* Frees a job that is in no list and that no request waits for. */
void job_drop(struct queue *q, struct job *job);

/* Removes the job from the list of its state. */
void job_leave(struct job *job);
/* Queues the job, which is in no list. */
void job_enqueue(struct queue *q, struct job *job);
/* Queues the job of a file that has changed; it coalesces before that if its
 * level is JOB_CLOSED. */
void job_renew(struct queue *q, struct job *job);

/* Wakes a worker of the kind, or has one started. */
void job_wake(struct queue *q, enum worker_kind kind);
/* Wakes one for small files of the background, or to feed the queue. */
void job_wake_background(struct queue *q);

void job_raise(struct queue *q, struct job *job, enum job_level level);

/* ---- parked requests ---- */

/* The caller of these four holds the queue's lock. */
void waiter_link(struct queue *q, struct job *job, struct parked_request *w);
/* Removes the waiter from its lists; lowers its job if it was the last one. */
void waiter_leave(struct queue *q, struct parked_request *w);
/* The waiter with that ticket number, or NULL. */
struct parked_request *waiter_find(const struct queue *q, uint64_t ticket);
/* Removes all waiters of the job; returns them as a list by job_next. */
struct parked_request *waiters_take(struct queue *q, struct job *job);

/* Calls done() for each waiter of such a list, without the lock. */
void waiters_answer(struct parked_request *w, int err,
		    const struct result *found);

#endif
