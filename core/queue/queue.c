/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/queue.h"

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
	int err = -pthread_mutex_init(&q->lock, NULL), kind;

	q->share.most = WAITERS_MAX;
	q->serve_most = serve_most;
	for (kind = 0; kind < WORKER_KINDS && !err; kind++)
		err = cond_init_monotonic(&q->work[kind]);
	if (!err && sem_init(&q->wake, 0, 0))
		err = -errno;
	return err ? err : -pthread_cond_init(&q->resumed, NULL);
}

void queue_stop(struct queue *q)
{
	int kind;

	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	for (kind = 0; kind < WORKER_KINDS; kind++)
		pthread_cond_broadcast(&q->work[kind]);
	pthread_cond_broadcast(&q->resumed);
	pthread_mutex_unlock(&q->lock);
	queue_wake_timer(q);
	if (q->timer_started)
		pthread_join(q->timer_thread, NULL);
	q->timer_started = false;
}

void queue_release(struct queue *q)
{
	size_t i;

	for (i = 0; i < QUEUE_BUCKETS; i++) {
		struct job *job = q->buckets[i];

		while (job) {
			struct job *next = job->chain;

			waiters_answer(waiters_take(q, job), -ECANCELED, NULL);
			result_free(job->result);
			free(job);
			job = next;
		}
		q->buckets[i] = NULL;
	}
	pthread_cond_destroy(&q->resumed);
	sem_destroy(&q->wake);
	for (i = 0; i < WORKER_KINDS; i++)
		pthread_cond_destroy(&q->work[i]);
	pthread_mutex_destroy(&q->lock);
}

/* ---- jobs ---- */

/* Finds or makes the job of the file, at least at that level; a job that is
 * running or done runs again if it is of another identity.  NULL: no memory. */
static struct job *push_job(struct queue *q, const struct file_key *key,
			    enum job_level level,
			    const struct file_identity *identity)
{
	struct job *job = job_find(q, key, 0);

	if (!job) {
		job = job_add(q, key, 0);
		if (!job)
			return NULL;
		job->level = job->background = level;
		job_renew(q, job);
		return job;
	}
	job_raise(q, job, level);
	if (!identity)
		return job;
	if (job->state == JOB_RUNNING &&
	    !file_identity_equal(&job->identity, identity))
		job->again = true;
	if (job->state == JOB_DONE &&
	    !file_identity_equal(&job->result->identity, identity)) {
		job_leave(job);
		job_renew(q, job);
	}
	return job;
}

static int push(struct queue *q, const struct file_key *key,
		enum job_level level, const struct file_identity *identity,
		bool changed)
{
	struct job *job = NULL;
	int err = 0;

	pthread_mutex_lock(&q->lock);
	if (q->stopped)
		err = -ECANCELED;
	else if (q->jobs >= QUEUE_MAX && !job_find(q, key, 0))
		err = -ENOBUFS;
	if (!err) {
		job = push_job(q, key, level, identity);
		err = job ? 0 : -ENOMEM;
	}
	if (job && changed) {
		job->changed = true;
		job->again = job->state == JOB_RUNNING;
		if (job->state == JOB_DONE) {
			job_leave(job);
			job_renew(q, job);
		}
	}
	pthread_mutex_unlock(&q->lock);
	return err;
}

int queue_push(struct queue *q, const struct file_key *key,
	       enum job_level level, const struct file_identity *identity)
{
	return push(q, key, level, identity, false);
}

int queue_push_changed(struct queue *q, const struct file_key *key,
		       const struct file_identity *identity)
{
	return push(q, key, JOB_CLOSED, identity, true);
}

/* Queues a running job again if its file has changed. */
static bool run_again_locked(struct queue *q, struct job *job)
{
	if (!job->again)
		return false;
	job->again = false;
	job_leave(job);
	job_renew(q, job);
	return true;
}

enum job_level queue_identify(struct queue *q, struct job *job,
			      const struct file_identity *identity)
{
	enum job_level level;

	pthread_mutex_lock(&q->lock);
	job->identity = *identity;
	if (!job->seen_ms || !file_identity_equal(&job->seen, identity)) {
		job->seen = *identity;
		job->seen_ms = clock_now_ms();
	}
	job->large = identity->size >= QUEUE_LARGE;
	job->left = identity->size;
	job->again = false;
	job->joined = false;
	level = job->level;
	pthread_mutex_unlock(&q->lock);
	return level;
}

