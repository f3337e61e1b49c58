/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/xattr_query.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/engine/engine.h"
#include "fs/inode/cred.h"
#include "fs/inode/descriptor.h"
#include "fs/fs.h"
#include "fs/inode/inode.h"
#include "fs/inode/mapped.h"
#include "fs/ops/reply.h"

/* A request is parked at most this often: a file that is news again and again
 * without ever being ready is not waited for. */
enum { WAKE_MAX = 16 };

/* ---- the names of attributes ---- */

void xattr_list_reply(fuse_req_t req, void *list)
{
	struct xattr_list *l = list;

	reply_xattr(req, l->names.data, l->names.len, l->size);
	buf_release(&l->names);
	free(l);
}

/* One that does not fit is left out. */
static int list_digest(struct xattr_list *l, const struct digests *d,
		       enum digest_id id)
{
	const char *name = digest_infos[id].attribute;
	struct buf text = { 0 };
	int err = digest_format(d, id, &text);
	size_t need = strlen(name) + text.len;

	buf_release(&text);
	if (err || need > l->room)
		return err;
	l->room -= need;
	return buf_append(&l->names, name, strlen(name) + 1);
}

int xattr_list_digests(struct xattr_list *l, const struct digests *d)
{
	/* The short ones first: they fit nearly always.  The last one takes no
	 * room that another needs. */
	static const enum digest_id order[] = {
		DIGEST_SIMHASH, DIGEST_RDC,    DIGEST_XXH128, DIGEST_SSDEEP,
		DIGEST_TLSH,    DIGEST_SHA256, DIGEST_SISE,   DIGEST_SIF,
		DIGEST_TEXT,    DIGEST_SIF8,
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && !err; i++)
		if (d->set & DIGEST_BIT(order[i]))
			err = list_digest(l, d, order[i]);
	return err;
}

/* ---- asking at once ---- */

bool xattr_may_read(fuse_req_t req, struct fs *fs, struct inode *inode)
{
	struct path_fd path;
	struct cred saved;
	bool may = false;

	if (inode_path_fd(fs, inode, &path))
		return false;
	if (!cred_assume(fs, req, &saved)) {
		may = !faccessat(path.fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS);
		cred_restore(fs, &saved);
	}
	path_fd_close(&path);
	return may;
}

int xattr_format_state(const struct engine_answer *answer, struct buf *out)
{
	switch (answer->state) {
	case ENGINE_FRESH:
		return buf_append_text(out, "fresh");
	case ENGINE_PENDING:
		return buf_append_text(out, "pending");
	case ENGINE_BUSY:
	case ENGINE_CLOSED:
		return buf_append_text(out, "busy");
	case ENGINE_SKIPPED:
		return buf_append_format(out, "skipped:%s", answer->rule);
	case ENGINE_FAILED:
		return buf_append_format(out, "error:%s",
					 err_name(answer->error));
	}
	return -EINVAL;
}

int xattr_ask(struct fs *fs, struct inode *inode,
	      struct engine_answer *answer_out)
{
	struct path_fd path;
	int err = inode_path_fd(fs, inode, &path);

	if (!err) {
		err = engine_ask(fs->engine, path.fd, answer_out);
		path_fd_close(&path);
	}
	return err;
}

/* ---- one that may wait ---- */

struct digest_query {
	struct park park; /* rest is the list of a listxattr */
	struct fs *fs;
	struct inode *inode;            /* holds a reference */
	const struct digest_info *info; /* NULL: listxattr */
	size_t size;
	uid_t uid;
	struct timespec deadline;
	int wakes;
	bool closed; /* it has waited for ENGINE_CLOSED to become certain */
	bool written_out; /* no page is only in a mapping */
};

static void query_free(struct digest_query *q)
{
	inode_unref(q->fs, q->inode);
	free(q);
}

/* A listxattr never fails: then there are only the real attributes. */
static void query_fail(struct digest_query *q, int err)
{
	if (park_claim(&q->park)) {
		if (q->info)
			fuse_reply_err(q->park.req, err);
		else
			xattr_list_reply(q->park.req, q->park.rest);
	}
	query_free(q);
}

static void query_reply(struct digest_query *q, const struct buf *b)
{
	if (park_claim(&q->park))
		reply_xattr(q->park.req, b->data, b->len, q->size);
	query_free(q);
}

static void reply_value(struct digest_query *q,
			const struct engine_answer *answer)
{
	struct buf text = { 0 };
	int err = -ENODATA;

	if (answer->state == ENGINE_FRESH)
		err = digest_format(&answer->digests, q->info->id, &text);
	if (err)
		query_fail(q, -err);
	else
		query_reply(q, &text);
	buf_release(&text);
}

static void reply_list(struct digest_query *q,
		       const struct engine_answer *answer)
{
	if (park_claim(&q->park)) {
		if (answer->state == ENGINE_FRESH)
			(void)xattr_list_digests(q->park.rest,
						 &answer->digests);
		xattr_list_reply(q->park.req, q->park.rest);
	}
	query_free(q);
}

static void on_news(void *arg, int result);
static void on_written_out(void *arg, int result);

