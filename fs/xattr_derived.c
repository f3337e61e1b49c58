/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/xattr_derived.h"

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
#include "fs/cred.h"
#include "fs/fs.h"
#include "fs/mapped.h"
#include "fs/ops.h"
#include "fs/park.h"
#include "fs/status.h"

#define PREFIX "user.kinfs."
#define STATE PREFIX "state"
#define STATUS PREFIX "status"
#define WAIT PREFIX "wait"
#define CONTROL PREFIX "control"

/* A request is parked at most this often: a file that is news again and again
 * without ever being ready is not waited for. */
enum { WAKE_MAX = 16 };

static const struct digest_info *find_digest(const char *name)
{
	return strncmp(name, "user.", 5) == 0 ? digest_find(name) : NULL;
}

bool xattr_is_derived(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 || find_digest(name);
}

void xattr_reply(fuse_req_t req, const void *data, size_t len, size_t size)
{
	if (!size)
		fuse_reply_xattr(req, len);
	else if (len > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, data, len);
}

/* ---- the names of attributes ---- */

struct list {
	struct buf names;
	size_t size; /* of the caller's buffer */
};

/* Takes the list, as it is. */
static void list_reply(fuse_req_t req, void *list)
{
	struct list *l = list;

	xattr_reply(req, l->names.data, l->names.len, l->size);
	buf_release(&l->names);
	free(l);
}

static int list_digests(struct list *l, uint32_t set)
{
	int id, err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		const char *name = digest_infos[id].attribute;

		if (set & DIGEST_BIT(id))
			err = buf_append(&l->names, name, strlen(name) + 1);
	}
	return err;
}

/* ---- a getxattr or listxattr of a regular file ---- */

struct query {
	struct park park; /* rest is the list of a listxattr */
	struct fs *fs;
	struct inode *inode;            /* holds a reference */
	const struct digest_info *info; /* NULL: listxattr */
	size_t size;
	uid_t uid;
	struct timespec deadline;
	int wakes;
	bool written_out; /* no page is only in a mapping */
};

static void query_free(struct query *q)
{
	inode_unref(q->fs, q->inode);
	free(q);
}

/* A listxattr never fails: then there are only the real attributes. */
static void query_fail(struct query *q, int err)
{
	if (park_claim(&q->park)) {
		if (q->info)
			fuse_reply_err(q->park.req, err);
		else
			list_reply(q->park.req, q->park.rest);
	}
	query_free(q);
}

static void query_reply(struct query *q, const struct buf *b)
{
	if (park_claim(&q->park))
		xattr_reply(q->park.req, b->data, b->len, q->size);
	query_free(q);
}

static void reply_value(struct query *q, const struct engine_answer *answer)
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

static void reply_list(struct query *q, const struct engine_answer *answer)
{
	if (park_claim(&q->park)) {
		if (answer->state == ENGINE_FRESH)
			(void)list_digests(q->park.rest, answer->digests.set);
		list_reply(q->park.req, q->park.rest);
	}
	query_free(q);
}

static void on_news(void *arg, int result);
static void on_written_out(void *arg, int result);

static unsigned left_ms(const struct query *q)
{
	struct timespec now;
	int64_t left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (timespec_ns(&q->deadline) - timespec_ns(&now)) / 1000000;
	return left > 0 ? (unsigned)left : 0;
}

/* ---- sdhash ---- */

static bool is_fresh(struct query *q)
{
	struct engine_answer answer;
	struct path_fd path;
	bool fresh = false;

	if (inode_path_fd(q->fs, q->inode, &path))
		return false;
	if (!engine_ask(q->fs->engine, path.fd, &answer)) {
		fresh = answer.state == ENGINE_FRESH;
		engine_answer_release(&answer);
	}
	path_fd_close(&path);
	return fresh;
}

static void on_sdhash(void *arg, int result, const struct buf *text)
{
	struct query *q = arg;

	if (result == -EAGAIN || (!result && !is_fresh(q)))
		on_news(q, q->wakes++ < WAKE_MAX ? 0 : -ECANCELED);
	else if (result)
		query_fail(q, result == -ECANCELED ? ENODATA : -result);
	else
		query_reply(q, text);
}

