/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/thread.h"
#include "core/queue/queue_impl.h"

void result_free(struct result *r)
{
	if (!r || atomic_fetch_sub(&r->shared, 1))
		return;
	digests_release(&r->digests);
	free(r);
}

/* ---- life ---- */

int queue_init(struct queue *q, size_t serve_most)
{
	struct job_list *const lists[] = { &q->feed, &q->coalescing,
					   &q->delayed, &q->running, &q->kept };
	int err = -pthread_mutex_init(&q->lock, NULL);
	size_t i, level;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		TAILQ_INIT(&lists[i]->jobs);
	TAILQ_INIT(&q->waiting);
	TAILQ_INIT(&q->closed);
	q->quota.most = WAITERS_MAX;
	q->serve_most = serve_most;
	for (i = 0; i < WORKER_KINDS && !err; i++) {
		for (level = 0; level < JOB_LEVELS; level++)
			TAILQ_INIT(&q->queued[i][level].jobs);
		q->workers[i] = (struct crew){ .queue = q, .lock = &q->lock };
		crew_init(&q->workers[i]);
		err = cond_init_monotonic(&q->work[i]);
	}
	if (!err && sem_init(&q->wake, 0, 0))
		err = -errno;
	return err ? err : -pthread_cond_init(&q->resumed, NULL);
}

