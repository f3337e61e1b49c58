/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_SDHASH_POOL_H
#define CORE_HASH_SDHASH_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/share.h"
#include "core/source/source.h"

/*
 * The sdhash of single files.  It is large and seldom asked for, so it is not
 * kept but computed for each request, by threads of their own: a file can be
 * large, and the hashing workers must not wait for it.
 *
 * A request waits in a list in which users take turns (share.h).  A worker takes
 * the first request of a user that no other worker serves, reads the file and
 * calls the request's callback.  Each worker remembers its last text, because a
 * reader of an attribute asks for its length first.
 *
 * `lock` guards the list and which user each worker serves; nothing is called
 * while it is held.
 */
enum { SDHASH_REQUESTS_MAX = 1024, SDHASH_WORKERS = 2 };

struct sdhash_request;
struct sdhash_pool;

struct sdhash_worker {
	struct sdhash_pool *pool;
	pthread_t thread;
	bool started;
	bool busy; /* with a request of this user; under the lock */
	uid_t uid; /* of the request, or the last one */

	/* The thread's own. */
	struct fingerprint *fp;
	struct file_key key; /* of the text */
	struct file_identity identity;
	int result;
	struct buf text;
};

struct sdhash_pool {
	const struct source *source; /* constant */
	const atomic_bool *stopping; /* constant */
	pthread_mutex_t lock;        /* everything up to the workers */
	pthread_cond_t work;
	struct sdhash_request *first; /* by turn */
	struct share share; /* of the requests, also those being served */
	bool stopped;
	struct sdhash_worker workers[SDHASH_WORKERS];
};

/* Both are borrowed.  When stopping is set, workers stop reading. */
int sdhash_pool_init(struct sdhash_pool *p, const struct source *source,
		     const atomic_bool *stopping);
int sdhash_pool_start(struct sdhash_pool *p);
/* Answers what is left with -ECANCELED and ends the threads. */
void sdhash_pool_stop(struct sdhash_pool *p);
void sdhash_pool_release(struct sdhash_pool *p);

struct sdhash_query {
	int fd; /* of the file, O_PATH will do; borrowed for the call */
	uid_t uid;
	size_t most; /* bytes of the text */
	/* Called exactly once if the post succeeds, by a worker: with 0 and the
	 * text (valid during the call), -E2BIG, -ENODATA when the file is too
	 * small, -EAGAIN when it changed meanwhile, -ECANCELED, or the errno of
	 * reading. */
	void (*done)(void *arg, int result, const struct buf *text);
	void *arg;
};

/* -EAGAIN: the user has too many requests. */
int sdhash_pool_post(struct sdhash_pool *p, const struct sdhash_query *q);

#endif
