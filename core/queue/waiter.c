/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/waiter.h"

#include <stdlib.h>

#include "core/queue/job.h"

static void waiter_unlink(struct queue *q, struct waiter *w)
{
	struct waiter **at = &w->job->waiters;

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

void waiter_leave(struct queue *q, struct waiter *w)
{
	struct job *job = w->job;

	waiter_unlink(q, w);
	if (!job->waiters)
		job_lower(q, job);
}

struct waiter *waiter_find(const struct queue *q, uint64_t ticket)
{
	struct waiter *w = q->waiting_last;

	while (w && w->ticket != ticket)
		w = w->prev;
	return w;
}

void waiters_answer(struct waiter *w, int err, const struct result *found)
{
	while (w) {
		struct waiter *next = w->job_next;

		w->done(w->arg, err, found);
		free(w);
		w = next;
	}
}

struct waiter *waiters_take(struct queue *q, struct job *job)
{
	struct waiter *taken = NULL;

	while (job->waiters) {
		struct waiter *w = job->waiters;

		waiter_unlink(q, w);
		w->job_next = taken;
		taken = w;
	}
	return taken;
}

void waiter_link(struct queue *q, struct job *job, struct waiter *w)
{
	struct waiter *after = q->waiting_last;

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
