/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_THROTTLE_H
#define CORE_QUEUE_THROTTLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- a limit of something a second ---- */

/*
 * A token bucket that may run into debt.  A thread waits until the bucket has
 * no debt, works, and takes as many tokens as it has used; so it need not know
 * the number beforehand, and the rate is exact in the long run.  The bucket
 * holds the tokens of BUCKET_SAVED_NS at most.
 *
 * All times are the caller's, in nanoseconds of a monotonic clock.  Not
 * thread-safe: the caller has a lock.
 */
#define BUCKET_SAVED_NS INT64_C(100000000)

struct token_bucket {
	uint64_t rate;  /* tokens a second; 0: no limit */
	int64_t due_ns; /* when the debt is paid off */
	uint64_t rest;  /* the fraction of a nanosecond to add, in 1/rate */
};

void bucket_init(struct token_bucket *b, uint64_t rate, int64_t now_ns);

/* When tokens may be taken; a time in the past means now. */
int64_t bucket_due_ns(const struct token_bucket *b);

/* At most 2^32 tokens at a time. */
void bucket_take(struct token_bucket *b, uint64_t bytes, int64_t now_ns);

/* ---- a limit of working time ---- */

/*
 * Decides when background workers may run, so that users of the mount do not
 * notice them.
 *
 * SCHED_IDLE is not enough.  A normal thread that wakes up still waits until
 * an idle thread leaves the kernel, and finds the processor's caches cold.
 * Between control groups (sessions, services) an idle thread even counts as
 * much as any other.
 *
 * So the background is limited, depending on the host's requests:
 *
 *   a request within        Each worker may use BACKOFF_PERCENT of the time, so
 *   BACKOFF_QUIET_MS        that hashing goes on, slowly, beside a busy host.
 *   the first requests      The background stops for as long as the pause was,
 *   after a pause           BACKOFF_ALONE_MS at most.  Most commands of a user
 *                           are over by then.
 *   a request within        Each worker may use BACKOFF_LATELY_PERCENT of the
 *   BACKOFF_LATELY_MS       time, so that the next command finds free
 *                           processors and warm caches.
 *   no request for longer,  No limit.
 *   or backoff_hurry()
 *
 * All times are the caller's, in nanoseconds of a monotonic clock.  Not
 * thread-safe: the caller has a lock.
 */
enum {
	BACKOFF_QUIET_MS = 4,
	BACKOFF_ALONE_MS = 1000,
	BACKOFF_PERCENT = 5,
	BACKOFF_LATELY_MS = 3000,
	BACKOFF_LATELY_PERCENT = 25,
	/* Most that is charged for a piece of work: one that took longer did
	 * not run all the time, but waited for a processor. */
	BACKOFF_PIECE_MS = 10,
	BACKOFF_HURRY_MS = 2000,
};

struct backoff {
	int64_t busy_ns;  /* the host counts as busy until then */
	int64_t quiet_ns; /* begin of the pause; INT64_MAX: there is none */
	int64_t hurry_ns; /* no limit until then */
	struct token_bucket share;  /* of working time, while it is busy */
	struct token_bucket lately; /* of working time, for a while after it */
};

void backoff_init(struct backoff *b, unsigned workers, int64_t now_ns);

/* had_requests: the host had requests since the last call. */
void backoff_poll(struct backoff *b, bool had_requests, int64_t now_ns);

/* Lifts the limits for BACKOFF_HURRY_MS: a user waits for the background. */
void backoff_hurry(struct backoff *b, int64_t now_ns);

/* Ends that. */
void backoff_calm(struct backoff *b, int64_t now_ns);

bool backoff_is_busy(const struct backoff *b, int64_t now_ns);
/* There was a request within BACKOFF_LATELY_MS. */
bool backoff_was_busy(const struct backoff *b, int64_t now_ns);

/* When work may begin, or when the caller has to ask again; a time in the past
 * means now.  0: backoff_hurry() was called. */
int64_t backoff_due_ns(const struct backoff *b, int64_t now_ns);

/* Charges a piece of work from since_ns to now_ns, during which the host was
 * busy, or had been lately. */
void backoff_pay(struct backoff *b, int64_t since_ns, int64_t now_ns);

/* ---- both, for all threads of the background ---- */

struct throttle_context {
	unsigned workers; /* background workers */
	uint64_t rate;    /* bytes read a second; 0: no limit */
	/* Whether the host had requests since the last call; NULL: never. */
	bool (*had_requests)(void *ctx);
	void *ctx;
};

/* Limits the working time and the bytes read a second of the background, whose
 * threads wait at their gates (gate.h).  Any thread may call the functions. */
struct throttle {
	struct throttle_context context; /* constant */
	pthread_mutex_t lock;            /* everything below; a leaf */
	pthread_cond_t wake;
	struct token_bucket bytes;
	struct backoff backoff;
	bool stopped;
};

/* The context is copied. */
int throttle_init(struct throttle *t, const struct throttle_context *context);
/* No thread waits any more. */
void throttle_stop(struct throttle *t);
void throttle_release(struct throttle *t);

/* When work may begin, or when the caller has to ask again (clock_now_ns()); a
 * time in the past means now, and 0 that a user waits for the work.  *since_ns
 * belongs to the thread and is 0 at first. */
int64_t throttle_due_ns(struct throttle *t, int64_t *since_ns);
/* As throttle_due_ns(), for the next read of the background. */
int64_t throttle_read_due_ns(struct throttle *t);
void throttle_charge_read(struct throttle *t, size_t bytes);

/* Waits until until_ns, or until *open, or for a shorter time. */
void throttle_sleep(struct throttle *t, const atomic_bool *open,
		    int64_t until_ns);
/* Ends all sleeps. */
void throttle_wake(struct throttle *t);

/* A user waits for the background: lifts the limit of working time for
 * BACKOFF_HURRY_MS or until throttle_end_hurry(). */
void throttle_hurry(struct throttle *t);
void throttle_end_hurry(struct throttle *t);

#endif
