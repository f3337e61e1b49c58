/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_REPLY_H
#define FS_OPS_REPLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/engine/engine.h"

struct fuse_req;

/*
 * Replies that every operation makes, at once or later.  A request is freed by
 * its reply; nothing may use it afterwards.
 */

/* err is 0 or a negative errno.  ENOSYS from below becomes EOPNOTSUPP: the
 * kernel would never ask again, for any file. */
void reply_error(struct fuse_req *req, int err);

/* Replies as getxattr and listxattr do: with the length alone when size, which
 * is that of the caller's buffer, is 0. */
void reply_xattr(struct fuse_req *req, const void *data, size_t len,
		 size_t size);

/* Replies to an interrupted request with what there is. */
typedef void park_give_up_fn(struct fuse_req *req, void *rest);

/*
 * A parked request: it is answered later, by another thread, or interrupted.
 *
 * Either the thread that has the answer claims the request, or the interrupt
 * claims it and calls give_up, which replies with what there is; where give_up
 * is NULL the reply is EINTR.  rest belongs to the side that claimed.  An
 * interrupted request also gives up, by its ticket, what it waits for in the
 * engine.  The struct is freed by the thread with the answer only, after
 * park_claim().
 */
struct park {
	struct fuse_req *req;
	park_give_up_fn *give_up;
	void *rest;
	struct engine *engine;
	struct queue_ticket ticket; /* for engine_wait() */
	atomic_bool claimed;
	atomic_bool armed; /* the interrupt may reply by itself */
	atomic_bool interrupted;
};

/* engine, give_up and rest are set.  False when the request was interrupted
 * already, and given up: nothing refers to p any more. */
bool park_begin(struct park *p, struct fuse_req *req);

/* True when the caller is to reply to p->req now. */
bool park_claim(struct park *p);

#endif
