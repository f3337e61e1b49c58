/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/queue/queue_impl.h"

/* Parked requests, and the files that were closed, for which queries park
 * some. */

void queue_ticket_init(struct queue_ticket *ticket)
{
	static atomic_ullong last;

	ticket->number = atomic_fetch_add(&last, 1) + 1;
	atomic_init(&ticket->given_up, false);
}

/* ---- the requests of a job ---- */

static void waiter_link(struct queue *q, struct job *job,
			struct parked_request *w)
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

/* Moves the request from its lists to *out; its job may then be one of the
 * background, or gone. */
static void waiter_take(struct queue *q, struct parked_request *w,
			struct request_list *out)
{
	struct job *job = w->job;

	waiter_move(q, w, out);
	if (job_is_waited(job))
		return;
	gate_set(job->gate, false);
	if (job->state == JOB_RUNNING)
		queue_wake_worker(q, job->worker);
	else if (job->state == JOB_QUEUED && job->demanded)
		job_drop(q, job);
	else if (job->state == JOB_QUEUED)
		job_enqueue(q, job);
}

void waiters_take(struct queue *q, struct job *job, struct request_list *out)
{
	while (job_is_waited(job))
		waiter_move(q, LIST_FIRST(&job->waiters), out);
}

int64_t waiters_expire(struct queue *q, int64_t now_ms,
		       struct request_list *out)
{
	struct parked_request *w;

	while ((w = TAILQ_FIRST(&q->waiting)) && w->deadline_ms <= now_ms) {
		w->job->overdue |= w->closed_until;
		waiter_take(q, w, out);
	}
	return w ? w->deadline_ms : INT64_MAX;
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

/* ---- parking ---- */

/* Whether a request that is parked now has the job queued.  It ends a delay once:
 * the worker may find the file ready sooner, and otherwise delays the job
 * again. */
static bool is_to_be_queued(const struct job *job)
{
	if (job->state == JOB_DELAYED)
		return !job_is_waited(job) && !job->tries;
	return job->state != JOB_RUNNING;
}

/* The job may exceed QUEUE_MAX, as the number of requests is bounded.  One that
 * is done has a result of another identity, or one that the caller did not
 * want: it is queued again. */
static int park_locked(struct queue *q, const struct file_key *key,
		       struct parked_request *w)
{
	struct job *job = job_find(q, key, w->demanded);
	uint64_t turn;
	bool queues;
	int err;

	if (w->closed_until &&
	    (!job || !job->closed || job->closed > w->closed_until))
		return -ENOENT;
	if (w->closed_until && job->overdue)
		return -ETIMEDOUT;
	if (!job && q->jobs >= QUEUE_MAX + WAITERS_MAX)
		return -EAGAIN;
	err = quota_take(&q->quota, w->uid, &turn);
	if (err)
		return err;
	if (!job)
		job = job_add(q, key, w->demanded);
	if (!job) {
		quota_give(&q->quota, w->uid);
		return -ENOMEM;
	}
	queues = is_to_be_queued(job);
	if (!job_is_waited(job) || job->turn > turn) {
		job->turn = turn;
		job->uid = w->uid;
	}
	waiter_link(q, job, w);
	if (queues) {
		job_enqueue(q, job);
	} else if (job->state == JOB_RUNNING) {
		gate_set(job->gate, true);
		pthread_cond_broadcast(&q->resumed);
		/* One worker less is at jobs of the background. */
		queue_wake_worker(q, job->worker);
	}
	return 0;
}

int queue_park(struct queue *q, const struct file_key *key,
	       struct parked_request *w)
{
	struct result *found = NULL;
	int err = 0;

	pthread_mutex_lock(&q->lock);
	if (w->ticket && atomic_load(&w->ticket->given_up))
		err = -EINTR;
	else if (q->waits_end)
		err = -ECANCELED;
	else if (w->identity)
		found = job_get_result(q, key, w->demanded, w->identity);
	if (!err && !found)
		err = park_locked(q, key, w);
	pthread_mutex_unlock(&q->lock);
	if (found)
		w->done(w->arg, 0, found);
	result_free(found);
	return err;
}

void queue_give_up_waiting(struct queue *q, uint64_t ticket)
{
	struct request_list given_up = { NULL };
	struct parked_request *w, *next;

	pthread_mutex_lock(&q->lock);
	next = TAILQ_FIRST(&q->waiting);
	while ((w = next)) {
		next = TAILQ_NEXT(w, link);
		if (w->ticket && w->ticket->number == ticket)
			waiter_take(q, w, &given_up);
	}
	pthread_mutex_unlock(&q->lock);
	waiters_answer(&given_up, -EINTR, NULL);
}

void queue_end_waits(struct queue *q)
{
	struct request_list parked = { NULL };

	pthread_mutex_lock(&q->lock);
	q->waits_end = true;
	(void)waiters_expire(q, INT64_MAX, &parked);
	pthread_mutex_unlock(&q->lock);
	waiters_answer(&parked, -ECANCELED, NULL);
}

/* ---- files that were closed ---- */

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

uint64_t queue_closings(struct queue *q)
{
	uint64_t number;

	pthread_mutex_lock(&q->lock);
	number = q->closings;
	pthread_mutex_unlock(&q->lock);
	return number;
}

size_t queue_list_closed(struct queue *q, uint64_t *after, uint64_t until,
			 struct file_key *out, size_t most)
{
	const struct job *job;
	size_t count = 0;

	pthread_mutex_lock(&q->lock);
	TAILQ_FOREACH(job, &q->closed, closed_link) {
		if (count == most || job->closed > until)
			break;
		if (job->closed <= *after)
			continue;
		out[count++] = job->key;
		*after = job->closed;
	}
	pthread_mutex_unlock(&q->lock);
	return count;
}
