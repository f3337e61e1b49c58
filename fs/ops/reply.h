/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_REPLY_H
#define FS_OPS_REPLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/engine/engine.h"

struct fuse_req;

/*
 * Replies, at once or later.  The reply frees the request, so nothing may use
 * it afterwards.
 */

/* err is 0 or a negative errno.  ENOSYS becomes EOPNOTSUPP: after ENOSYS the
 * kernel would never send a request of that kind again, for any file. */
void reply_error(struct fuse_req *req, int err);

/* Replies to getxattr and listxattr.  size is that of the caller's buffer; 0:
 * the reply is the length only. */
void reply_xattr(struct fuse_req *req, const void *data, size_t len,
		 size_t size);

/* Replies to an interrupted request. */
typedef void park_give_up_fn(struct fuse_req *req, void *rest);

/*
 * A parked request, which another thread answers later, or which is
 * interrupted.
 *
 * Either the thread with the answer claims the request and replies; or the
 * handler of the interrupt claims it and calls give_up(), which replies (NULL:
 * the reply is EINTR).  rest is an argument for give_up() and belongs to the
 * side that claimed the request.  The handler also gives up, by the ticket, the
 * wait in the engine.  Only the thread with the answer frees the struct, after
 * park_claim().
 */
struct park {
	struct fuse_req *req;
	park_give_up_fn *give_up;
	void *rest;
	struct engine *engine;
	struct queue_ticket ticket; /* for engine_wait() */
	atomic_bool claimed;
	atomic_bool armed; /* the handler may reply */
	atomic_bool interrupted;
};

/* The caller has set engine, give_up and rest.  False: the request was already
 * interrupted and has been replied to; nothing refers to p any more. */
bool park_begin(struct park *p, struct fuse_req *req);

/* Claims the request; true: the caller has to reply. */
bool park_claim(struct park *p);

#endif