void queue_release(struct queue *q)
{
	size_t i;

	assert(!q->quota.used); /* no request waits */
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

/* ---- jobs come ---- */

static int push(struct queue *q, const struct file_key *key,
		enum job_level level, const struct file_identity *identity,
		bool changed)
{
	/* The pending list leaves room for files that change. */
	const size_t most = identity ? QUEUE_MAX : QUEUE_MAX / 2;
	struct request_list outdated = { NULL };
	struct job *job;
	bool rises, differs;
	int err = 0;

	pthread_mutex_lock(&q->lock);
	job = job_find(q, key, 0);
	if (!job && q->jobs < most)
		job = job_add(q, key, 0);
	if (!job || q->stopped) {
		err = q->stopped ? -ECANCELED : -ENOBUFS;
		goto out;
	}
	rises = level < job->level;
	differs = changed ||
		  (identity && !file_identity_equal(&job->seen, identity));
	if (rises)
		job->level = level;
	job->changed = job->changed || changed;
	if (level == JOB_CLOSED && (job->state != JOB_DONE || differs))
		job_note_closed(q, job, identity, &outdated);
	if (job->state == JOB_RUNNING) {
		job->again = job->again || differs;
		job->fed = job->fed || !identity;
	} else if (job->state == JOB_NEW ||
		   (job->state == JOB_DONE && differs) ||
		   (job->state == JOB_QUEUED && rises && !job_is_waited(job))) {
		job_renew(q, job);
	}
out:
	pthread_mutex_unlock(&q->lock);
	waiters_answer(&outdated, 0, NULL);
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

void queue_want(struct queue *q, uint32_t demanded, int64_t delay_ms)
{
	static const struct file_key none;
	const int64_t ready_ms = clock_now_ms() + delay_ms;
	struct job *job;

	pthread_mutex_lock(&q->lock);
	job = job_find(q, &none, demanded);
	if (!job && !q->stopped)
		job = job_add(q, &none, demanded);
	if (!job ||
	    (job->state == JOB_DELAYED && job->order <= (uint64_t)ready_ms))
		goto out;
	if (job->state != JOB_NEW && job->state != JOB_DELAYED)
		job->again = true;
	else if (delay_ms)
		job_delay(q, job, delay_ms);
	else
		job_enqueue(q, job);
out:
	pthread_mutex_unlock(&q->lock);
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

/* ---- a job ends ---- */

void queue_hand_over(struct queue *q, struct job *job)
{
	pthread_mutex_lock(&q->lock);
	assert(job->state == JOB_RUNNING);
	if (job->demanded && job->key.inode && !job_is_waited(job))
		job_drop(q, job);
	else
		job_enqueue(q, job);
	pthread_mutex_unlock(&q->lock);
}

void queue_delay(struct queue *q, struct job *job, int64_t delay_ms,
		 bool unsteady)
{
	pthread_mutex_lock(&q->lock);
	assert(job->state == JOB_RUNNING);
	job->tries += unsteady;
	/* Texts have come meanwhile. */
	if (job->demanded == QUEUE_TEXT && job->again)
		delay_ms = 0;
	job_delay(q, job, delay_ms);
	pthread_mutex_unlock(&q->lock);
}

/* The job has a result, with which the queue answers for some time. */
static void keep_result(struct queue *q, struct job *job, struct result *r)
{
	job_forget_closed(q, job);
	job_move(job, JOB_DONE, job->demanded ? &q->kept : NULL, 0);
	job->changed = false;
	job->tries = 0;
	job->level = JOB_SCAN;
	job->result = r;
	atomic_fetch_add(&r->shared, 1);
	if (q->kept.count > QUEUE_DEMANDED_KEPT)
		job_drop(q, TAILQ_FIRST(&q->kept.jobs));
}

void queue_done(struct queue *q, struct job *job, struct result *r, bool posted)
{
	struct request_list waiters = { NULL };

	pthread_mutex_lock(&q->lock);
	assert(job->state == JOB_RUNNING);
	if (job->again || (job->fed && !r)) {
		job->again = false;
		job_renew(q, job);
	} else {
		waiters_take(q, job, &waiters);
		if (r && (job->demanded || (posted && !r->committed)))
			keep_result(q, job, r);
		else
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
	if (job && job->result == r)
		job_drop(q, job);
	pthread_mutex_unlock(&q->lock);
}

/* ---- what is known of a file ---- */

struct result *job_get_result(struct queue *q, const struct file_key *key,
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
	found = job_get_result(q, key, 0, identity);
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

/* ---- progress ---- */

/* Bytes were read.  Those before a pause of SPEED_MS do not count for the
 * speed. */
static void count_bytes(struct queue *q, uint64_t bytes)
{
	const int64_t now = clock_now_ms(), age_ms = now - q->read.since_ms;

	if (age_ms >= SPEED_MS) {
		q->read_before = q->read;
		if (age_ms >= 2 * SPEED_MS)
			q->read_before = (struct read_window){ now, 0 };
		q->read = (struct read_window){ now, 0 };
	}
	q->read.bytes += bytes;
}

/* Bytes a second; too short a time says nothing. */
static uint64_t read_speed(const struct queue *q, int64_t now)
{
	const int64_t time_ms = now - q->read_before.since_ms;

	if (time_ms < 500 || now - q->read.since_ms >= 2 * SPEED_MS)
		return 0;
	return (q->read_before.bytes + q->read.bytes) * 1000 /
	       (uint64_t)time_ms;
}

void queue_note_left(struct queue *q, struct job *job, uint64_t left)
{
	pthread_mutex_lock(&q->lock);
	count_bytes(q, job->left - left);
	job->left = left;
	pthread_mutex_unlock(&q->lock);
}

void queue_counts(struct queue *q, struct queue_counts *out)
{
	static const struct file_key none;
	const int64_t now = clock_now_ms();
	const struct job *job;
	int kind, level;

	pthread_mutex_lock(&q->lock);
	*out = (struct queue_counts){
		.delayed = q->coalescing.count,
		.waiting = q->quota.used,
		.scanned = q->queued[WORKER_BACKGROUND][JOB_SCAN].count +
			   q->queued[WORKER_LARGE][JOB_SCAN].count,
		.feeding = job_find(q, &none, QUEUE_FEED) != NULL,
		.paused = q->paused,
	};
	for (kind = 0; kind < WORKER_TEXT; kind++)
		for (level = 0; level < JOB_LEVELS; level++)
			out->queued += q->queued[kind][level].count;
	TAILQ_FOREACH(job, &q->delayed.jobs, link) {
		out->delayed += !job->demanded;
		out->unsteady += job->tries >= 3;
	}
	TAILQ_FOREACH(job, &q->running.jobs, link) {
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
	out->speed = read_speed(q, now);
	pthread_mutex_unlock(&q->lock);
}
