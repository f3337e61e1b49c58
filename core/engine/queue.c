/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/queue.h"

#include <errno.h>
#include <stdlib.h>

#include "core/engine/engine_impl.h"
#include "core/engine/job.h"
#include "core/engine/job_list.h"
#include "core/engine/waiter.h"

void result_free(struct result *r)
{
	if (!r)
		return;
	digests_release(&r->digests);
	free(r);
}

/* The workers ask the catalog for more when fewer are left. */
enum { FEED_BELOW = 1024 };

/* How many jobs a spare worker looks at for one it may take. */
enum { SPARE_LOOK = 64 };

/* ---- life ---- */

int queue_init(struct queue *q, size_t serve_most)
{
	int err = -pthread_mutex_init(&q->lock, NULL);

	q->share.most = WAITERS_MAX;
	q->serve_most = serve_most;
	if (!err)
		err = engine_cond_init(&q->served_work);
	if (!err)
		err = engine_cond_init(&q->work);
	if (!err)
		err = engine_cond_init(&q->timer);
	if (!err)
		err = engine_cond_init(&q->rest);
	return err;
}

void queue_stop(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	pthread_cond_broadcast(&q->served_work);
	pthread_cond_broadcast(&q->work);
	pthread_cond_broadcast(&q->timer);
	pthread_cond_broadcast(&q->rest);
	pthread_mutex_unlock(&q->lock);
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

			waiters_answer(waiters_take(q, job), -ECANCELED);
			free(job);
			job = next;
		}
		q->buckets[i] = NULL;
	}
	pthread_cond_destroy(&q->rest);
	pthread_cond_destroy(&q->timer);
	pthread_cond_destroy(&q->work);
	pthread_cond_destroy(&q->served_work);
	pthread_mutex_destroy(&q->lock);
}

/* ---- jobs ---- */

/* The job of key, made when there is none, or NULL without memory.  A waited
 * one may exceed the bound: waiters have their own. */
static struct job *job_want(struct queue *q, const struct file_key *key,
			    enum job_level level,
			    const struct file_identity *identity)
{
	struct job *job = job_find(q, key);

	if (!job) {
		job = job_add(q, key);
		if (!job)
			return NULL;
		job->level = level;
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
		job_leave(q, job);
		job_renew(q, job);
	}
	return job;
}

/* Under the lock. */
static int push(struct queue *q, const struct file_key *key,
		enum job_level level, const struct file_identity *identity,
		bool changed)
{
	struct job *job;

	if (q->stopped)
		return -ECANCELED;
	if (q->jobs >= QUEUE_MAX && !job_find(q, key))
		return -ENOBUFS;
	job = job_want(q, key, level, identity);
	if (!job)
		return -ENOMEM;
	if (!changed)
		return 0;
	job->changed = true;
	if (job->state == JOB_RUNNING)
		job->again = true;
	if (job->state == JOB_DONE) {
		job_leave(q, job);
		job_renew(q, job);
	}
	return 0;
}

int queue_push(struct queue *q, const struct file_key *key,
	       enum job_level level, const struct file_identity *identity)
{
	int err;

	pthread_mutex_lock(&q->lock);
	err = push(q, key, level, identity, false);
	pthread_mutex_unlock(&q->lock);
	return err;
}

int queue_push_changed(struct queue *q, const struct file_key *key,
		       const struct file_identity *identity)
{
	int err;

	pthread_mutex_lock(&q->lock);
	err = push(q, key, JOB_CLOSED, identity, true);
	pthread_mutex_unlock(&q->lock);
	return err;
}

bool queue_is_changed(struct queue *q, const struct job *job)
{
	bool changed;

	pthread_mutex_lock(&q->lock);
	changed = job->changed;
	pthread_mutex_unlock(&q->lock);
	return changed;
}

static bool is_served(const struct queue *q, uid_t uid)
{
	const struct job *job = q->served.first;

	while (job && job->uid != uid)
		job = job->next;
	return job != NULL;
}

/* By their turns the first jobs of all users come first; further back there is
 * nobody new. */
static struct job *first_waited(const struct queue *q)
{
	struct job *job = q->levels[JOB_WAITED].first;
	int i;

	if (q->served.count < q->serve_most)
		return job;
	for (i = 0; job && i < SPARE_LOOK && is_served(q, job->uid); i++)
		job = job->next;
	return i < SPARE_LOOK ? job : NULL;
}

static struct job *first_of_background(const struct queue *q)
{
	struct job *job = q->levels[JOB_CLOSED].first;

	if (q->paused)
		return NULL;
	return job ? job : q->levels[JOB_SCAN].first;
}

static struct job *take_first(struct queue *q, bool background)
{
	struct job *job = background ? first_of_background(q) : first_waited(q);

