/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_DEMAND_POOL_H
#define CORE_HASH_DEMAND_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/queue/crew.h"
#include "core/queue/share.h"
#include "core/digest/digest.h"
#include "core/source/source.h"

/*
 * Computes digests that the catalog does not store: sdhash, which is large, and
 * those for exchange with other programs.  They are seldom read, so each
 * request has the file read.  The pool has threads of its own (crew.h), so that
 * hashing goes on while a large file is read for a request.
 *
 * Requests are in a list in which users take turns (share.h).  A worker takes
 * the first request of a user that no other worker serves, reads the file and
 * calls the request's callback.  Each worker caches its last digest, because a
 * reader of an attribute first asks for the length; the next thread of that
 * place has it, too.
 *
 * `lock` guards the list and the user that each worker serves.  It is a leaf.
 */
enum { DEMAND_REQUESTS_MAX = 1024, DEMAND_WORKERS = 2 };

struct demand_request;
struct demand_pool;

struct demand_worker {
	struct demand_pool *pool;
	bool taken; /* has a thread; under the lock */
	bool busy;  /* serves a request; under the lock */
	uid_t uid;  /* of the request, or of the last one; under the lock */

	/* The thread's own: the digest of its last request, or the error. */
	struct fingerprint *fp; /* NULL: there was no request */
	enum digest_id id;
	struct file_key key;
	struct file_identity identity;
	int result;
	struct buf text;
};

struct demand_pool {
	const struct source *source; /* constant */
	const atomic_bool *stopping; /* constant */
	pthread_mutex_t lock;        /* everything below; see demand_worker */
	pthread_cond_t work;
	struct demand_request *first; /* by turn */
	struct share share; /* of the requests, also those being served */
	bool stopped;
	struct crew crew;
	struct demand_worker workers[DEMAND_WORKERS];
};

/* Both are borrowed.  When stopping is set, workers stop reading. */
int demand_pool_init(struct demand_pool *p, const struct source *source,
		     const atomic_bool *stopping);
/* The queue's timer starts the threads; see crew.h. */
void demand_pool_start(struct demand_pool *p, struct queue *queue);
/* Ends the threads and answers the remaining requests with -ECANCELED. */
void demand_pool_stop(struct demand_pool *p);
void demand_pool_release(struct demand_pool *p);

struct demand_query {
	enum digest_id id;
	int fd; /* of the file, O_PATH will do; borrowed for the call */
	uid_t uid;
	size_t most; /* longest text accepted */
	/*
	 * Called exactly once if the post succeeds, by a worker.  result: 0,
	 * with the text (valid during the call); -E2BIG, longer than most;
	 * -ENODATA, the file is too small for this digest; -EAGAIN, the file
	 * changed meanwhile; -ECANCELED; or the error of reading.
	 */
	void (*done)(void *arg, int result, const struct buf *text);
	void *arg;
};

/* Posts a request.  -EAGAIN: the user has too many. */
int demand_pool_post(struct demand_pool *p, const struct demand_query *q);

#endif
