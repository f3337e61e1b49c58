/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/xattr.h"

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
#include "fs/inode/backing.h"
#include "fs/ops/reply.h"

/* ---- the names of attributes ---- */

void xattr_list_reply(fuse_req_t req, void *list)
{
	struct xattr_list *l = list;

	reply_xattr(req, l->names.data, l->names.len, l->size);
	buf_release(&l->names);
	free(l);
}

int xattr_list_digests(struct xattr_list *l, const struct digests *d)
{
	unsigned place;
	int id, err = 0;

	for (place = 1; place <= DIGEST_COUNT; place++)
		for (id = 0; id < DIGEST_COUNT && !err; id++) {
			const char *name = digest_table[id]->attribute;
			struct buf text = { 0 };
			size_t need;

			if (!(d->set & DIGEST_BIT(id)) ||
			    digest_table[id]->listed != place)
				continue;
			err = digest_format(d, id, &text);
			need = strlen(name) + text.len;
			buf_release(&text);
			if (err || need > l->room)
				continue;
			l->room -= need;
			err = buf_append(&l->names, name, strlen(name) + 1);
		}
	return err;
}

/* ---- answers without waiting ---- */

bool xattr_may_read(fuse_req_t req, struct fs *fs, struct inode *inode)
{
	int fd = inode_fd(fs, inode);
	bool may = fd >= 0 && !CRED_CALL(fs, req,
					 faccessat(fd, "", R_OK,
						   AT_EMPTY_PATH | AT_EACCESS));

	inode_fd_close(inode, fd);
	return may;
}

int xattr_format_state(const struct file_digests *answer, struct buf *out)
{
	switch (answer->state) {
	case DIGESTS_FRESH:
		return buf_append_text(out, "fresh");
	case DIGESTS_PENDING:
		return buf_append_text(out, "pending");
	case DIGESTS_BUSY:
	case DIGESTS_CLOSED:
		return buf_append_text(out, "busy");
	case DIGESTS_SKIPPED:
		return buf_append_format(out, "skipped:%s", answer->rule);
	case DIGESTS_FAILED:
		return buf_append_format(out, "error:%s",
					 err_name(answer->error));
	}
	return -EINVAL;
}

int xattr_ask(struct fs *fs, struct inode *inode, uint32_t wanted,
	      struct file_digests *answer_out)
{
	int fd = inode_fd(fs, inode);
	int err = fd < 0 ? fd : engine_ask(fs->engine, fd, wanted, answer_out);

	inode_fd_close(inode, fd);
	return err;
}

/* ---- queries that may wait ---- */

struct digest_query {
	struct park park; /* park.rest: the struct xattr_list of a listxattr */
	struct digests_wait wait;
	struct fs *fs;
	struct inode *inode;           /* holds a reference */
	const struct digest_ops *info; /* NULL: listxattr */
	size_t size;
	int fd;                     /* between open_file() and close_file() */
	struct file_digests answer; /* owned */
	bool written_out; /* dirty pages of mappings were written back */
};

/* Replies and frees the query.  value: of a getxattr without an error.  With an
 * error, the reply to a listxattr has the names of the real attributes. */
static void query_end(struct digest_query *q, int err, const struct buf *value)
{
	struct xattr_list *list = q->park.rest;

	if (!park_claim(&q->park)) {
		/* Interrupted. */
	} else if (!q->info) {
		if (!err && q->answer.state == DIGESTS_FRESH)
			(void)xattr_list_digests(list, &q->answer.digests);
		xattr_list_reply(q->park.req, list);
	} else if (err) {
		fuse_reply_err(q->park.req, err == -ECANCELED ? ENODATA : -err);
	} else {
		reply_xattr(q->park.req, value->data, value->len, q->size);
	}
	file_digests_release(&q->answer);
	inode_unref(q->fs, q->inode);
	free(q);
}

/* ---- the file ---- */

static int open_file(void *query)
{
	struct digest_query *q = query;

	q->fd = inode_fd(q->fs, q->inode);
	return q->fd;
}

static void close_file(void *query)
{
	struct digest_query *q = query;

	inode_fd_close(q->inode, q->fd);
}

static bool answer_holds(struct digest_query *q)
{
	int fd = inode_fd(q->fs, q->inode);
	bool holds =
		fd >= 0 && engine_digests_hold(q->fs->engine, fd, &q->answer);

	inode_fd_close(q->inode, fd);
	return holds;
}

/* Waits for the digests of the present content. */
static void query_wait(struct digest_query *q)
{
	int err;

	file_digests_release(&q->answer);
	err = engine_wait(q->fs->engine, &q->wait);
	if (err)
		query_end(q, err, NULL);
}

/* ---- the answer ---- */

static void on_written_out(void *arg, int result);

static void query_answer(struct digest_query *q)
{
	bool fresh = q->answer.state == DIGESTS_FRESH;
	struct buf text = { 0 };
	int err = 0;

	if (fresh && !q->written_out && mapped_is_possible(q->fs, q->inode)) {
		if (mapped_write_out(q->fs, q->inode, on_written_out, q))
			query_end(q, -ENOMEM, NULL);
		return;
	}
	if (q->info)
		err = fresh ? digest_format(&q->answer.digests, q->info->id,
					    &text) :
			      -ENODATA;
	query_end(q, err, &text);
	buf_release(&text);
}

static void on_digests(void *arg, int err, struct file_digests *answer)
{
	struct digest_query *q = arg;

	if (err) {
		query_end(q, err, NULL);
		return;
	}
	q->answer = *answer;
	query_answer(q);
}

/* The pages that were written back may have changed the file. */
static void on_written_out(void *arg, int result)
{
	struct digest_query *q = arg;

	q->written_out = true;
	if (result)
		query_end(q, result, NULL);
	else if (answer_holds(q))
		query_answer(q);
	else
		query_wait(q);
}

/* Takes list, that of a listxattr; info: of a getxattr. */
static void query_begin(fuse_req_t req, struct fs *fs, struct inode *inode,
			const struct digest_ops *info, size_t size,
			struct xattr_list *list)
{
	struct digest_query *q = calloc(1, sizeof(*q));
	uint32_t wanted = info ? DIGEST_BIT(info->id) : DIGEST_ALL;

	if (!q) {
		if (list)
			xattr_list_reply(req, list);
		else
			fuse_reply_err(req, ENOMEM);
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
	q->wait = (struct digests_wait){
		.uid = fuse_req_ctx(req)->uid,
		.wanted = wanted,
		.demanded = !info       ? 0 :
			    !info->part ? QUEUE_TEXT :
					  wanted & ~fs->options.kept_digests,
		.deadline_ms =
			clock_now_ms() + fs->options.wait_s * INT64_C(1000),
		.ticket = &q->park.ticket,
		.open = open_file,
		.close = close_file,
		.done = on_digests,
		.arg = q,
	};
	if (park_begin(&q->park, req)) {
		query_wait(q);
	} else {
		inode_unref(fs, inode);
		free(q);
	}
}

void xattr_query_digest(fuse_req_t req, struct fs *fs, struct inode *inode,
			const struct digest_ops *info, size_t size)
{
	if (!xattr_may_read(req, fs, inode))
		fuse_reply_err(req, EACCES);
	else if (!(fs->options.digest_set & DIGEST_BIT(info->id)))
		fuse_reply_err(req, ENODATA);
	else
		query_begin(req, fs, inode, info, size, NULL);
}

void xattr_query_list(fuse_req_t req, struct fs *fs, struct inode *inode,
		      struct xattr_list *list)
{
	query_begin(req, fs, inode, NULL, list->size, list);
}
