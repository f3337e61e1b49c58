/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fs.h"
#include "fs/ops/reply.h"

/* A parked read request. */
struct answer_read {
	struct park park;
	size_t size;
};

/* ---- life ---- */

void answer_init(struct answer *a, struct fs *fs,
		 const struct answer_kind *kind, unsigned refs)
{
	a->kind = kind;
	a->fs = fs;
	a->refs = refs;
	pthread_mutex_init(&a->lock, NULL);
}

void answer_ref(struct answer *a)
{
	pthread_mutex_lock(&a->lock);
	a->refs++;
	pthread_mutex_unlock(&a->lock);
}

void answer_unref(struct answer *a)
{
	struct answer_read *r;
	bool last;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	last = --a->refs == 0;
	pthread_mutex_unlock(&a->lock);
	if (!last)
		return;
	/* This read was interrupted; otherwise it would have a reference. */
	r = a->reader;
	if (r && park_claim(&r->park))
		reply_error(r->park.req, -EINTR);
	free(r);
	pthread_mutex_destroy(&a->lock);
	buf_release(&a->text);
	a->kind->release(a);
}

void answer_cancel(struct answer *a)
{
	a->kind->cancel(a);
}

/* ---- reading text ---- */

/* Whether a read can be answered now.  The caller holds the lock. */
static bool is_ready(const struct answer *a)
{
	return a->taken < a->text.len || a->ended || a->err;
}

/* Frees the text that was read.  The caller holds the lock. */
static void drop_taken(struct answer *a)
{
	size_t left = a->text.len - a->taken;

	if (!left)
		buf_release(&a->text);
	if (left > a->taken)
		return;
	if (left)
		memmove(a->text.data, a->text.data + a->taken, left);
	a->text.len = left;
	a->taken = 0;
}

/* Replies with text, the end or the error; is_ready() is true. */
static void reply_piece(fuse_req_t req, struct answer *a, size_t size)
{
	char *piece = NULL;
	size_t len;
	int err;

	pthread_mutex_lock(&a->lock);
	err = buf_copy_piece(&a->text, &a->taken, size, &piece, &len);
	if (!err && !len)
		err = a->err;
	drop_taken(a);
	pthread_mutex_unlock(&a->lock);
	if (err)
		reply_error(req, err);
	else
		fuse_reply_buf(req, piece, len);
	free(piece);
}

void answer_tell(struct answer *a)
{
	struct answer_read *r = NULL;

	pthread_mutex_lock(&a->lock);
	if (is_ready(a)) {
		r = a->reader;
		a->reader = NULL;
	}
	pthread_mutex_unlock(&a->lock);
	if (r && park_claim(&r->park))
		reply_piece(r->park.req, a, r->size);
	free(r);
}

/* If two reads wait, the earlier one gets -EAGAIN. */
static void set_reader(struct answer *a, struct answer_read *r)
{
	struct answer_read *before;

	pthread_mutex_lock(&a->lock);
	before = a->reader;
	a->reader = r;
	pthread_mutex_unlock(&a->lock);
	if (before && park_claim(&before->park))
		reply_error(before->park.req, -EAGAIN);
	free(before);
}

void answer_read(fuse_req_t req, struct answer *a, size_t size)
{
	struct answer_read *r;
	bool ready;

	pthread_mutex_lock(&a->lock);
	ready = is_ready(a);
	pthread_mutex_unlock(&a->lock);
	if (ready) {
		reply_piece(req, a, size);
		a->kind->want(a);
		return;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		reply_error(req, -ENOMEM);
		return;
	}
	r->park.engine = a->fs->engine;
	r->size = size;
	if (!park_begin(&r->park, req)) {
		free(r);
		return;
	}
	set_reader(a, r);
	a->kind->want(a);
	/* Text may have been added since is_ready(). */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): two references */
	answer_tell(a);
}
