/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_CREW_H
#define CORE_QUEUE_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct queue;

/*
 * The threads of one kind.  One is started when there is work, none of them
 * waits for work, and there are fewer than most; it ends when it has waited
 * CREW_IDLE_MS in vain.
 *
 * A new thread has the credentials and the scheduling class of the one that
 * starts it, and work is found by threads under any.  So the queue's timer
 * starts all of them.
 *
 * The part that has the work has a lock for it, which guards these fields, too.
 * No work is lost: it is added, and looked for before waiting, under that lock.
 */
enum { CREW_IDLE_MS = 10000, CREW_RETRY_MS = 1000 };

struct crew {
	struct crew *next;     /* of the same queue; constant */
	struct queue *queue;   /* constant */
	pthread_mutex_t *lock; /* constant */
	/* Starts a thread with crew_thread(); called without the lock.  The
	 * thread ends with crew_leave(). */
	int (*start)(struct crew *c);
	void *arg;            /* for start() */
	unsigned most;        /* constant; 0: none are started */
	atomic_bool wanted;   /* for the timer; without the lock */
	unsigned count;       /* threads */
	unsigned waiting;     /* of them: in crew_wait() */
	bool stopped;         /* no more are started */
	pthread_cond_t ended; /* count has become 0 */
};

/* queue, lock, start, arg and most are set.  Before queue_start(). */
void crew_init(struct crew *c);
/* Waits until all threads have ended, which the caller has told to; the timer
 * has ended. */
void crew_stop(struct crew *c);
void crew_release(struct crew *c);

/* ---- with the lock ---- */

/* There is work. */
void crew_want(struct crew *c);
/* Waits for work until until_ms, on a condition of cond_init_monotonic().
 * False, at once: the thread has had none since idle_ms, and is to end. */
bool crew_wait(struct crew *c, pthread_cond_t *work, int64_t until_ms,
	       int64_t idle_ms);
/* The last that a thread does with the lock. */
void crew_leave(struct crew *c);

/* ---- without it ---- */

/* Starts a detached thread. */
int crew_thread(void *(*run)(void *arg), void *arg);

/* Wakes the timer: a deadline is earlier than before, or a crew wants a thread. */
void queue_wake_timer(struct queue *q);

#endif
