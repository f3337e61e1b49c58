/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_WAITER_H
#define CORE_QUEUE_WAITER_H

#include "core/queue/queue.h"

/*
 * A parked request, in the list of its job and in the queue's list of all by
 * deadline.  The thread that removes it from both (under the lock) calls done()
 * (without the lock) and frees it.  So done() is called exactly once.
 */
struct waiter {
	struct job *job;
	uid_t uid;
	int64_t deadline_ms;
	uint64_t ticket; /* 0: none */
	parked_fn *done;
	void *arg;
	struct waiter *job_next;
	struct waiter *prev, *next; /* by deadline */
};

/* The caller of these four holds the queue's lock. */
void waiter_link(struct queue *q, struct job *job, struct waiter *w);
/* Removes the waiter from its lists; lowers its job if it was the last one. */
void waiter_leave(struct queue *q, struct waiter *w);
/* The waiter with that ticket number, or NULL. */
struct waiter *waiter_find(const struct queue *q, uint64_t ticket);
/* Removes all waiters of the job; returns them as a list by job_next. */
struct waiter *waiters_take(struct queue *q, struct job *job);

/* Calls done() for each waiter of such a list and frees it.  The caller does
 * not hold the lock. */
void waiters_answer(struct waiter *w, int err, const struct result *found);

#endif
