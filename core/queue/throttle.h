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
	unsigned workers;    /* background workers */
	uint64_t rate;       /* bytes read a second; 0: no limit */
	/* Whether the host had requests since the last call; NULL: never. */
	bool (*had_requests)(void *ctx);
	void *ctx;
};

/* Limits the working time (backoff.h) and the bytes read a second (bucket.h) of
 * the background.  Any thread may call the functions. */
struct throttle {
	struct throttle_context context; /* constant */
	pthread_mutex_t lock;            /* everything below; a leaf */
	struct token_bucket bytes;
	struct backoff backoff;
};

/* The context is copied. */
int throttle_init(struct throttle *t, const struct throttle_context *context);
void throttle_release(struct throttle *t);

/*
 * Waits while the background must not work; a thread calls it between two short
 * pieces of work.  *since_ns belongs to the thread and is 0 at first.  False:
 * the job (NULL: none) was recalled, or the queue was stopped.
 */
bool throttle_wait(struct throttle *t, const struct job *job,
		   int64_t *since_ns);

/* For a thread that cannot block in throttle_wait(): when work may begin, or
 * when this function has to be called again (clock_now_ns()); a time in the
 * past means now, and 0 that a user waits for the work. */
int64_t throttle_due_ns(struct throttle *t, int64_t *since_ns);

/* A user waits for the background: lifts the limit of working time, and has
 * workers of normal priority do it (queue_hurry()), for BACKOFF_HURRY_MS or until
 * throttle_end_hurry(). */
void throttle_hurry(struct throttle *t);
void throttle_end_hurry(struct throttle *t);

/* Waits until the limit allows another read; false as for throttle_wait().
 * After the read the caller charges the bytes. */
bool throttle_wait_read(struct throttle *t, const struct job *job);
void throttle_charge_read(struct throttle *t, size_t bytes);

#endif
