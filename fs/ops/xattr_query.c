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

/* A digest that is not stored is computed at most this often, if the file
 * changes meanwhile. */
enum { ROUNDS_MAX = 16 };

/* ---- the names of attributes ---- */

void xattr_list_reply(fuse_req_t req, void *list)
{
	struct xattr_list *l = list;

	reply_xattr(req, l->names.data, l->names.len, l->size);
	buf_release(&l->names);
	free(l);
}

/* Adds a name if there is room. */
static int list_digest(struct xattr_list *l, const struct digests *d,
		       enum digest_id id)
{
	const char *name = digest_table[id]->attribute;
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
	unsigned place;
	int id, err = 0;

	for (place = 1; place <= DIGEST_COUNT; place++)
		for (id = 0; id < DIGEST_COUNT && !err; id++)
			if (d->set & DIGEST_BIT(id) &&
			    digest_table[id]->listed == place)
				err = list_digest(l, d, id);
	return err;
}

/* ---- answers without waiting ---- */

static bool may_read(fuse_req_t req, struct fs *fs, int fd)
{
	struct cred saved;
	bool may;

	if (cred_assume(fs, req, &saved))
		return false;
	may = !faccessat(fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS);
	cred_restore(fs, &saved);
	return may;
}

bool xattr_may_read(fuse_req_t req, struct fs *fs, struct inode *inode)
{
	struct path_fd path;
	bool may;

	if (inode_path_fd(fs, inode, &path))
		return false;
	may = may_read(req, fs, path.fd);
	path_fd_close(&path);
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
	struct path_fd path;
	int err = inode_path_fd(fs, inode, &path);

	if (!err) {
		err = engine_ask(fs->engine, path.fd, wanted, answer_out);
		path_fd_close(&path);
	}
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
	struct path_fd opened;      /* for the first open_file(); fd -1: none */
	struct path_fd path;        /* between open_file() and close_file() */
	struct file_digests answer; /* owned */
	int rounds;
	bool written_out; /* dirty pages of mappings were written back */
};

static void query_free(struct digest_query *q)
{
	if (q->opened.fd >= 0)
		path_fd_close(&q->opened);
	file_digests_release(&q->answer);
	inode_unref(q->fs, q->inode);
	free(q);
}

/* Replies err; to a listxattr, the names of the real attributes. */
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

static void reply_value(struct digest_query *q)
{
	struct buf text = { 0 };
	int err = -ENODATA;

	if (q->answer.state == DIGESTS_FRESH)
		err = digest_format(&q->answer.digests, q->info->id, &text);
	if (err)
		query_fail(q, -err);
	else
		query_reply(q, &text);
	buf_release(&text);
}

static void reply_list(struct digest_query *q)
{
	if (park_claim(&q->park)) {
		if (q->answer.state == DIGESTS_FRESH)
			(void)xattr_list_digests(q->park.rest,
						 &q->answer.digests);
		xattr_list_reply(q->park.req, q->park.rest);
	}
	query_free(q);
}

/* ---- the file ---- */

static int open_file(void *query)
{
	struct digest_query *q = query;
	int err = 0;

	if (q->opened.fd >= 0)
		q->path = q->opened;
	else
		err = inode_path_fd(q->fs, q->inode, &q->path);
	q->opened.fd = -1;
	return err ? err : q->path.fd;
}

static void close_file(void *query)
{
	struct digest_query *q = query;

	path_fd_close(&q->path);
}

static bool answer_holds(struct digest_query *q)
{
	int fd = open_file(q);
	bool holds =
		fd >= 0 && engine_digests_hold(q->fs->engine, fd, &q->answer);

	if (fd >= 0)
		close_file(q);
	return holds;
}

static void query_fail_waiting(struct digest_query *q, int err)
{
	query_fail(q, err == -ECANCELED ? ENODATA : -err);
}

/* Waits for the digests of the present content. */
static void query_wait(struct digest_query *q)
{
	int err;

	file_digests_release(&q->answer);
	err = engine_wait(q->fs->engine, &q->wait);
	if (err)
		query_fail_waiting(q, err);
}

/* ---- digests that are not stored ---- */

