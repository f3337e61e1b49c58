/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_SDHASH_WORKER_H
#define CORE_HASH_SDHASH_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include "core/base/share.h"
#include "core/engine/engine.h"

/*
 * The sdhash of single files, on threads of their own: it is large, and few ask
 * for it, so it is computed when somebody does.  There are two, for different
 * users: a file can be large.  Each remembers its last text, because who reads
 * an attribute asks for its length first.
 */
enum { ORDERS_MAX = 1024, DESKS = 2 };

struct order;
struct engine;

struct desk {
	struct engine *engine;
	pthread_t thread;
	bool started;
	bool busy; /* with an order of this user; under the lock */
	uid_t uid; /* of the order, or the last one */

	/* The thread's own. */
	struct fingerprint *fp;
	struct file_key key; /* of the text */
	struct file_identity identity;
	int result;
	struct buf text;
};

struct demand {
	pthread_mutex_t lock; /* everything up to the desks */
	pthread_cond_t work;
	struct order *first; /* by turn */
	struct share share;  /* of the orders, also the ones being served */
	bool stopped;
	struct desk desks[DESKS];
};

int demand_init(struct demand *d);
int demand_start(struct engine *e);
/* Answers what is left with -ECANCELED and ends the thread. */
void demand_stop(struct engine *e);
void demand_release(struct demand *d);

#endif
