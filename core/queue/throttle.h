/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_THROTTLE_H
#define CORE_QUEUE_THROTTLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/queue/backoff.h"
#include "core/queue/bucket.h"

struct job;
struct queue;

struct throttle_context {
	struct queue *queue; /* borrowed */
	unsigned workers;    /* of the background */
	uint64_t rate;       /* bytes read a second; 0: no limit */
	/* Whether the host had requests since the last call; NULL: never. */
	bool (*had_requests)(void *ctx);
	void *ctx;
};

/* What the background may do, and when.  Any thread may call the functions. */
struct throttle {
	struct throttle_context context; /* constant */
	pthread_mutex_t lock; /* what follows; nothing is called with it */
	struct token_bucket bytes;
	struct backoff backoff;
};

/* The context is copied. */
int throttle_init(struct throttle *t, const struct throttle_context *context);
void throttle_release(struct throttle *t);

/*
 * To be called between two pieces of work, which should be short: waits while
 * the host is busy, see backoff.h.  *since_ns is the calling thread's, 0 at
 * first.  False: the job (NULL: there is none) was recalled meanwhile, or the
 * queue was stopped.
 */
bool throttle_wait(struct throttle *t, const struct job *job,
		   int64_t *since_ns);

/* For a thread that waits in another way than by throttle_wait(): the time
 * (clock_now_ns()) from which on work may begin, or this must be called again;
 * in the past means now. */
int64_t throttle_due_ns(struct throttle *t, int64_t *since_ns);

/* Whether there was a request not long ago. */
bool throttle_was_busy(struct throttle *t);

/* A user waits until everything is done: the background does not wait for the
 * host for a second, or until there is nothing left to do. */
void throttle_hurry(struct throttle *t);
void throttle_end_hurry(struct throttle *t);

/* Waits until the background may read again; false as above.  Afterwards, what
 * was read must be charged. */
bool throttle_wait_read(struct throttle *t, const struct job *job);
void throttle_charge_read(struct throttle *t, size_t bytes);

#endif
