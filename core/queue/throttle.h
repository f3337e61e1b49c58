/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_THROTTLE_H
#define CORE_QUEUE_THROTTLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/queue/backoff.h"
#include "core/queue/bucket.h"

struct engine;
struct job;

/* What the background may do, and when. */
struct throttle {
	pthread_mutex_t lock; /* nothing is called with it */
	struct bucket bytes;  /* to be read, see engine_options */
	struct backoff backoff;
};

int throttle_init(struct throttle *p);
/* The options are there, and nothing runs yet. */
void throttle_start(struct engine *e);
void throttle_release(struct throttle *p);

/*
 * To be called between two pieces of work, which should be short: rests while
 * the host is busy, see backoff.h.  *since_ns is the calling thread's, 0 at
 * first.  False: the job (NULL: there is none) was recalled meanwhile, or the
 * engine ends.
 */
bool throttle_wait(struct engine *e, const struct job *job, int64_t *since_ns);

/* The same for who waits in a way of his own: from when on work may begin, or
 * is to be asked for again; in the past means now. */
int64_t throttle_due_ns(struct engine *e, int64_t *since_ns);

/* Whether there was a request not long ago. */
bool throttle_was_busy(struct engine *e);

/* Whoever was in a hurry (engine_hurry()) sees that everything is done. */
void throttle_end_hurry(struct engine *e);

/* Rests until the background may read again; false as above.  What was read is
 * to be paid for then. */
bool throttle_wait_read(struct engine *e, const struct job *job);
void throttle_charge_read(struct engine *e, size_t bytes);

#endif
