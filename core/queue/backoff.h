/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_BACKOFF_H
#define CORE_QUEUE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/queue/bucket.h"

/*
 * When the background works, so that users of the mount do not notice it.
 *
 * SCHED_IDLE alone does not do that.  A thread that wakes up still waits until
 * a hashing thread leaves the kernel, and finds its caches full of other data;
 * and between groups of processes (sessions, services) an idle thread counts as
 * much as any other.
 *
 * So there are limits, by what the host last did:
 *
 *   requests come           The background waits, until none has come for
 *                           BACKOFF_QUIET_MS.
 *   ... after a pause       It waits for as long as the pause was,
 *                           BACKOFF_ALONE_MS at most.  Most commands of a user
 *                           are over by then.
 *   ... and go on           Each worker may have BACKOFF_PERCENT of the time,
 *                           or hashing would never end.
 *   none since a moment     Each worker may have BACKOFF_LATELY_PERCENT of the
 *                           time until there was no request for
 *                           BACKOFF_LATELY_MS: the next command finds free
 *                           processors and warm caches.
 *   none for long, or a     No limit.
 *   user waits for the end
 *
 * The caller gives the time, in nanoseconds, which never goes back, and has a
 * lock of its own.
 */
enum {
	BACKOFF_QUIET_MS = 4,
	BACKOFF_ALONE_MS = 1000,
	BACKOFF_PERCENT = 5,
	BACKOFF_LATELY_MS = 3000,
	BACKOFF_LATELY_PERCENT = 25,
	/* A piece of work that took longer waited for a processor. */
	BACKOFF_PIECE_MS = 10,
	BACKOFF_HURRY_MS = 2000,
};

struct backoff {
	int64_t busy_ns;  /* the host is busy until then, or the next request */
	int64_t quiet_ns; /* there was no request since; INT64_MAX: there was */
	int64_t hurry_ns; /* there are no limits until then */
	struct token_bucket share;  /* of nanoseconds, while it is busy */
	struct token_bucket lately; /* the same, for a while after it */
};

void backoff_init(struct backoff *b, unsigned workers, int64_t now_ns);

/* Tells whether there was a request since the last call. */
void backoff_poll(struct backoff *b, bool had_requests, int64_t now_ns);

/* A user waits until everything is hashed: no limits for a while. */
void backoff_hurry(struct backoff *b, int64_t now_ns);

/* It is done. */
void backoff_calm(struct backoff *b, int64_t now_ns);

bool backoff_is_busy(const struct backoff *b, int64_t now_ns);
/* There was a request within BACKOFF_LATELY_MS. */
bool backoff_was_busy(const struct backoff *b, int64_t now_ns);

/* From when on work may begin, or is to be asked for again; in the past means
 * now. */
int64_t backoff_due_ns(const struct backoff *b, int64_t now_ns);

/* A piece of work was done while it was busy, or had been lately. */
void backoff_pay(struct backoff *b, int64_t since_ns, int64_t now_ns);

#endif
