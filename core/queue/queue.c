/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/queue/queue_impl.h"

void result_free(struct result *r)
{
	if (!r || atomic_fetch_sub(&r->shared, 1))
		return;
	digests_release(&r->digests);
	free(r);
}

void queue_ticket_init(struct queue_ticket *ticket)
{
	static atomic_ullong last;

	ticket->number = atomic_fetch_add(&last, 1) + 1;
	atomic_init(&ticket->given_up, false);
}

/* ---- life ---- */

int queue_init(struct queue *q, size_t serve_most)
{
	int err = -pthread_mutex_init(&q->lock, NULL), kind, i;

	for (i = 0; i < JOB_STATES; i++)
		TAILQ_INIT(&q->lists[i].jobs);
	TAILQ_INIT(&q->waiting);
	TAILQ_INIT(&q->closed);
	q->quota.most = WAITERS_MAX;
	q->serve_most = serve_most;
	for (kind = 0; kind < WORKER_KINDS && !err; kind++)
		err = cond_init_monotonic(&q->work[kind]);
	if (!err && sem_init(&q->wake, 0, 0))
		err = -errno;
	return err ? err : -pthread_cond_init(&q->resumed, NULL);
}

void queue_release(struct queue *q)
{
	size_t i;

	for (i = 0; i < QUEUE_BUCKETS; i++) {
		struct job *job = q->buckets[i];

		while (job) {
			struct job *next = job->chain;

			assert(!job_is_waited(job));
			result_free(job->result);
			free(job);
			job = next;
		}
		q->buckets[i] = NULL;
	}
	pthread_cond_destroy(&q->resumed);
	sem_destroy(&q->wake);
	for (i = 0; i < WORKER_KINDS; i++) {
		crew_release(&q->workers[i]);
		pthread_cond_destroy(&q->work[i]);
	}
	pthread_mutex_destroy(&q->lock);
}

/* ---- jobs ---- */

/* What a caller pushes. */
struct pushed {
	enum job_level level;
	const struct file_identity *identity; /* or NULL */
	bool changed;                         /* whatever the identity says */
};

/* The file has a job already. */
static void push_again(struct queue *q, struct job *job, const struct pushed *p,
		       struct request_list *outdated)
{
	const bool rises = p->level < job->level;
	const bool changed =
		p->changed ||
		(p->identity && !file_identity_equal(&job->seen, p->identity));

	if (rises)
		job->level = p->level;
	if (p->level == JOB_CLOSED && (job->state < JOB_DONE || changed))
		job_note_closed(q, job, p->identity, outdated);
	if (job_is_running(job)) {
		job->again = job->again || changed;
		job->fed = job->fed || !p->identity;
	} else if ((job->state >= JOB_DONE && changed) ||
		   (rises && job_is_queued(job) && !job_is_waited(job))) {
		job_renew(q, job);
	}
}

static int push(struct queue *q, const struct file_key *key,
		const struct pushed *p)
{
	struct request_list outdated = { NULL };
	struct job *job;
	int err = 0;

	pthread_mutex_lock(&q->lock);
	job = job_find(q, key, 0);
	if (q->stopped) {
		err = -ECANCELED;
	} else if (job) {
		push_again(q, job, p, &outdated);
	} else if (q->jobs >= QUEUE_MAX) {
		err = -ENOBUFS;
	} else {
		job = job_add(q, key, 0);
		err = job ? 0 : -ENOMEM;
		if (job) {
			job->level = p->level;
			if (p->level == JOB_CLOSED)
				job_note_closed(q, job, p->identity, &outdated);
			job_renew(q, job);
		}
	}
	if (!err && p->changed)
		job->changed = true;
	pthread_mutex_unlock(&q->lock);
	waiters_answer(&outdated, 0, NULL);
	return err;
}

int queue_push(struct queue *q, const struct file_key *key,
	       enum job_level level, const struct file_identity *identity)
{
	return push(q, key, &(struct pushed){ level, identity, false });
}

int queue_push_changed(struct queue *q, const struct file_key *key,
		       const struct file_identity *identity)
{
	return push(q, key, &(struct pushed){ JOB_CLOSED, identity, true });
}

void queue_identify(struct queue *q, struct job *job,
		    const struct file_identity *identity)
{
	pthread_mutex_lock(&q->lock);
	if (!job->seen_ms || !file_identity_equal(&job->seen, identity)) {
		job->seen = *identity;
		job->seen_ms = clock_now_ms();
	}
	job->left = identity->size;
	job->again = false;
	pthread_mutex_unlock(&q->lock);
}

