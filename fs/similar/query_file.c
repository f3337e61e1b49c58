/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/query_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/engine/engine.h"
#include "core/engine/query_ioctl.h"
#include "fs/inode/cred.h"
#include "fs/similar/node.h"
#include "fs/fs.h"
#include "fs/ops/reply.h"
#include "fs/similar/changes_answer.h"
#include "fs/similar/groups_answer.h"
#include "fs/similar/query_text.h"
#include "fs/similar/listing_query.h"

#define QUERY_TEXT_MAX ((size_t)128 << 10)

/*
 * An open .query.  It lives until it is closed and the engine works on no query
 * for it.  turn is incremented by each write, and by each query to the engine.
 * An answer for an earlier turn is dropped: the query was replaced, or repeated
 * because the first reader was interrupted.
 */
struct query_file {
	struct opened opened;        /* first: it is cast to the query */
	struct search_caller caller; /* the caller of open(); constant */
	pthread_mutex_t lock;        /* everything below */
	unsigned refs;
	uint64_t turn;
	struct buf text; /* of the query */
	bool answered;
	struct buf answer;
	size_t taken; /* bytes of answer that were read */
	/* The answer to a query for groups or changes, instead of the above;
	 * NULL: it is another query, or was not read yet. */
	struct answer *made;
};

/* A parked read request. */
struct query_read_call {
	struct park park;
	struct fs *fs;
	struct query_file *query; /* holds a reference */
	uint64_t turn;
	size_t size;
	enum index_relation relation;
};

static struct query_file *query_of(const struct fuse_file_info *fi)
{
	return (struct query_file *)(uintptr_t)fi->fh;
}

/* ---- life ---- */

static int take_place(struct fs *fs, uid_t uid)
{
	uint64_t turn;
	int err;

	pthread_mutex_lock(&fs->similar->lock);
	err = share_take(&fs->similar->queries, uid, &turn);
	pthread_mutex_unlock(&fs->similar->lock);
	return err;
}

static void give_place(struct fs *fs, uid_t uid)
{
	pthread_mutex_lock(&fs->similar->lock);
	share_give(&fs->similar->queries, uid);
	pthread_mutex_unlock(&fs->similar->lock);
}

static void drop_made(struct query_file *q)
{
	if (q->made)
		answer_cancel(q->made);
	answer_unref(q->made);
	q->made = NULL;
}

static void query_unref(struct fs *fs, struct query_file *q)
{
	bool last;

	pthread_mutex_lock(&q->lock);
	last = --q->refs == 0;
	pthread_mutex_unlock(&q->lock);
	if (!last)
		return;
	give_place(fs, q->caller.credentials.uid);
	drop_made(q);
	credentials_release(&q->caller.credentials);
	pthread_mutex_destroy(&q->lock);
	buf_release(&q->text);
	buf_release(&q->answer);
	free(q);
}

static void query_closed(struct fs *fs, struct opened *o)
{
	query_unref(fs, (struct query_file *)o);
}

static int query_new(fuse_req_t req, struct fs *fs, struct query_file **out)
{
	struct query_file *q = calloc(1, sizeof(*q));
	int err = q ? similar_caller(fs, req, &q->caller) : -ENOMEM;

	if (!err) {
		err = take_place(fs, q->caller.credentials.uid);
		if (err)
			credentials_release(&q->caller.credentials);
	}
	if (err) {
		free(q);
		return err;
	}
	q->opened.close = query_closed;
	q->refs = 1;
	pthread_mutex_init(&q->lock, NULL);
	*out = q;
	return 0;
}

void query_open(fuse_req_t req, struct fs *fs, struct fuse_file_info *fi)
{
	struct query_file *q = NULL;
	int err = -EINVAL;

	if ((fi->flags & O_ACCMODE) != O_WRONLY)
		err = query_new(req, fs, &q);
	if (err) {
		reply_error(req, err);
		return;
	}
	opened_add(fs, &q->opened);
	fi->fh = (uint64_t)(uintptr_t)q;
	fi->direct_io = 1;
	fi->nonseekable = 1;
	if (fuse_reply_open(req, fi) == -ENOENT)
		opened_close(fs, &q->opened);
}

