/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHECK_CHECK_THREAD_H
#define CORE_CHECK_CHECK_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Audits of the catalog while it is used, on a thread of its own.  Repairs go
 * through the committer like everything else; contradictions between records
 * are told and not mended.
 */
struct json_t;

struct checkup {
	pthread_mutex_t lock; /* everything up to the thread */
	pthread_cond_t work;
	bool read, repair;  /* wanted of the next one */
	uint64_t requested; /* how often one was asked for ... */
	uint64_t finished;  /* ... by the time the last one began */
	bool running;
	bool stopped;
	struct json_t *result; /* of the last one; NULL */
	pthread_t thread;
	bool started;
};

struct engine;

int checkup_init(struct checkup *c);
int checkup_start(struct engine *e);
void checkup_stop(struct engine *e);
void checkup_release(struct checkup *c);

/* For the status; NULL without memory. */
struct json_t *checkup_object(struct checkup *c);

#endif
