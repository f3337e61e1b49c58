/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_WAITER_H
#define CORE_QUEUE_WAITER_H

#include "core/queue/queue.h"

/*
 * A parked request is in two lists: that of its job and that of all waiters by
 * deadline.  The thread that takes it off both (under the lock) calls done
 * (without the lock) and frees it, so done is called exactly once.
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

/* Under the lock of the queue. */
void waiter_link(struct queue *q, struct job *job, struct waiter *w);
/* Takes a waiter off its lists; a job that has none left is not urgent any
 * more. */
void waiter_leave(struct queue *q, struct waiter *w);
/* The one with that ticket, or NULL. */
struct waiter *waiter_find(const struct queue *q, uint64_t ticket);
/* All of the job, as a list by job_next. */
struct waiter *waiters_take(struct queue *q, struct job *job);

/* Without it: calls done for such a list, and frees it. */
void waiters_answer(struct waiter *w, int err, const struct result *found);

#endif
