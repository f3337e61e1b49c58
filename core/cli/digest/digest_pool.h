/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_DIGEST_DIGEST_POOL_H
#define CORE_CLI_DIGEST_DIGEST_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * Files go in one after the other, threads digest them side by side, and what
 * they print comes out in the order in which the files went in.
 */
struct pool;

/* What the threads do and what becomes of it. */
struct pool_work {
	/* On a thread: appends the output for path, or a negative errno. */
	int (*run)(void *thread, const char *path, bool follow,
		   struct buf *out);
	/* On the caller's thread, in order. */
	void (*take)(void *arg, const char *path, int err,
		     const struct buf *output);
	void *arg;
	void *const *threads; /* what run gets, one for each */
	size_t thread_count;
};

/* work is copied, threads borrowed.  -ENOMEM, -EAGAIN. */
int pool_new(const struct pool_work *work, struct pool **out);

/* May call take for files that are done.  -ENOMEM. */
int pool_push(struct pool *p, const char *path, bool follow);

/* Waits for all, calls take for all.  p may be NULL. */
void pool_drain(struct pool *p);

/* Drains it first. */
void pool_free(struct pool *p);

#endif