	if (!job)
		return NULL;
	job_leave(q, job);
	job->state = JOB_RUNNING;
	job->served = !background;
	if (job->served) {
		share_serve(&q->share, job->turn);
		job_list_append(&q->served, job);
	}
	job->identity = (struct file_identity){ 0 };
	job->scanned = job->level == JOB_SCAN;
	q->scanning += job->scanned;
	q->running++;
	return job;
}

static bool wants_food(const struct queue *q)
{
	return q->feed && q->levels[JOB_SCAN].count < FEED_BELOW &&
	       q->jobs < QUEUE_MAX / 2;
}

struct job *queue_take(struct queue *q, bool background)
{
	struct job *job = NULL;

	pthread_mutex_lock(&q->lock);
	while (!q->stopped) {
		if (background && wants_food(q)) {
			q->feed = false;
			break;
		}
		job = take_first(q, background);
		if (job)
			break;
		pthread_cond_wait(background ? &q->work : &q->served_work,
				  &q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return job;
}

void queue_feed(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->feed = true;
	pthread_cond_signal(&q->work);
	pthread_mutex_unlock(&q->lock);
}

void queue_hand_over(struct queue *q, struct job *job)
{
	pthread_mutex_lock(&q->lock);
	job->again = false;
	job_leave(q, job);
	job_enqueue(q, job);
	pthread_mutex_unlock(&q->lock);
}

/* A running job that changed meanwhile runs again. */
static bool run_again(struct queue *q, struct job *job)
{
	if (!job->again)
		return false;
	job->again = false;
	job_leave(q, job);
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
		job->seen_ms = engine_now_ms();
	}
	job->again = false;
	job->joined = false;
	level = job->level;
	pthread_mutex_unlock(&q->lock);
	return level;
}

static void end_job(struct queue *q, struct job *job, bool for_joined)
{
	struct waiter *waiters = NULL;

	pthread_mutex_lock(&q->lock);
	if (for_joined && job->joined)
		job->again = true;
	if (!run_again(q, job)) {
		waiters = waiters_take(q, job);
		job_leave(q, job);
		job_drop(q, job);
	}
	pthread_mutex_unlock(&q->lock);
	waiters_answer(waiters, 0);
}

void queue_finish(struct queue *q, struct job *job)
{
	end_job(q, job, false);
}

void queue_give_up(struct queue *q, struct job *job)
{
	end_job(q, job, true);
}

void queue_delay(struct queue *q, struct job *job, int64_t delay_ms,
		 bool unsteady)
{
	pthread_mutex_lock(&q->lock);
	job_leave(q, job);
	job->again = false;
	if (unsteady)
		job->tries++;
	job->state = JOB_DELAYED;
	job->ready_ms = engine_now_ms() + delay_ms;
	job_list_insert_by_time(&q->delayed, job);
	if (job->tries >= 3)
		q->unsteady++;
	pthread_cond_signal(&q->timer);
	pthread_mutex_unlock(&q->lock);
}

void queue_done(struct queue *q, struct job *job, struct result *r,
		int (*post)(void *arg, struct result *r), void *arg)
{
	struct waiter *waiters = NULL;
	bool posted;

	pthread_mutex_lock(&q->lock);
	if (run_again(q, job)) {
		pthread_mutex_unlock(&q->lock);
		result_free(r);
		return;
	}
	waiters = waiters_take(q, job);
	job_leave(q, job);
	job->state = JOB_DONE;
	job->changed = false;
	job->tries = 0;
	job->level = JOB_SCAN;
	job->result = r;
	q->done++;
	posted = !post(arg, r);
	pthread_mutex_unlock(&q->lock);
	waiters_answer(waiters, 0);
	if (posted)
		return;
	queue_committed(q, r);
	result_free(r);
}

void queue_committed(struct queue *q, const struct result *r)
{
	struct job *job;

	pthread_mutex_lock(&q->lock);
	job = job_find(q, &r->key);
	if (job && job->state == JOB_DONE && job->result == r) {
		struct waiter *waiters = waiters_take(q, job);

		job_leave(q, job);
		job_drop(q, job);
		pthread_mutex_unlock(&q->lock);
		waiters_answer(waiters, 0);
		return;
	}
	pthread_mutex_unlock(&q->lock);
}

void queue_pause(struct queue *q, enum queue_pause reason, bool on)
{
	pthread_mutex_lock(&q->lock);
	q->paused = on ? q->paused | reason : q->paused & ~reason;
	pthread_cond_broadcast(&q->work);
	pthread_cond_broadcast(&q->rest);
	pthread_mutex_unlock(&q->lock);
}

static enum queue_recall recall(const struct queue *q, const struct job *job)
{
	if (!job)
		return QUEUE_GO_ON;
	if (job->waiters)
		return QUEUE_WAITED;
	return q->paused ? QUEUE_PAUSED : QUEUE_GO_ON;
}

enum queue_recall queue_recall(struct queue *q, const struct job *job)
{
	enum queue_recall why;

