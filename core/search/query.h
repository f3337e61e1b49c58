/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_QUERY_H
#define CORE_SEARCH_QUERY_H

#include <pthread.h>
#include <stdbool.h>

#include "core/base/share.h"
#include "core/engine/engine.h"

/*
 * "What resembles this?", on threads of their own.
 *
 * A directory can take long (everything below it counts), so one thread is
 * always left for single files, and a user has one directory at a time.  The
 * directories of INQUIRY_BROWSERS users are worked on side by side, and the
 * scheduler sees to it that each gets on; another user waits until one of them
 * is done.
 *
 * An inquiry first waits for its file's digests (as a parked request), then
 * for the committer to reach everything posted before, then for a thread.
 */
enum {
	INQUIRY_BROWSERS = 15,
	INQUIRY_THREADS = INQUIRY_BROWSERS + 1,
	INQUIRIES_MAX = 1024,
	NEAR_SLOTS = 1 << 20,
};

/* Answers bring pages of the catalog into this process.  They are given back so
 * long after the first of them, to stay in the page cache.  (After every 64
 * answers made a walk through all listings longer by a seventh.) */
enum { INQUIRY_REST_MS = 1000 };

/* What is remembered about a content: near is one it resembles, or 0 when
 * there is none among the contents with an id below upto. */
struct near {
	uint32_t content, near, upto;
};

struct request;

struct inquiry {
	pthread_mutex_t lock; /* everything below */
	pthread_cond_t work;
	struct share share;               /* of all requests */
	struct request *first;            /* ready to be answered, by turn */
	size_t browsing;                  /* threads with a directory, */
	uid_t browsers[INQUIRY_BROWSERS]; /* for these users */
	struct request *held; /* until the committer has come so far */
	int64_t rest_ms; /* when to give back what answers brought in, or 0 */
	bool stopped;
	struct credentials own; /* of the process; constant */
	struct near *near;      /* NEAR_SLOTS, direct-mapped by content */
	pthread_t threads[INQUIRY_THREADS];
	size_t started;
};

struct engine;

int inquiry_init(struct inquiry *q);
int inquiry_start(struct engine *e);
/* Answers what is held or ready with -ECANCELED and ends the threads. */
void inquiry_stop(struct engine *e);
void inquiry_release(struct inquiry *q);

/* The committer has attempted all events up to this number. */
void inquiry_committed(struct engine *e, uint64_t number);

#endif
