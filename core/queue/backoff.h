/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_BACKOFF_H
#define CORE_QUEUE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/queue/bucket.h"

/*
 * When the background rests for the sake of those who work in the mount.
 *
 * SCHED_IDLE is not enough for them not to feel it: who wakes up has to wait
 * until a hash thread is out of the kernel, finds the caches full of other
 * things and half of a core taken; and in a group of processes other than
 * theirs (a session, a service) an idle thread counts as much as any other.
 *
 * So while requests come, the background rests.  It goes on whenever none came
 * for BACKOFF_QUIET_MS: whoever comes then is held up by what is just being
 * done, and that is little against the time that passed; and is then left alone
 * for as long as it was quiet, BACKOFF_ALONE_MS at most, which is all the time
 * that most of what people do takes.  However busy the mount is after that,
 * each worker may have BACKOFF_PERCENT of the time, or the work would never
 * end.
 *
 * And until there was no request for BACKOFF_LATELY_MS each worker may have
 * BACKOFF_LATELY_PERCENT: who comes back finds processors that are free, and
 * caches that are not full of other things.
 *
 * The clock is the caller's, in nanoseconds, and never goes back.  No lock: the
 * caller's, too.
 */
enum {
	BACKOFF_QUIET_MS = 4,
	BACKOFF_ALONE_MS = 1000,
	BACKOFF_PERCENT = 5,
	BACKOFF_LATELY_MS = 3000,
	BACKOFF_LATELY_PERCENT = 25,
	/* What took longer waited for a processor. */
	BACKOFF_PIECE_MS = 10,
	BACKOFF_HURRY_MS = 2000,
};

struct backoff {
	int64_t busy_ns;      /* until then, if nothing else comes */
	int64_t quiet_ns;     /* since then, INT64_MAX if it is not */
	int64_t hurry_ns;     /* until then it does not matter */
	struct bucket share;  /* of nanoseconds, while it is busy */
	struct bucket lately; /* the same, for a while after it */
};

void backoff_init(struct backoff *b, unsigned workers, int64_t now_ns);

/* Whether there was a request since the last look. */
void backoff_poll(struct backoff *b, bool had_requests, int64_t now_ns);

/* Somebody waits for all that is to be done: no rests for a while. */
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
