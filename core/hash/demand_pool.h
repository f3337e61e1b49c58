/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_DEMAND_POOL_H
#define CORE_HASH_DEMAND_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/queue/share.h"
#include "core/digest/digest.h"
#include "core/source/source.h"

/*
 * Digests that are not kept: the sdhash, which is large, and those for other
 * programs.  They are seldom asked for, and computed for each request, by
 * threads of their own: a file can be large, and the hashing workers must not
 * wait for it.
 *
 * A request waits in a list in which users take turns (share.h).  A worker
 * takes the first request of a user that no other worker serves, reads the file
 * and calls the request's callback.  Each worker remembers its last text,
 * because a reader of an attribute asks for its length first.
 *
 * `lock` guards the list and which user each worker serves; nothing is called
 * while it is held.
 */
enum { DEMAND_REQUESTS_MAX = 1024, DEMAND_WORKERS = 2 };

struct demand_request;
struct demand_pool;

struct demand_worker {
	struct demand_pool *pool;
	pthread_t thread;
	bool started;
	bool busy; /* with a request of this user; under the lock */
	uid_t uid; /* of the request, or the last one */

	/* The thread's own. */
	struct fingerprint *fp; /* of the digest below; NULL: none yet */
	enum digest_id id;      /* of the text, */
	struct file_key key;
	struct file_identity identity;
	int result;
	struct buf text;
};

struct demand_pool {
	const struct source *source; /* constant */
	const atomic_bool *stopping; /* constant */
	pthread_mutex_t lock;        /* everything up to the workers */
	pthread_cond_t work;
	struct demand_request *first; /* by turn */
	struct share share; /* of the requests, also those being served */
	bool stopped;
	struct demand_worker workers[DEMAND_WORKERS];
};

/* Both are borrowed.  When stopping is set, workers stop reading. */
int demand_pool_init(struct demand_pool *p, const struct source *source,
		     const atomic_bool *stopping);
int demand_pool_start(struct demand_pool *p);
/* Answers what is left with -ECANCELED and ends the threads. */
void demand_pool_stop(struct demand_pool *p);
void demand_pool_release(struct demand_pool *p);

struct demand_query {
	enum digest_id id;
	int fd; /* of the file, O_PATH will do; borrowed for the call */
	uid_t uid;
	size_t most; /* bytes of the text */
	/* Called exactly once if the post succeeds, by a worker: with 0 and the
	 * text (valid during the call), -E2BIG, -ENODATA when the file is too
	 * small for one, -EAGAIN when it changed meanwhile, -ECANCELED, or the
	 * errno of reading. */
	void (*done)(void *arg, int result, const struct buf *text);
	void *arg;
};

/* -EAGAIN: the user has too many requests. */
int demand_pool_post(struct demand_pool *p, const struct demand_query *q);

#endif
