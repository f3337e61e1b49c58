/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_DIGESTS_WAIT_H
#define CORE_QUEUE_DIGESTS_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/source/file_digests.h"

struct queue_ticket;

/*
 * A request for the digests of a file, which may have to be hashed first.
 *
 * It is answered with the digests themselves.  The file is examined once when
 * the request is made.  If its digests are to come, the request is parked in
 * the queue, and the worker that hashes the file hands its result over; then
 * only the identity of the file is compared with that of the result.  The file
 * is examined from the start once more only when there is no such result, or
 * the file is not in that state any more.
 *
 * The caller fills the struct in, and keeps it until done is called.
 */
struct digests_wait {
	uid_t uid;
	/* DIGEST_BIT()s: of the digests that are texts, others may be missing
	 * in the answer. */
	uint32_t wanted;
	int64_t deadline_ms;               /* CLOCK_MONOTONIC; over: no wait */
	const struct queue_ticket *ticket; /* borrowed until done; or NULL */
	/* A descriptor of the file (O_PATH will do) or a negative errno, and
	 * the end of its use.  They are called in pairs, by the thread that
	 * makes the request and by those that answer it; no descriptor is held
	 * between. */
	int (*open)(void *arg);
	void (*close)(void *arg);
	/*
	 * Called exactly once, by any thread, with no lock held, also before
	 * the request has been made: with 0 and the answer, which done
	 * releases, or a negative errno and NULL: -EINTR (given up), -EAGAIN
	 * (too many parked), -ECANCELED at the end, or why the file cannot be
	 * examined.  After the deadline the answer is what is known by then.
	 */
	void (*done)(void *arg, int err, struct file_digests *answer);
	void *arg;

	/* The engine, which answers it; NULL, 0 and false at first. */
	void *answerer;
	unsigned times_parked;
	bool closed; /* it has waited for DIGESTS_CLOSED to become certain */
};

#endif
