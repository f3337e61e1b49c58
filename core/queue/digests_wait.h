/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_DIGESTS_WAIT_H
#define CORE_QUEUE_DIGESTS_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/queue/queue.h"
#include "core/source/file_digests.h"

/*
 * A request for the digests of a file that may have to be hashed first.
 *
 * The engine looks the digests up when the request is made.  If the file is
 * pending, the request is parked in the queue until a worker has hashed the
 * file.  Then the engine compares the identity of the worker's result with the
 * present one.  If they are equal the result is the answer; otherwise the
 * digests are looked up again.
 *
 * The caller fills the struct in, and keeps it until done is called.
 */
struct digests_wait {
	uid_t uid;
	/* DIGEST_BIT()s: digests in text form that are not in it may be missing
	 * in the answer. */
	uint32_t wanted;
	/* DIGEST_BIT() of a digest that is not stored and is computed now,
	 * without a deadline, or 0.  The answer has no others then.  An sdhash
	 * has "stdin" in place of a file name. */
	uint32_t demanded;
	int64_t deadline_ms; /* CLOCK_MONOTONIC; in the past: do not wait */
	const struct queue_ticket *ticket; /* borrowed until done; or NULL */
	/* open() returns a descriptor of the file (O_PATH will do) or a
	 * negative errno; close() ends its use.  The thread that makes the
	 * request and the one that answers it call them in pairs.  No
	 * descriptor is open while the request is parked. */
	int (*open)(void *arg);
	void (*close)(void *arg);
	/*
	 * Called exactly once, by any thread, with no lock held, perhaps before
	 * engine_wait() returns.  err is 0 and answer is released by done(); or
	 * err is negative and answer NULL: -EINTR (given up), -EAGAIN (too many
	 * parked), -ECANCELED (the engine ends), -E2BIG (what was demanded is
	 * longer than an attribute may be), or an error of looking the
	 * file up.  After the deadline the answer has the file's state by then.
	 */
	void (*done)(void *arg, int err, struct file_digests *answer);
	void *arg;

	/* The engine's; the caller sets them to zero. */
	void *answerer;
	unsigned times_parked;
	bool closed; /* the file was in state DIGESTS_CLOSED before */
	struct file_identity fresh; /* what was demanded is to be of it */
	struct parked_request parked;
};

#endif
