/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_BACKOFF_H
#define CORE_QUEUE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/queue/bucket.h"

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

#endif
