/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_PARK_H
#define FS_PARK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/engine/engine.h"

struct fuse_req;

/* Replies to an interrupted request with what there is. */
typedef void park_give_up_fn(struct fuse_req *req, void *rest);

/*
 * A request that is answered later, from another thread, or interrupted.
 *
 * Either the thread that has the answer claims it, or the interrupt does and
 * calls give_up, which replies with what there is: for NULL it is EINTR.  rest
 * belongs to who claimed.  An interrupted request gives up what it waits for in
 * the engine with its ticket.  The owner frees what contains the struct only in the
 * thread with the answer, after trying to claim it.
 */
struct park {
	struct fuse_req *req;
	park_give_up_fn *give_up;
	void *rest;
	struct engine *engine;
	struct queue_ticket ticket; /* for engine_park() */
	atomic_bool claimed;
	atomic_bool armed; /* the interrupt may reply by itself */
	atomic_bool interrupted;
};

/* engine, give_up and rest are set.  False when the request was interrupted already, and
 * given up: nothing refers to p any more. */
bool park_begin(struct park *p, struct fuse_req *req);

/* True when the caller is to reply to p->req now. */
bool park_claim(struct park *p);

#endif