/* Queues a running job again if its file has changed. */
static bool runs_again_locked(struct queue *q, struct job *job)
{
	if (!job->again)
		return false;
	job->again = false;
	job_renew(q, job);
	return true;
}

void queue_finish(struct queue *q, struct job *job)
{
	struct request_list waiters = { NULL };

	pthread_mutex_lock(&q->lock);
	job->again = job->again || job->fed;
	if (!runs_again_locked(q, job)) {
		waiters_take(q, job, &waiters);
		job_drop(q, job);
	}
	pthread_mutex_unlock(&q->lock);
	waiters_answer(&waiters, 0, NULL);
}

static void delay_locked(struct queue *q, struct job *job, int64_t delay_ms)
{
	job_move(q, job, JOB_DELAYED, (uint64_t)(clock_now_ms() + delay_ms));
	queue_wake_timer(q);
}

void queue_delay(struct queue *q, struct job *job, int64_t delay_ms,
		 bool unsteady)
{
	pthread_mutex_lock(&q->lock);
	if (job->again && job->demanded == QUEUE_TEXT)
		delay_ms = 0;
	job->again = false;
	job->tries += unsteady;
	delay_locked(q, job, delay_ms);
	pthread_mutex_unlock(&q->lock);
}

void queue_want_texts(struct queue *q, int64_t delay_ms)
{
	static const struct file_key none;
	uint64_t ready_ms = (uint64_t)(clock_now_ms() + delay_ms);
	struct job *job;

	pthread_mutex_lock(&q->lock);
	job = job_find(q, &none, QUEUE_TEXT);
	if (!job && !q->stopped)
		job = job_add(q, &none, QUEUE_TEXT);
	if (job && job_is_running(job))
		job->again = true;
	else if (job && !job_is_queued(job) &&
		 (job->state == JOB_NEW || job->order > ready_ms))
		delay_locked(q, job, delay_ms);
	pthread_mutex_unlock(&q->lock);
}

void queue_done(struct queue *q, struct job *job, struct result *r, bool posted)
{
	struct request_list waiters = { NULL };
	struct job *oldest;

	pthread_mutex_lock(&q->lock);
	if (!runs_again_locked(q, job)) {
		waiters_take(q, job, &waiters);
		job_forget_closed(q, job);
		job_move(q, job, job->demanded ? JOB_DONE_DEMANDED : JOB_DONE,
			 0);
		job->changed = false;
		job->tries = 0;
		job->level = JOB_SCAN;
		job->result = r;
		atomic_fetch_add(&r->shared, 1);
		oldest = jobs_first(q, JOB_DONE_DEMANDED);
		if (q->lists[JOB_DONE_DEMANDED].count > QUEUE_DEMANDED_KEPT)
			job_drop(q, oldest);
		if (!job->demanded && (!posted || r->committed))
			job_drop(q, job);
	}
	pthread_mutex_unlock(&q->lock);
	waiters_answer(&waiters, 0, r);
	result_free(r);
}

void queue_committed(struct queue *q, struct result *r)
{
	struct job *job;

	pthread_mutex_lock(&q->lock);
	r->committed = true;
	job = job_find(q, &r->key, 0);
	if (job && job->result == r) {
		job_drop(q, job);
		if (queue_is_hungry(q))
			job_wake_background(q);
	}
	pthread_mutex_unlock(&q->lock);
}

void queue_pause(struct queue *q, bool on)
{
	struct job *job;
	int kind;

	pthread_mutex_lock(&q->lock);
	q->paused = on;
	/* Workers that wait at their gates see that they have to hand over. */
	for (kind = 0; kind < WORKER_KINDS && on; kind++)
		TAILQ_FOREACH(job, &q->lists[JOB_RUNNING + kind].jobs, link)
			if (job->gate)
				gate_set(job->gate, true);
	if (!on) {
		job_wake_background(q);
		job_wake(q, WORKER_LARGE);
		job_wake(q, WORKER_TEXT_IDLE);
		pthread_cond_broadcast(&q->resumed);
	}
	pthread_mutex_unlock(&q->lock);
}

void queue_sit_out_pause(struct queue *q, struct job *job)
{
	pthread_mutex_lock(&q->lock);
	job->suspended = true;
	while (q->paused && !job_is_waited(job) && !q->stopped)
		pthread_cond_wait(&q->resumed, &q->lock);
	job->suspended = false;
	pthread_mutex_unlock(&q->lock);
}

