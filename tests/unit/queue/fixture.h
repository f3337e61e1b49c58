/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_QUEUE_FIXTURE_H
#define TESTS_UNIT_QUEUE_FIXTURE_H

#include "tests/unit/engine/fixture.h"

#include "core/queue/queue.h"

/* A queue without workers.  Before queue_start() no time passes for it. */

static const struct file_identity identity = { .size = 1 };

static inline struct file_key key_number(uint64_t inode)
{
	return (struct file_key){ .inode = inode };
}

static inline struct queue *queue_make(void)
{
	struct queue *q = calloc(1, sizeof(*q));

	assert_non_null(q);
	assert_int_equal(queue_init(q, 2), 0);
	return q;
}

static inline void queue_remove(struct queue *q)
{
	queue_stop(q);
	queue_release(q);
	free(q);
}

static inline void push(struct queue *q, uint64_t inode, enum job_level level)
{
	struct file_key key = key_number(inode);

	assert_int_equal(queue_push(q, &key, level, &identity), 0);
}

static inline void finish(struct queue *q, struct job *job)
{
	queue_done(q, job, NULL, false);
}

static inline void take(struct queue *q, enum worker_kind kind, uint64_t inode)
{
	struct job *job = queue_take(q, kind, NULL);

	assert_non_null(job);
	assert_int_equal(job->key.inode, inode);
	finish(q, job);
}

/* Keeps the size of what was found; 0: nothing. */
static inline void on_found(void *arg, int err, const struct result *found)
{
	struct file_digests answer = { 0 };

	if (found)
		answer.identity = found->identity;
	on_answer(arg, err, &answer);
}

static inline int park_request(struct queue *q, const struct file_key *key,
			       uid_t uid, struct outcome *o)
{
	o->parked = (struct parked_request){
		.uid = uid, .deadline_ms = INT64_MAX, .done = on_found, .arg = o
	};
	return queue_park(q, key, &o->parked);
}

static inline void assert_counts(struct queue *q, size_t queued, size_t delayed)
{
	struct queue_counts counts;

	queue_counts(q, &counts);
	assert_int_equal(counts.queued, queued);
	assert_int_equal(counts.delayed, delayed);
}

#endif