/* The digests of the file are those of its content: so will this one be. */
static void query_sdhash(struct query *q, int fd)
{
	int err = engine_sdhash(q->fs->engine, fd, q->uid, XATTR_SIZE_MAX,
				on_sdhash, q);

	if (err)
		query_fail(q, err == -ECANCELED ? ENODATA : -err);
}

/* Replies, or parks once more.  fd is one of the file. */
static void query_step(struct query *q, int fd)
{
	struct engine_answer answer;
	unsigned wait_ms = left_ms(q);
	int err = engine_ask(q->fs->engine, fd, &answer);

	if (err) {
		query_fail(q, -err);
		return;
	}
	if ((answer.state == ENGINE_PENDING || answer.state == ENGINE_CLOSED) &&
	    wait_ms && q->wakes++ < WAKE_MAX) {
		err = engine_wait(q->fs->engine, fd, q->uid, wait_ms, on_news,
				  q);
		if (!err)
			return; /* q is the engine's now */
		if (err == -EAGAIN && q->info) {
			query_fail(q, EAGAIN);
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
	if (q->info && q->info->id == DIGEST_SDHASH &&
	    answer.state == ENGINE_FRESH)
		query_sdhash(q, fd);
	else if (q->info)
		reply_value(q, &answer);
	else
		reply_list(q, &answer);
	engine_answer_release(&answer);
}

static void on_news(void *arg, int result)
{
	struct query *q = arg;
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
	struct query *q = arg;

	q->written_out = true;
	on_news(q, result);
}

/* For a listxattr there is a list of the real attributes (taken), and no
 * info. */
static void query_begin(fuse_req_t req, struct fs *fs, struct inode *inode,
			const struct digest_info *info, size_t size,
			struct list *list)
{
	struct query *q = calloc(1, sizeof(*q));
	struct path_fd path;
	int err = q ? inode_path_fd(fs, inode, &path) : -ENOMEM;

	if (err) {
		if (list)
			list_reply(req, list);
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
	q->park.give_up = list ? list_reply : NULL;
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

/* What may be in the list when it is read: it becomes longer between the two
 * calls when the digests come. */
static uint32_t possible_set(struct fs *fs, struct inode *inode)
{
	struct engine_answer answer;
	struct path_fd path;
	uint32_t set = 0;

	if (inode_path_fd(fs, inode, &path))
		return 0;
	if (!engine_ask(fs->engine, path.fd, &answer)) {
		if (answer.state == ENGINE_FRESH)
			set = answer.digests.set;
		else if (answer.state != ENGINE_SKIPPED &&
			 answer.state != ENGINE_FAILED)
			set = fs->options.digest_set & DIGEST_DEFAULT;
		engine_answer_release(&answer);
	}
	path_fd_close(&path);
	return set;
}

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

/* ---- user.kinfs.state ---- */

static int format_state(const struct engine_answer *answer, struct buf *out)
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

static int read_state(struct fs *fs, struct inode *inode, struct buf *out)
{
	struct engine_answer answer;
	struct path_fd path;
	int err = inode_path_fd(fs, inode, &path);

	if (err)
		return err;
	err = engine_ask(fs->engine, path.fd, &answer);
	path_fd_close(&path);
	if (err)
		return err;
	err = format_state(&answer, out);
	engine_answer_release(&answer);
	return err;
}

/* The reader polls the status; here it says why. */
static int wait_for_all(struct fs *fs)
{
	engine_hurry(fs->engine);
	return 0;
}

static void get_own(fuse_req_t req, struct fs *fs, struct inode *inode,
		    const char *name, size_t size)
{
	struct buf text = { 0 };
	int err = -ENODATA;

	if (strcmp(name, STATE) == 0 && S_ISREG(inode->type))
		err = read_state(fs, inode, &text);
	else if (strcmp(name, STATUS) == 0 && inode == fs->root)
		err = status_text(fs, &text);
	else if (strcmp(name, WAIT) == 0 && inode == fs->root)
		err = wait_for_all(fs);
	if (err)
		fuse_reply_err(req, -err);
	else
		xattr_reply(req, text.data, text.len, size);
	buf_release(&text);
}

/* ---- the operations ---- */

void xattr_derived_get(fuse_req_t req, struct fs *fs, struct inode *inode,
		       const char *name, size_t size)
{
	const struct digest_info *info = find_digest(name);

	if (S_ISREG(inode->type) && !xattr_may_read(req, fs, inode))
		fuse_reply_err(req, EACCES);
	else if (!info)
		get_own(req, fs, inode, name, size);
	else if (!S_ISREG(inode->type) ||
		 !(fs->options.digest_set & DIGEST_BIT(info->id)))
		fuse_reply_err(req, ENODATA);
	else
		query_begin(req, fs, inode, info, size, NULL);
}

/* Without the names of derived attributes: real ones of that name, copied
 * into SOURCE by some tool, must not show. */
static int list_real(struct list *l, const char *names, size_t len)
{
	const char *name = names, *end = names + len;
	int err = 0;

	while (name < end && !err) {
		size_t one = strlen(name) + 1;

		if (!xattr_is_derived(name))
			err = buf_append(&l->names, name, one);
		name += one;
	}
	return err;
}

static int list_new(fuse_req_t req, struct fs *fs, struct inode *inode,
		    size_t size, struct list **list_out)
{
	struct list *l = calloc(1, sizeof(*l));
	char *lower = NULL;
	size_t len = 0;
	int err = l ? xattr_lower_list(fs, inode, &lower, &len) : -ENOMEM;

	if (!err) {
		l->size = size;
		xattr_drop_hidden(req, lower, &len);
		err = list_real(l, lower, len);
		free(lower);
	}
	if (err && l) {
		buf_release(&l->names);
		free(l);
	} else {
		*list_out = l;
	}
	return err;
}

void xattr_derived_list(fuse_req_t req, struct fs *fs, struct inode *inode,
			size_t size)
{
	struct list *list;
	int err = list_new(req, fs, inode, size, &list);
	bool more = !err && S_ISREG(inode->type) &&
		    fs->options.xattrs != XATTRS_HIDE &&
		    xattr_may_read(req, fs, inode);

	if (err) {
		fuse_reply_err(req, -err);
	} else if (more && size) {
		query_begin(req, fs, inode, NULL, size, list);
	} else {
		if (more)
			(void)list_digests(list, possible_set(fs, inode));
		list_reply(req, list);
	}
}

/* "check", perhaps with the words "read" and "repair". */
static int control_check(struct fs *fs, char *words)
{
	bool read = false, repair = false;
	char *word, *rest = NULL;

	for (word = strtok_r(words, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest)) {
		if (strcmp(word, "read") == 0)
			read = true;
		else if (strcmp(word, "repair") == 0)
			repair = true;
		else
			return EINVAL;
	}
	engine_check(fs->engine, read, repair);
	return 0;
}

static int control(fuse_req_t req, struct fs *fs, const char *value,
		   size_t size)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	char words[32];

	if (ctx->uid != 0 && ctx->uid != geteuid())
		return EPERM;
	if (size >= sizeof(words))
		return EINVAL;
	memcpy(words, value, size);
	words[size] = '\0';
	if (strncmp(words, "check", 5) == 0 && (size == 5 || words[5] == ' '))
		return control_check(fs, words + 5);
	if (strcmp(words, "rescan") == 0)
		engine_rescan(fs->engine);
	else if (strcmp(words, "pause") == 0 || strcmp(words, "resume") == 0)
		engine_pause(fs->engine, words[0] == 'p');
	else
		return EINVAL;
	return 0;
}

void xattr_derived_set(fuse_req_t req, struct fs *fs, struct inode *inode,
		       const char *name, const char *value, size_t size,
		       int flags)
{
	int err = fs->options.xattrs == XATTRS_STRICT ? EPERM : 0;

	(void)flags;
	if (strcmp(name, CONTROL) == 0 && inode == fs->root)
		err = control(req, fs, value, size);
	fuse_reply_err(req, err);
}

void xattr_derived_remove(fuse_req_t req, struct fs *fs, struct inode *inode,
			  const char *name)
{
	(void)inode;
	(void)name;
	fuse_reply_err(req, fs->options.xattrs == XATTRS_STRICT ? EPERM : 0);
}
