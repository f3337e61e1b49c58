/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/reply.h"

#include <errno.h>
#include <fuse_lowlevel.h>

void reply_error(fuse_req_t req, int err)
{
	fuse_reply_err(req, err == -ENOSYS ? EOPNOTSUPP : -err);
}

void reply_xattr(fuse_req_t req, const void *data, size_t len, size_t size)
{
	if (!size)
		fuse_reply_xattr(req, len);
	else if (len > size)
		reply_error(req, -ERANGE);
	else
		fuse_reply_buf(req, data, len);
}

/* ---- parked requests ---- */

static void reply_interrupted(fuse_req_t req, park_give_up_fn *give_up,
			      void *rest)
{
	if (give_up)
		give_up(req, rest);
	else
		fuse_reply_err(req, EINTR);
}

/*
 * libfuse calls this with the request locked, in two cases.  When an interrupt
 * arrives, the request outlives the call, and a reply is allowed.  From within
 * fuse_req_interrupt_func(), a reply would free the lock that is held, and is
 * not allowed; then armed is false.
 */
static void on_interrupt(fuse_req_t req, void *arg)
{
	struct park *p = arg;
	park_give_up_fn *give_up = p->give_up;
	void *rest = p->rest;
	struct engine *engine = p->engine;
	uint64_t ticket = p->ticket.number;

	atomic_store(&p->interrupted, true);
	if (!atomic_load(&p->armed))
		return;
	atomic_store(&p->ticket.given_up, true);
	if (atomic_exchange(&p->claimed, true))
		return;
	/* p may be freed by now. */
	reply_interrupted(req, give_up, rest);
	engine_give_up(engine, ticket);
}

bool park_begin(struct park *p, struct fuse_req *req)
{
	p->req = req;
	queue_ticket_init(&p->ticket);
	atomic_init(&p->claimed, false);
	atomic_init(&p->armed, false);
	atomic_init(&p->interrupted, false);
	fuse_req_interrupt_func(req, on_interrupt, p);
	atomic_store(&p->armed, true);
	if (!atomic_load(&p->interrupted))
		return true;
	if (park_claim(p))
		reply_interrupted(req, p->give_up, p->rest);
	return false;
}

bool park_claim(struct park *p)
{
	if (atomic_exchange(&p->claimed, true))
		return false;
	/* Waits for a running on_interrupt(), and prevents further ones. */
	fuse_req_interrupt_func(p->req, NULL, NULL);
	return true;
}
