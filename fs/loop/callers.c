/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/loop/callers.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "fs/inode/inode.h"
#include "fs/similar/similar.h"

/* ---- requests ---- */

uid_t request_uid(const struct fuse_in_header *header)
{
	const struct fuse_write_in *write = (const void *)(header + 1);
	const struct handle *h;

	switch (header->opcode) {
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		return CALLER_NONE;
	case FUSE_WRITE:
	case FUSE_RELEASE: /* has the handle in the same place */
	case FUSE_RELEASEDIR:
		if (header->pid || similar_is_node(header->nodeid))
			break;
		h = (const void *)(uintptr_t)write->fh;
		return h->uid;
	default:
		break;
	}
	return header->uid;
}

bool request_is_awaited(const struct fuse_in_header *header)
{
	const struct fuse_write_in *write = (const void *)(header + 1);

	switch (header->opcode) {
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		return false;
	case FUSE_WRITE:
		return !(write->write_flags & FUSE_WRITE_CACHE);
	default:
		return true;
	}
}

/* ---- callers ---- */

static bool has_thread_for(const struct callers *all, const struct caller *c)
{
	if (c->stuck)
		return c->stuck + all->stuck < STUCK_MOST;
	return all->stuck < STUCK_ALL || c->uid == 0;
}

static struct caller *find(const struct callers *all, uid_t uid)
{
	struct caller *c = all->first;

	while (c && c->uid != uid)
		c = c->next;
	return c;
}

static struct caller *find_or_add(struct callers *all, uid_t uid)
{
	struct caller *c = find(all, uid);

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->uid = uid;
	STAILQ_INIT(&c->held);
	c->next = all->first;
	all->first = c;
	return c;
}

/* Drops callers that have nothing any more; sets limited. */
static void update(struct callers *all)
{
	bool limited = all->stuck >= STUCK_ALL;
	struct caller **at = &all->first, *c;

	while ((c = *at)) {
		limited |= !has_thread_for(all, c) || c->held_count;
		if (c->stuck || c->held_count) {
			at = &c->next;
		} else {
			*at = c->next;
			free(c);
		}
	}
	atomic_store(&all->limited, limited);
}

struct caller *callers_add_stuck(struct callers *all, uid_t uid)
{
	struct caller *c = find_or_add(all, uid);

	if (!c)
		return NULL;
	c->stuck++;
	all->stuck++;
	update(all);
	return c;
}

void callers_end_stuck(struct callers *all, struct caller *caller)
{
	caller->stuck--;
	all->stuck--;
	update(all);
}

bool callers_must_hold(const struct callers *all, uid_t uid)
{
	const struct caller none = { .uid = uid }, *c = find(all, uid);

	/* In the order in which they came. */
	return !has_thread_for(all, c ? c : &none) || (c && c->held_count);
}

int callers_hold(struct callers *all, uid_t uid,
		 const struct fuse_in_header *request, size_t len,
		 bool is_awaited)
{
	struct caller *c = find_or_add(all, uid);
	struct held_request *h;
	int err = -ENOMEM;

	if (c && is_awaited &&
	    (c->held_count >= HELD_REQUESTS ||
	     c->held_bytes + len > HELD_BYTES)) {
		err = -EAGAIN;
	} else if (c && (h = malloc(sizeof(*h) + len))) {
		h->unique = request->unique;
		h->is_awaited = is_awaited;
		h->since_ms = clock_now_ms();
		h->len = len;
		memcpy(h->bytes, request, len);
		STAILQ_INSERT_TAIL(&c->held, h, next);
		c->held_count++;
		c->held_bytes += len;
		err = 0;
	}
	update(all);
	return err;
}

static struct held_request *take(struct callers *all, struct caller *c,
				 struct held_request *h)
{
	STAILQ_REMOVE(&c->held, h, held_request, next);
	c->held_count--;
	c->held_bytes -= h->len;
	update(all);
	return h;
}

struct held_request *callers_next(struct callers *all)
{
	struct caller *c = all->first;

	while (c && !(c->held_count && has_thread_for(all, c)))
		c = c->next;
	if (!c)
		return NULL;
	return take(all, c, STAILQ_FIRST(&c->held));
}

struct held_request *callers_expired(struct callers *all)
{
	int64_t before_ms = clock_now_ms() - HELD_MS;
	struct held_request *h;
	struct caller *c;

	for (c = all->first; c; c = c->next)
		STAILQ_FOREACH(h, &c->held, next)
			if (h->is_awaited && h->since_ms <= before_ms)
				return take(all, c, h);
	return NULL;
}

struct held_request *callers_take(struct callers *all, uint64_t unique)
{
	struct held_request *h;
	struct caller *c;

	for (c = all->first; c; c = c->next)
		STAILQ_FOREACH(h, &c->held, next)
			if (h->unique == unique)
				return take(all, c, h);
	return NULL;
}

void callers_release(struct callers *all)
{
	struct caller *c = all->first;

	while (c) {
		if (c->held_count)
			free(take(all, c, STAILQ_FIRST(&c->held)));
		c = all->first;
		while (c && !c->held_count)
			c = c->next;
	}
}
