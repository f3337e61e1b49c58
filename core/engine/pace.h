/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_PACE_H
#define CORE_ENGINE_PACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/engine/bucket.h"

struct engine;
struct job;

/* What the background may still do. */
struct pace {
	pthread_mutex_t lock; /* nothing is called with it */
	struct bucket bytes;  /* to be read, see engine_options */
};

int pace_init(struct pace *p);
/* The options are there, and nothing runs yet. */
void pace_start(struct engine *e);
void pace_release(struct pace *p);

/* Rests until the background may read again; false when the job was recalled
 * meanwhile, or the engine ends.  What was read is to be paid for then. */
bool pace_rest_read(struct engine *e, const struct job *job);
void pace_pay_read(struct engine *e, size_t bytes);

#endif