void query_release(struct fs *fs, const struct fuse_file_info *fi)
{
	opened_close(fs, &query_of(fi)->opened);
}

/* ---- the query ---- */

/* Drops the query and its answer.  The caller holds the lock. */
static void drop_query(struct query_file *q)
{
	q->turn++;
	q->answered = false;
	q->taken = 0;
	drop_made(q);
	buf_release(&q->text);
	buf_release(&q->answer);
}

/*
 * The descriptor may have been passed to another process, which may be
 * privileged (standard input of a set-user-ID program).  So the file can be
 * read and written only with the credentials of open().
 */
static bool is_opener(fuse_req_t req, const struct query_file *q)
{
	return cred_is(fs_of(req), req, &q->caller.credentials);
}

static int append_text(struct query_file *q, const char *text, size_t len)
{
	int err = -EFBIG;

	pthread_mutex_lock(&q->lock);
	if (q->answered)
		drop_query(q);
	q->turn++;
	if (len <= QUERY_TEXT_MAX - q->text.len)
		err = buf_append(&q->text, text, len);
	pthread_mutex_unlock(&q->lock);
	return err;
}

void query_write(fuse_req_t req, struct fuse_bufvec *in,
		 const struct fuse_file_info *fi)
{
	size_t size = fuse_buf_size(in);
	struct fuse_bufvec copy = FUSE_BUFVEC_INIT(size);
	ssize_t len = -EFBIG;
	int err;

	if (!is_opener(req, query_of(fi))) {
		reply_error(req, -EACCES);
		return;
	}
	copy.buf[0].mem = size <= QUERY_TEXT_MAX ? malloc(size + 1) : NULL;
	if (copy.buf[0].mem)
		len = fuse_buf_copy(&copy, in, 0);
	else if (size <= QUERY_TEXT_MAX)
		len = -ENOMEM;
	err = len < 0 ? (int)len :
			append_text(query_of(fi), copy.buf[0].mem, (size_t)len);
	free(copy.buf[0].mem);
	if (err)
		reply_error(req, err);
	else
		fuse_reply_write(req, (size_t)len);
}

bool query_ioctl(fuse_req_t req, unsigned command, const void *in,
		 size_t in_size, const struct fuse_file_info *fi)
{
	int err;

	if (in_size > QUERY_PIECE_MAX ||
	    command != (unsigned)QUERY_IOCTL(in_size))
		return false;
	err = is_opener(req, query_of(fi)) ?
		      append_text(query_of(fi), in, in_size) :
		      -EACCES;
	if (err)
		reply_error(req, err);
	else
		fuse_reply_ioctl(req, 0, NULL, 0);
	return true;
}

/* ---- the answer ---- */

static int make_answer(const struct search_hits *hits,
		       enum index_relation relation, struct buf *out)
{
	int err = 0;
	size_t i;

	for (i = 0; i < hits->count && !err; i++)
		err = query_text_add_hit(&hits->hits[i], relation, out);
	return err ? err : query_text_add_end(hits->cut, hits->incomplete, out);
}

/* Replies with the next part of the answer. */
static void reply_piece(fuse_req_t req, struct query_file *q, size_t size)
{
	char *piece = NULL;
	size_t len;
	int err;

	pthread_mutex_lock(&q->lock);
	err = buf_copy_piece(&q->answer, &q->taken, size, &piece, &len);
	pthread_mutex_unlock(&q->lock);
	if (err)
		reply_error(req, err);
	else
		fuse_reply_buf(req, piece, len);
	free(piece);
}

static void call_free(struct query_read_call *c)
{
	query_unref(c->fs, c->query);
	free(c);
}