void queue_finish(struct queue *q, struct job *job)
{
	struct parked_request *waiters = NULL;

	pthread_mutex_lock(&q->lock);
	if (job->joined && job->waiters)
		job->again = true;
	if (!run_again_locked(q, job)) {
		waiters = waiters_take(q, job);
		job_leave(job);
		job_drop(q, job);
	}
	pthread_mutex_unlock(&q->lock);
	waiters_answer(waiters, 0, NULL);
}

static void delay_locked(struct queue *q, struct job *job, int64_t delay_ms)
{
	job_leave(job);
	job->state = JOB_DELAYED;
	job->ready_ms = clock_now_ms() + delay_ms;
	job_list_insert_by_time(&q->delayed, job);
	queue_wake_timer(q);
}

void queue_delay(struct queue *q, struct job *job, int64_t delay_ms,
		 bool unsteady)
{
	pthread_mutex_lock(&q->lock);
	if (job->again && job->demanded == QUEUE_TEXT)
		delay_ms = 0;
	job->again = false;
	if (unsteady)
		job->tries++;
	delay_locked(q, job, delay_ms);
	pthread_mutex_unlock(&q->lock);
}

void queue_want_texts(struct queue *q, int64_t delay_ms)
{
	static const struct file_key none;
	int64_t ready_ms = clock_now_ms() + delay_ms;
	struct job *job;

	pthread_mutex_lock(&q->lock);
	job = job_find(q, &none, QUEUE_TEXT);
	if (!job && !q->stopped) {
		job = job_add(q, &none, QUEUE_TEXT);
		if (job)
			job->turn = UINT64_MAX; /* after those with requests */
	}
	if (job && job->state == JOB_RUNNING)
		job->again = true;
	else if (job && (!job->list || job->ready_ms > ready_ms))
		delay_locked(q, job, delay_ms);
	pthread_mutex_unlock(&q->lock);
}

void queue_done(struct queue *q, struct job *job, struct result *r, bool posted)
{
	struct parked_request *waiters = NULL;
	struct job *oldest;
	bool again, gone;

	pthread_mutex_lock(&q->lock);
	again = run_again_locked(q, job);
	if (!again) {
		waiters = waiters_take(q, job);
		job_leave(job);
		job->state = JOB_DONE;
		job->changed = false;
		job->tries = 0;
		job->level = job->background = JOB_SCAN;
		job->result = r;
		atomic_fetch_add(&r->shared, 1);
	}
	gone = !again && !job->demanded && (!posted || r->committed);
	if (!again && job->demanded) {
		job_list_append(&q->demanded, job);
		oldest = q->demanded.first;
		if (q->demanded.count > QUEUE_DEMANDED_KEPT) {
			job_leave(oldest);
			job_drop(q, oldest);
		}
	}
	pthread_mutex_unlock(&q->lock);
	waiters_answer(waiters, 0, r);
	if (gone)
		queue_committed(q, r);
	result_free(r);
}

void queue_committed(struct queue *q, struct result *r)
{
	struct job *job;

	pthread_mutex_lock(&q->lock);
	r->committed = true;
	job = job_find(q, &r->key, 0);
	if (job && job->state == JOB_DONE && job->result == r) {
		job_leave(job);
		job_drop(q, job);
	}
	pthread_mutex_unlock(&q->lock);
}

/* Workers that wait at their gates see that they have to hand over. */
static void open_gates(const struct job_list *running)
{
	struct job *job;

	for (job = running->first; job; job = job->next)
		if (job->gate)
			gate_set(job->gate, true);
}

void queue_pause(struct queue *q, bool on)
{
	int kind;

	pthread_mutex_lock(&q->lock);
	q->paused = on;
	for (kind = 0; kind < WORKER_KINDS && on; kind++)
		open_gates(&q->running[kind]);
	if (!on) {
		job_wake_background(q);
		job_wake(q, WORKER_LARGE);
		pthread_cond_broadcast(&q->resumed);
	}
	pthread_mutex_unlock(&q->lock);
}

void queue_sit_out_pause(struct queue *q, struct job *job)
{
	pthread_mutex_lock(&q->lock);
	job->suspended = true;
	while (q->paused && !job->waiters && !q->stopped)
		pthread_cond_wait(&q->resumed, &q->lock);
	job->suspended = false;
	pthread_mutex_unlock(&q->lock);
}