static unsigned left_ms(const struct digest_query *q)
{
	int64_t left_ns = timespec_to_ns(&q->deadline) - clock_now_ns();
	int64_t left = left_ns / 1000000;

	return left > 0 ? (unsigned)left : 0;
}

/* ---- digests that are not kept ---- */

static bool is_fresh(struct digest_query *q)
{
	struct engine_answer answer;
	bool fresh;

	if (xattr_ask(q->fs, q->inode, &answer))
		return false;
	fresh = answer.state == ENGINE_FRESH;
	engine_answer_release(&answer);
	return fresh;
}

static void on_demanded(void *arg, int result, const struct buf *text)
{
	struct digest_query *q = arg;

	if (result == -EAGAIN || (!result && !is_fresh(q)))
		on_news(q, q->wakes++ < WAKE_MAX ? 0 : -ECANCELED);
	else if (result)
		query_fail(q, result == -ECANCELED ? ENODATA : -result);
	else
		query_reply(q, text);
}

/* The digests of the file are those of its content: so will this one be. */
static void query_on_demand(struct digest_query *q, int fd)
{
	const struct demand_query query = {
		.id = q->info->id,
		.fd = fd,
		.uid = q->uid,
		.most = XATTR_SIZE_MAX,
		.done = on_demanded,
		.arg = q,
	};
	int err = engine_digest_on_demand(q->fs->engine, &query);

	if (err)
		query_fail(q, err == -ECANCELED ? ENODATA : -err);
}

/* When the host has caught up once, a writer that seems to be closing is one
 * that goes on. */
static bool is_worth_waiting(struct digest_query *q, enum engine_state state)
{
	bool closed = state == ENGINE_CLOSED && !q->closed;

	if (state != ENGINE_PENDING && !closed)
		return false;
	q->closed = q->closed || closed;
	return q->wakes++ < WAKE_MAX;
}

static int query_park(struct digest_query *q, int fd)
{
	return engine_park(
		q->fs->engine, fd,
		&(struct parked_request){
			.uid = q->uid,
			.deadline_ms = timespec_to_ns(&q->deadline) / 1000000,
			.ticket = &q->park.ticket,
			.done = on_news,
			.arg = q,
		});
}

/* Replies, or parks once more.  fd is one of the file. */
static void query_step(struct digest_query *q, int fd)
{
	struct engine_answer answer;
	unsigned wait_ms = left_ms(q);
	int err = engine_ask(q->fs->engine, fd, &answer);

	if (err) {
		query_fail(q, -err);
		return;
	}
	if (wait_ms && is_worth_waiting(q, answer.state)) {
		err = query_park(q, fd);
		if (!err)
			return; /* q is the engine's now */
		if (err == -EINTR || (err == -EAGAIN && q->info)) {
			query_fail(q, -err);
			return;
		}
	}
	if (answer.state == ENGINE_FRESH && !q->written_out &&
	    mapped_is_possible(q->fs, q->inode)) {
		engine_answer_release(&answer);
		if (mapped_write_out(q->fs, q->inode, on_written_out, q))
			query_fail(q, ENOMEM);
		return;
	}
	if (q->info && answer.state == ENGINE_FRESH &&
	    !(q->fs->options.kept_digests & DIGEST_BIT(q->info->id)))
		query_on_demand(q, fd);
	else if (q->info)
		reply_value(q, &answer);
	else
		reply_list(q, &answer);
	engine_answer_release(&answer);
}

static void on_news(void *arg, int result)
{
	struct digest_query *q = arg;
	struct path_fd path;
	int err;

	if (result == -ETIMEDOUT)
		q->wakes = WAKE_MAX;
	if (result && result != -ETIMEDOUT) {
		query_fail(q, ENODATA);
		return;
	}
	err = inode_path_fd(q->fs, q->inode, &path);
	if (err) {
		query_fail(q, -err);
		return;
	}
	query_step(q, path.fd);
	path_fd_close(&path);
}

static void on_written_out(void *arg, int result)
{
	struct digest_query *q = arg;

	q->written_out = true;
	on_news(q, result);
}

void xattr_query(fuse_req_t req, struct fs *fs, struct inode *inode,
		 const struct digest_info *info, size_t size,
		 struct xattr_list *list)
{
	struct digest_query *q = calloc(1, sizeof(*q));
	struct path_fd path;
	int err = q ? inode_path_fd(fs, inode, &path) : -ENOMEM;

	if (err) {
		if (list)
			xattr_list_reply(req, list);
		else
			fuse_reply_err(req, -err);
		free(q);
		return;
	}
	inode_ref(inode);
	q->fs = fs;
	q->inode = inode;
	q->info = info;
	q->size = size;
	q->park.engine = fs->engine;
	q->park.give_up = list ? xattr_list_reply : NULL;
	q->park.rest = list;
	q->uid = fuse_req_ctx(req)->uid;
	clock_gettime(CLOCK_MONOTONIC, &q->deadline);
	q->deadline.tv_sec += fs->options.wait_s;
	if (park_begin(&q->park, req))
		query_step(q, path.fd);
	else
		query_free(q);
	path_fd_close(&path);
}
