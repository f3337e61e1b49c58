/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_TEAM_H
#define CORE_DIGEST_TEAM_H

#include <stddef.h>
#include <sys/types.h>

#include "core/digest/fingerprint.h"

/*
 * Several threads at the digests of one stream: each part of a fingerprint is
 * done by one of them at a time, in the order of the stream.  The result is
 * that of one thread.
 *
 * Fit for what is large; there are FINGERPRINT_PARTS parts, and the speed ends
 * with the slowest of them.
 */
struct team;

/*
 * threads: those besides the calling one; each of them calls enter(arg) first,
 * unless it is NULL.  -ENOMEM, -EAGAIN.
 */
int team_new(unsigned threads, void (*enter)(void *arg), void *arg,
	     struct team **out);
void team_free(struct team *t);

/*
 * Takes a stream into fp, between begin and final.
 * fill is called on the calling thread for the next bytes of it, at most len:
 * their number, 0 at the end, or a negative errno, which ends the work and is
 * given back.  One stream at a time.
 */
int team_update(struct team *t, struct fingerprint *fp,
		ssize_t (*fill)(void *arg, void *buffer, size_t len),
		void *arg);

#endif