static struct result *get_result(struct queue *q, const struct file_key *key,
				 uint32_t demanded,
				 const struct file_identity *identity)
{
	struct job *job = job_find(q, key, demanded);

	if (!job || !job->result ||
	    !file_identity_equal(&job->result->identity, identity))
		return NULL;
	atomic_fetch_add(&job->result->shared, 1);
	return job->result;
}

struct result *queue_find_result(struct queue *q, const struct file_key *key,
				 const struct file_identity *identity)
{
	struct result *found;

	pthread_mutex_lock(&q->lock);
	found = get_result(q, key, 0, identity);
	pthread_mutex_unlock(&q->lock);
	return found;
}

bool queue_doubts_file(struct queue *q, const struct file_key *key)
{
	const struct job *job;
	bool doubts;

	pthread_mutex_lock(&q->lock);
	job = job_find(q, key, 0);
	doubts = job && job->changed;
	pthread_mutex_unlock(&q->lock);
	return doubts;
}

bool queue_is_recent(struct queue *q, const struct file_key *key)
{
	const struct job *job;
	bool is_recent;

	pthread_mutex_lock(&q->lock);
	job = job_find(q, key, 0);
	is_recent = job && (job->level == JOB_CLOSED || job->result);
	pthread_mutex_unlock(&q->lock);
	return is_recent;
}

/* Whether a request that is parked now ends the delay.  It does so once: the
 * worker may find the file ready sooner, and otherwise delays the job again. */
static bool ends_delay(const struct job *job)
{
	return job->state == JOB_COALESCES ||
	       (job->state == JOB_DELAYED && !job_is_waited(job) &&
		!job->tries);
}

/* The job may exceed QUEUE_MAX, as the number of requests is bounded.  One that
 * is done has a result of another identity, or one that the caller did not
 * want: it is queued again. */
static int park_locked(struct queue *q, const struct file_key *key,
		       struct parked_request *w)
{
	struct job *job = job_find(q, key, w->demanded);
	uint64_t turn;
	bool moves;
	int err;

	if (q->waits_end)
		return -ECANCELED;
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
	moves = job->state == JOB_NEW || job_is_queued(job) ||
		job->state >= JOB_DONE || ends_delay(job);
	if (!job_is_waited(job) || job->turn > turn) {
		job->turn = turn;
		job->uid = w->uid;
	}
	waiter_link(q, job, w);
	if (moves)
		job_enqueue(q, job);
	if (job_is_running(job)) {
		if (job->gate)
			gate_set(job->gate, true);
		pthread_cond_broadcast(&q->resumed);
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
	else if (w->identity)
		found = get_result(q, key, w->demanded, w->identity);
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

/* ---- files that were closed ---- */

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

void queue_counts(struct queue *q, struct queue_counts *out)
{
	int64_t now = clock_now_ms();
	const struct job *job;
	int i;

	pthread_mutex_lock(&q->lock);
	*out = (struct queue_counts){
		.delayed = q->lists[JOB_COALESCES].count,
		.waiting = q->quota.used,
		.scanned = q->lists[JOB_QUEUED + JOB_SCAN].count +
			   q->lists[JOB_QUEUED_LARGE].count,
		.feeding = q->feed_wanted || q->feed_passes,
		.paused = q->paused,
	};
	for (i = JOB_QUEUED; i < JOB_QUEUED_TEXT_WAITED; i++)
		out->queued += q->lists[i].count;
	TAILQ_FOREACH(job, &q->lists[JOB_DELAYED].jobs, link) {
		out->delayed += job->demanded != QUEUE_TEXT;
		out->unsteady += job->tries >= 3;
	}
	for (i = JOB_RUNNING; i < JOB_RUNNING + WORKER_KINDS; i++)
		TAILQ_FOREACH(job, &q->lists[i].jobs, link) {
			out->running += !job->suspended && !job->demanded;
			out->queued += job->suspended;
			out->scanned += job->scanned;
			out->size += job->seen.size;
			out->done += job->seen.size - job->left;
			if (job->left <= out->longest_left)
				continue;
			out->longest = job->key;
			out->longest_size = job->seen.size;
			out->longest_left = job->left;
		}
	/* Too short a time says nothing. */
	if (now - q->read.ms < SPEED_MS && now - q->mark.ms >= 500)
		out->speed = (q->read.bytes - q->mark.bytes) * 1000 /
			     (uint64_t)(now - q->mark.ms);
	pthread_mutex_unlock(&q->lock);
}