static void on_demanded(void *arg, int result, const struct buf *text)
{
	struct digest_query *q = arg;

	if (!result && !answer_holds(q))
		result = -EAGAIN;
	if (result == -EAGAIN && q->rounds++ < ROUNDS_MAX)
		query_wait(q);
	else if (result == -EAGAIN)
		query_fail(q, ENODATA);
	else if (result)
		query_fail_waiting(q, result);
	else
		query_reply(q, text);
}

/* Computes the digest.  q->answer is checked afterwards (answer_holds()): if it
 * is still valid, the file has not changed meanwhile. */
static void query_on_demand(struct digest_query *q)
{
	struct demand_query query = {
		.id = q->info->id,
		.fd = open_file(q),
		.uid = q->wait.uid,
		.most = XATTR_SIZE_MAX,
		.done = on_demanded,
		.arg = q,
	};
	struct path_fd path = q->path;
	int err = query.fd;

	if (err >= 0) {
		err = engine_digest_on_demand(q->fs->engine, &query);
		path_fd_close(&path);
	}
	if (err)
		query_fail_waiting(q, err);
}

/* ---- the answer ---- */

static void on_written_out(void *arg, int result);

static void query_answer(struct digest_query *q)
{
	bool fresh = q->answer.state == DIGESTS_FRESH;

	if (fresh && !q->written_out && mapped_is_possible(q->fs, q->inode)) {
		if (mapped_write_out(q->fs, q->inode, on_written_out, q))
			query_fail(q, ENOMEM);
	} else if (q->info && fresh &&
		   !(q->fs->options.kept_digests & DIGEST_BIT(q->info->id))) {
		query_on_demand(q);
	} else if (q->info) {
		reply_value(q);
	} else {
		reply_list(q);
	}
}

static void on_digests(void *arg, int err, struct file_digests *answer)
{
	struct digest_query *q = arg;

	if (err) {
		query_fail_waiting(q, err);
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
		query_fail_waiting(q, result);
	else if (answer_holds(q))
		query_answer(q);
	else
		query_wait(q);
}

static int64_t deadline_ms(const struct fs *fs)
{
	return clock_now_ms() + fs->options.wait_s * INT64_C(1000);
}

static struct digest_query *query_new(fuse_req_t req, struct fs *fs,
				      struct inode *inode, size_t size)
{
	struct digest_query *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	inode_ref(inode);
	q->fs = fs;
	q->inode = inode;
	q->size = size;
	q->opened.fd = -1;
	q->park.engine = fs->engine;
	q->wait = (struct digests_wait){
		.uid = fuse_req_ctx(req)->uid,
		.wanted = DIGEST_ALL,
		.deadline_ms = deadline_ms(fs),
		.ticket = &q->park.ticket,
		.open = open_file,
		.close = close_file,
		.done = on_digests,
		.arg = q,
	};
	return q;
}

static void query_begin(struct digest_query *q, fuse_req_t req)
{
	if (park_begin(&q->park, req))
		query_wait(q);
	else
		query_free(q);
}

/* Takes opened on success. */
static int query_digest(fuse_req_t req, struct fs *fs, struct inode *inode,
			const struct digest_ops *info, size_t size,
			const struct path_fd *opened)
{
	struct digest_query *q;

	if (!may_read(req, fs, opened->fd))
		return EACCES;
	if (!(fs->options.digest_set & DIGEST_BIT(info->id)))
		return ENODATA;
	q = query_new(req, fs, inode, size);
	if (!q)
		return ENOMEM;
	q->info = info;
	q->wait.wanted = DIGEST_BIT(info->id);
	q->opened = *opened;
	query_begin(q, req);
	return 0;
}

void xattr_query_digest(fuse_req_t req, struct fs *fs, struct inode *inode,
			const struct digest_ops *info, size_t size)
{
	struct path_fd opened;
	int err = EACCES;

	if (!inode_path_fd(fs, inode, &opened)) {
		err = query_digest(req, fs, inode, info, size, &opened);
		if (err)
			path_fd_close(&opened);
	}
	if (err)
		fuse_reply_err(req, err);
}

void xattr_query_list(fuse_req_t req, struct fs *fs, struct inode *inode,
		      struct xattr_list *list)
{
	struct digest_query *q = query_new(req, fs, inode, list->size);

	if (!q) {
		xattr_list_reply(req, list);
		return;
	}
	q->park.give_up = xattr_list_reply;
	q->park.rest = list;
	query_begin(q, req);
}