static struct result *get_result(struct queue *q, const struct file_key *key,
				 uint32_t demanded,
				 const struct file_identity *identity)
{
	struct job *job = job_find(q, key, demanded);

	if (!job || job->state != JOB_DONE ||
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
	is_recent = job &&
		    (job->background == JOB_CLOSED || job->state == JOB_DONE);
	pthread_mutex_unlock(&q->lock);
	return is_recent;
}

/* Whether a request that is parked now ends the delay.  It does so once: the
 * worker may find the file ready sooner, and otherwise delays the job again. */
static bool ends_delay(const struct queue *q, const struct job *job)
{
	return job->list == &q->coalescing ||
	       (job->list == &q->delayed && job->level != JOB_WAITED &&
		!job->tries);
}

/* Finds or makes the job of the file, at JOB_WAITED and at this turn or an
 * earlier one.  NULL: no memory.  It may exceed QUEUE_MAX, as the number of
 * waiters is bounded.  A job that is done has a result of another identity, or
 * one that the caller did not want: it is queued again. */
static struct job *push_waited_job(struct queue *q, const struct file_key *key,
				   const struct parked_request *w,
				   uint64_t turn)
{
	struct job *job = job_find(q, key, w->demanded);
	bool is_new = !job, moves;

	if (is_new)
		job = job_add(q, key, w->demanded);
	if (!job)
		return NULL;
	moves = job->state == JOB_QUEUED || job->state == JOB_DONE ||
		ends_delay(q, job);
	if (moves && !is_new)
		job_leave(job);
	if (job->level != JOB_WAITED || job->turn > turn) {
		job->turn = turn;
		job->uid = w->uid;
	}
	job->level = JOB_WAITED;
	if (moves)
		job_enqueue(q, job);
	return job;
}

static int park_locked(struct queue *q, const struct file_key *key,
		       struct parked_request *w)
{
	struct job *job;
	uint64_t turn;
	int err;

	if (q->stopped)
		return -ECANCELED;
	if (q->jobs >= QUEUE_MAX + WAITERS_MAX &&
	    !job_find(q, key, w->demanded))
		return -EAGAIN;
	err = share_take(&q->share, w->uid, &turn);
	if (err)
		return err;
	job = push_waited_job(q, key, w, turn);
	if (!job) {
		share_give(&q->share, w->uid);
		return -ENOMEM;
	}
	waiter_link(q, job, w);
	if (job->state == JOB_RUNNING) {
		job->joined = true;
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
	struct parked_request *w;

	pthread_mutex_lock(&q->lock);
	w = waiter_find(q, ticket);
	if (w)
		waiter_leave(q, w);
	pthread_mutex_unlock(&q->lock);
	if (w)
		w->job_next = NULL;
	waiters_answer(w, -EINTR, NULL);
}

void queue_counts(struct queue *q, struct queue_counts *out)
{
	int64_t now = clock_now_ms();
	const struct job *job;
	int i;

	pthread_mutex_lock(&q->lock);
	*out = (struct queue_counts){
		.queued = q->large[0].count + q->large[1].count,
		.delayed = q->coalescing.count,
		.waiting = q->waiting,
		.scanned = q->levels[JOB_SCAN].count + q->large[1].count,
		.paused = q->paused,
	};
	for (i = 0; i < JOB_LEVELS; i++)
		out->queued += q->levels[i].count;
	for (job = q->delayed.first; job; job = job->next) {
		out->delayed += job->demanded != QUEUE_TEXT;
		out->unsteady += job->tries >= 3;
	}
	for (i = 0; i < WORKER_KINDS; i++)
		for (job = q->running[i].first; job; job = job->next) {
			out->running += !job->suspended && !job->demanded;
			out->queued += job->suspended;
			out->scanned += job->scanned;
			out->size += job->identity.size;
			out->done += job->identity.size - job->left;
		}
	/* Too short a time says nothing. */
	if (now - q->read.ms < SPEED_MS && now - q->mark.ms >= 500)
		out->speed = (q->read.bytes - q->mark.bytes) * 1000 /
			     (uint64_t)(now - q->mark.ms);
	pthread_mutex_unlock(&q->lock);
}