/* Takes answer. */
static int keep_answer(struct query_read_call *c, struct buf *answer)
{
	struct query_file *q = c->query;
	int err = -ECANCELED;

	pthread_mutex_lock(&q->lock);
	if (q->turn == c->turn) {
		buf_release(&q->answer);
		q->answer = *answer;
		*answer = (struct buf){ 0 };
		q->answered = true;
		q->taken = 0;
		err = 0;
	}
	pthread_mutex_unlock(&q->lock);
	buf_release(answer);
	return err;
}

static void call_end(struct query_read_call *c, int err)
{
	if (park_claim(&c->park)) {
		if (err)
			reply_error(c->park.req, err);
		else
			reply_piece(c->park.req, c->query, c->size);
	}
	call_free(c);
}

static void on_hits(void *arg, int result, struct search_hits *hits)
{
	struct query_read_call *c = arg;
	struct buf answer = { 0 };
	int err = result;

	if (!err)
		err = make_answer(hits, c->relation, &answer);
	search_hits_release(hits);
	if (err)
		buf_release(&answer);
	else
		err = keep_answer(c, &answer);
	call_end(c, err);
}

/* ---- querying the engine ---- */

/* The caller holds the lock. */
static struct query_read_call *call_new(fuse_req_t req, struct query_file *q,
					size_t size)
{
	struct query_read_call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fs = fs_of(req);
	c->park.engine = c->fs->engine;
	c->query = q;
	q->refs++;
	c->turn = ++q->turn;
	c->size = size;
	return c;
}

/* Parses the query; drops it if it is not valid.  *out: the call of a query
 * about a content; NULL: it is one for groups or changes, which is started.
 * The caller holds the lock. */
static int begin_query(fuse_req_t req, struct query_file *q, size_t size,
		       struct query_text *query_out,
		       struct query_read_call **out)
{
	struct query_text query;
	int err = query_text_parse(q->text.data, q->text.len, &query);

	*out = NULL;
	if (err == -EINVAL)
		drop_query(q);
	if (err)
		return err;
	if (query.kind != QUERY_CONTENT) {
		err = query.kind == QUERY_GROUPS ?
			      groups_answer_new(fs_of(req), &q->caller,
						&query.groups, &q->made) :
			      changes_answer_new(fs_of(req), &q->caller,
						 &query.groups.within,
						 &q->made);
		if (err)
			drop_query(q);
		else
			q->answered = true;
	} else {
		*out = call_new(req, q, size);
		err = *out ? 0 : -ENOMEM;
	}
	if (err)
		query_text_release(&query);
	else
		*query_out = query;
	return err;
}

static void query_engine(fuse_req_t req, struct query_file *q,
			 const struct query_text *query,
			 struct query_read_call *c)
{
	int err;

	c->relation = query->relation;
	if (!park_begin(&c->park, req)) {
		call_free(c);
		return;
	}
	err = engine_similar_to(c->fs->engine, &query->digests, query->relation,
				&q->caller, on_hits, c);
	if (err)
		call_end(c, err);
}

void query_read(fuse_req_t req, size_t size, const struct fuse_file_info *fi)
{
	struct query_file *q = query_of(fi);
	struct query_read_call *call = NULL;
	struct answer *made;
	struct query_text query = { 0 };
	int err = 0;

	if (!is_opener(req, q)) {
		reply_error(req, -EACCES);
		return;
	}
	pthread_mutex_lock(&q->lock);
	if (!q->answered)
		err = begin_query(req, q, size, &query, &call);
	made = q->made;
	if (made)
		answer_ref(made);
	pthread_mutex_unlock(&q->lock);
	if (err)
		reply_error(req, err);
	else if (call)
		query_engine(req, q, &query, call);
	else if (made)
		answer_read(req, made, size);
	else
		reply_piece(req, q, size);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): of two references */
	answer_unref(made);
	query_text_release(&query);
}