	pthread_mutex_lock(&q->lock);
	why = recall(q, job);
	pthread_mutex_unlock(&q->lock);
	return why;
}

bool queue_rest(struct queue *q, const struct job *job, int64_t until_ms)
{
	bool rested = false, recalled = false;

	pthread_mutex_lock(&q->lock);
	while (!rested && !recalled) {
		recalled = q->stopped || recall(q, job) != QUEUE_GO_ON;
		rested = engine_now_ms() >= until_ms;
		if (!rested && !recalled)
			engine_cond_wait(&q->rest, &q->lock, until_ms);
	}
	pthread_mutex_unlock(&q->lock);
	return !recalled;
}

int queue_look(struct queue *q, const struct file_key *key,
	       const struct file_identity *identity, enum queue_view *view_out,
	       int *error_out, struct digests *digests_out)
{
	struct job *job;
	int err = 0;

	pthread_mutex_lock(&q->lock);
	job = job_find(q, key);
	if (!job) {
		*view_out = QUEUE_UNKNOWN;
	} else if (job->state != JOB_DONE ||
		   !file_identity_equal(&job->result->identity, identity)) {
		*view_out = job->changed ? QUEUE_CHANGED : QUEUE_UNDER_WAY;
	} else {
		*error_out = job->result->error;
		if (!job->result->error)
			err = digests_copy(&job->result->digests, digests_out);
		if (!err)
			*view_out = QUEUE_RESULT;
	}
	pthread_mutex_unlock(&q->lock);
	return err;
}

/* What it was delayed for may be over sooner when somebody waits. */
static bool waits_in_vain(const struct job *job)
{
	return job->state == JOB_DELAYED && job->level != JOB_WAITED &&
	       !job->tries;
}

/* The job of key as a waited one, at this turn or an earlier one; NULL without
 * memory.  A result that is done was not what the caller looks for. */
static struct job *job_want_waited(struct queue *q, const struct file_key *key,
				   uid_t uid, uint64_t turn)
{
	struct job *job = job_find(q, key);
	bool is_new = !job, moves;

	if (is_new)
		job = job_add(q, key);
	if (!job)
		return NULL;
	moves = job->state == JOB_QUEUED || job->state == JOB_RESTING ||
		job->state == JOB_DONE || waits_in_vain(job);
	if (moves && !is_new)
		job_leave(q, job);
	if (job->level != JOB_WAITED || job->turn > turn) {
		job->turn = turn;
		job->uid = uid;
	}
	job->level = JOB_WAITED;
	if (moves)
		job_enqueue(q, job);
	return job;
}

static int wait_locked(struct queue *q, const struct file_key *key,
		       struct waiter *w)
{
	struct job *job;
	uint64_t turn;
	int err;

	if (q->stopped)
		return -ECANCELED;
	if (q->jobs >= QUEUE_MAX + WAITERS_MAX && !job_find(q, key))
		return -EAGAIN;
	err = share_take(&q->share, w->uid, &turn);
	if (err)
		return err;
	job = job_want_waited(q, key, w->uid, turn);
	if (!job) {
		share_give(&q->share, w->uid);
		return -ENOMEM;
	}
	waiter_link(q, job, w);
	if (job->state == JOB_RUNNING) {
		job->joined = true;
		pthread_cond_broadcast(&q->rest);
	}
	return 0;
}

int queue_wait(struct queue *q, const struct file_key *key, uid_t uid,
	       int64_t deadline_ms, void (*done)(void *arg, int result),
	       void *arg)
{
	struct waiter *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->uid = uid;
	w->deadline_ms = deadline_ms;
	w->done = done;
	w->arg = arg;
	pthread_mutex_lock(&q->lock);
	err = wait_locked(q, key, w);
	pthread_mutex_unlock(&q->lock);
	if (err)
		free(w);
	return err;
}

void queue_counts(struct queue *q, struct queue_counts *out)
{
	int level;

	pthread_mutex_lock(&q->lock);
	*out = (struct queue_counts){
		.delayed = q->delayed.count + q->resting.count,
		.unsteady = q->unsteady,
		.running = q->running,
		.done = q->done,
		.waiting = q->waiting,
		.scanned = q->levels[JOB_SCAN].count + q->scanning,
		.paused = q->paused,
	};
	for (level = 0; level < JOB_LEVELS; level++)
		out->queued += q->levels[level].count;
	pthread_mutex_unlock(&q->lock);
}
