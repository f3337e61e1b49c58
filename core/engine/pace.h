/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_PACE_H
#define CORE_ENGINE_PACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine/backoff.h"
#include "core/engine/bucket.h"

struct engine;
struct job;

/* What the background may do, and when. */
struct pace {
	pthread_mutex_t lock; /* nothing is called with it */
	struct bucket bytes;  /* to be read, see engine_options */
	struct backoff backoff;
};

int pace_init(struct pace *p);
/* The options are there, and nothing runs yet. */
void pace_start(struct engine *e);
void pace_release(struct pace *p);

/*
 * To be called between two pieces of work, which should be short: rests while
 * the host is busy, see backoff.h.  *since_ns is the calling thread's, 0 at
 * first.  False: the job (NULL: there is none) was recalled meanwhile, or the
 * engine ends.
 */
bool pace_rest(struct engine *e, const struct job *job, int64_t *since_ns);

/* The same for who waits in a way of his own: from when on work may begin, or
 * is to be asked for again; in the past means now. */
int64_t pace_due_ns(struct engine *e, int64_t *since_ns);

/* Whether there was a request not long ago. */
bool pace_was_busy(struct engine *e);

/* Whoever was in a hurry (engine_hurry()) sees that everything is done. */
void pace_calm(struct engine *e);

/* Rests until the background may read again; false as above.  What was read is
 * to be paid for then. */
bool pace_rest_read(struct engine *e, const struct job *job);
void pace_pay_read(struct engine *e, size_t bytes);

#endif
