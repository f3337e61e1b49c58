/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/similar_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/engine/engine.h"
#include "core/engine/query_ioctl.h"
#include "fs/fs.h"
#include "fs/inode/cred.h"
#include "fs/inode/descriptor.h"
#include "fs/ops/reply.h"
#include "fs/ops/xattr.h"
#include "fs/similar/query_text.h"

#define QUERY_TEXT_MAX ((size_t)128 << 10)

/* Bytes of an answer that are made before they are read. */
enum { FILES_AHEAD = 1 << 17, CHANGES_AHEAD = 1 << 16 };

/* A parked read request, and its reply. */
struct query_read {
	struct park park;
	size_t size, len;
	char *piece; /* owned */
	int err;
};

/*
 * An open .query.  The first read has a job of the engine make the answer.  The
 * job waits while there is enough text that nobody has read yet, so an answer of
 * any length takes little memory.
 *
 * The open file has a reference, the job has one, and a read until it is answered
 * or waits.  At most one read waits.
 */
struct query_file {
	struct opened opened; /* first: it is cast to the query */
	struct fs *fs;
	struct search_caller caller; /* the caller of open(); constant */
	atomic_uint refs;
	atomic_bool cancelled; /* the file was closed, or the mount ends */
	pthread_mutex_t lock;  /* everything below */
	pthread_cond_t wake;   /* of the job: a read, or cancelled */
	struct buf query;
	struct search_held held_query;   /* for query */
	bool asked;                      /* there was a job for the query */
	bool busy;                       /* it has not ended */
	struct buf text;                 /* that was made and not yet read */
	struct search_held held;         /* for text */
	int err;                         /* returned to the reader after text */
	struct query_read *reader;       /* owned; NULL: no read waits */
	struct changes_watcher *watcher; /* of a job that takes changes */
};

static void query_unref(struct query_file *q)
{
	if (atomic_fetch_sub(&q->refs, 1) != 1)
		return;
	credentials_release(&q->caller.credentials);
	pthread_cond_destroy(&q->wake);
	pthread_mutex_destroy(&q->lock);
	buf_release(&q->query);
	buf_release(&q->text);
	search_held_release(&q->held);
	search_held_release(&q->held_query);
	free(q->reader); /* it was interrupted */
	free(q);
}

/* ---- replies ---- */

/* Appends to what counts as held for the user. */
static int append_held(struct buf *to, struct search_held *held, uid_t uid,
		       const void *data, size_t len)
{
	int err = search_hold(held, uid, len);

	return err ? err : buf_append(to, data, len);
}

static int append_answer(struct query_file *q, const struct buf *made)
{
	return append_held(&q->text, &q->held, q->caller.credentials.uid,
			   made->data, made->len);
}

/* Takes the read that waits, with text, the end or the error, if there are any;
 * else NULL.  The caller holds the lock, and calls reply_read() without it. */
static struct query_read *take_read(struct query_file *q)
{
	struct query_read *r = q->reader;

	if (!r || !(q->text.len || (q->asked && !q->busy)))
		return NULL;
	q->reader = NULL;
	if (!park_claim(&r->park)) {
		free(r);
		return NULL;
	}
	r->len = q->text.len < r->size ? q->text.len : r->size;
	r->piece = malloc(r->len + 1);
	r->err = !r->piece ? -ENOMEM : r->len ? 0 : q->err;
	if (r->piece && r->len) {
		memcpy(r->piece, q->text.data, r->len);
		q->text.len -= r->len;
		if (q->held.bytes > q->text.len) /* progress is not held */
			search_let_go(&q->held, q->held.bytes - q->text.len);
		memmove(q->text.data, q->text.data + r->len, q->text.len);
	}
	if (!q->text.len)
		buf_release(&q->text);
	return r;
}

static void reply_read(struct query_read *r)
{
	if (!r)
		return;
	if (r->err)
		reply_error(r->park.req, r->err);
	else
		fuse_reply_buf(r->park.req, r->piece, r->len);
	free(r->piece);
	free(r);
}

/* ---- the job ---- */

/* Gives what was made to the reader, and waits while there are that many bytes to
 * be read.  -ECANCELED. */
static int hand_out(struct query_file *q, struct buf *made, size_t ahead)
{
	struct query_read *r;
	int err;

	pthread_mutex_lock(&q->lock);
	err = made->len ? append_answer(q, made) : 0;
	made->len = 0;
	r = take_read(q);
	pthread_mutex_unlock(&q->lock);
	reply_read(r);
	pthread_mutex_lock(&q->lock);
	while (q->text.len >= ahead && !atomic_load(&q->cancelled))
		pthread_cond_wait(&q->wake, &q->lock);
	pthread_mutex_unlock(&q->lock);
	return err ? err : atomic_load(&q->cancelled) ? -ECANCELED : 0;
}

/* Asks about the file or the directory at a path, or a content. */
static int find_hits(struct query_file *q, struct search_job *job,
		     const struct question *question, struct search_hits *out)
{
	const bool directories = question->kind == QUESTION_DIRECTORIES;
	struct search_file_query asked = {
		.fd = -1,
		.digests = question->path ? NULL : &question->digests,
		.rules = question->rules,
		.limit = question->limit,
		.ignore = question->ignore,
		.with = question->with,
		.base = question->kind == QUESTION_BASE,
		.timeout_ms = q->fs->options.wait_s * 1000,
	};
	struct stat st;
	int err = 0;

	if (question->path) {
		asked.fd = search_open(job, question->path);
		if (asked.fd < 0)
			return asked.fd;
		if (fstat(asked.fd, &st))
			err = -errno;
		else if (!(directories ? S_ISDIR(st.st_mode) :
					 S_ISREG(st.st_mode)))
			err = directories ? -ENOTDIR : -EISDIR;
	}
	if (!err && directories)
		err = search_directories(job, asked.fd, question->with, out);
	else if (!err)
		err = search_file(job, &asked, out);
	if (asked.fd >= 0)
		close(asked.fd);
	return err;
}

static int answer_question(struct query_file *q, struct search_job *job,
			   const struct question *question, struct buf *out)
{
	struct search_hits hits;
	struct buf state = { 0 };
	size_t i;
	int err = find_hits(q, job, question, &hits);

	if (err)
		return err;
	for (i = 0; !err && i < hits.count; i++) {
		err = query_text_add_hit(&hits.hits[i], out);
		if (!err && out->len >= FILES_AHEAD)
			err = hand_out(q, out, FILES_AHEAD);
	}
	if (!err && hits.file.state != DIGESTS_FRESH)
		err = xattr_format_state(&hits.file, &state);
	if (!err)
		err = query_text_add_end(hits.cut, hits.incomplete, 0, 0,
					 state.data, out);
	buf_release(&state);
	search_hits_release(&hits);
	return err;
}

/* Adds progress only if all text was read, because only the latest matters. */
static void on_progress(void *arg, unsigned thousandths)
{
	struct query_file *q = arg;
	struct query_read *r;

	pthread_mutex_lock(&q->lock);
	if (!q->text.len &&
	    buf_append_format(&q->text, "{\"progress\":%u}\n", thousandths))
		buf_release(&q->text);
	r = take_read(q);
	pthread_mutex_unlock(&q->lock);
	reply_read(r);
}

static int answer_groups(struct query_file *q, struct search_job *job,
			 struct query_text *query, struct buf *out)
{
	struct search_group_range range = { .last = UINT32_MAX, .names = true };
	struct file_groups *groups;
	struct search_hits hits;
	int err;

	query->groups.cancelled = &q->cancelled;
	query->groups.progress = on_progress;
	query->groups.arg = q;
	err = search_groups(job, &query->groups, &groups);
	if (err)
		return err;
	err = buf_append_format(out, "{\"threshold\":%d,\"groups\":%zu}\n",
				groups->set->rules.threshold,
				groups->set->count);
	while (!err && !range.end) {
		err = hand_out(q, out, FILES_AHEAD);
		if (!err)
			err = search_group_files(job, groups, &range, &hits);
		if (!err) {
			err = query_text_add_files(&hits, out);
			search_hits_release(&hits);
		}
	}
	if (!err)
		err = query_text_add_end(false, groups->incomplete,
					 groups->failed, groups->failed_texts,
					 NULL, out);
	file_groups_free(groups);
	return err;
}

static void set_watcher(struct query_file *q, struct changes_watcher *watcher)
{
	pthread_mutex_lock(&q->lock);
	q->watcher = watcher;
	if (watcher && atomic_load(&q->cancelled))
		changes_cancel(watcher);
	pthread_mutex_unlock(&q->lock);
}

/* What is not read stays with the watcher, which merges it. */
static int answer_changes(struct query_file *q, struct query_text *query,
			  struct buf *out)
{
	struct changes_watcher *watcher;
	struct content_change change;
	char cursor[CHANGES_CURSOR];
	int got, err = engine_watch_changes(q->fs->engine, &q->caller,
					    &query->groups.within, query->since,
					    &watcher);

	if (err)
		return err;
	set_watcher(q, watcher);
	changes_cursor(watcher, cursor);
	err = query_text_add_watching(cursor, out);
	while (!err && !(err = hand_out(q, out, SIZE_MAX)) &&
	       !(err = changes_wait(watcher))) {
		while (!err && out->len < CHANGES_AHEAD &&
		       (got = changes_take(watcher, &change))) {
			err = got < 0 ? got :
					query_text_add_change(&change, out);
			content_change_release(&change);
		}
	}
	set_watcher(q, NULL);
	changes_end(watcher);
	return err == -ECANCELED ?
		       query_text_add_end(false, false, 0, 0, NULL, out) :
		       err;
}

static void query_run(void *arg, struct search_job *job)
{
	struct query_file *q = arg;
	struct query_text query;
	struct query_read *r;
	struct buf rest = { 0 };
	int err = query_text_parse(q->query.data, q->query.len, &query);

	if (!err) {
		if (query.kind == QUERY_QUESTION)
			err = answer_question(q, job, &query.question, &rest);
		else if (query.kind == QUERY_GROUPS)
			err = answer_groups(q, job, &query, &rest);
		else
			err = answer_changes(q, &query, &rest);
		query_text_release(&query);
	}
	pthread_mutex_lock(&q->lock);
	if (!err && rest.len)
		err = append_answer(q, &rest);
	q->err = err;
	q->busy = false;
	r = take_read(q);
	pthread_mutex_unlock(&q->lock);
	reply_read(r);
	buf_release(&rest);
	query_unref(q);
}

/* ---- the open file ---- */

static struct query_file *query_of(const struct fuse_file_info *fi)
{
	return (struct query_file *)opened_of(fi);
}

int similar_caller(struct fs *fs, fuse_req_t req, struct search_caller *out)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	*out = (struct search_caller){
		.trusted = cred_owns_mount(fs, req),
		.credentials = { .uid = ctx->uid, .gid = ctx->gid },
	};
	return out->trusted ? 0 : cred_of(req, &out->credentials);
}

static void cancel(struct query_file *q)
{
	pthread_mutex_lock(&q->lock);
	atomic_store(&q->cancelled, true);
	pthread_cond_signal(&q->wake);
	if (q->watcher)
		changes_cancel(q->watcher);
	pthread_mutex_unlock(&q->lock);
}

static void opened_free(struct opened *o)
{
	struct query_file *q = (struct query_file *)o;

	if (o->listing) {
		listing_unref(o->listing);
		free(o);
	} else {
		cancel(q);
		query_unref(q);
	}
}

void opened_reply(fuse_req_t req, struct fs *fs, struct opened *o,
		  struct fuse_file_info *fi)
{
	int err;

	o->uid = fuse_req_ctx(req)->uid;
	err = share_take(o->uid);
	if (err) {
		opened_free(o);
		reply_error(req, err);
		return;
	}
	pthread_mutex_lock(&fs->similar->lock);
	LIST_INSERT_HEAD(&fs->similar->opened, o, entry);
	if (fs->similar->queries_end && !o->listing)
		cancel((struct query_file *)o);
	pthread_mutex_unlock(&fs->similar->lock);
	fi->fh = (uint64_t)(uintptr_t)o;
	if (fuse_reply_open(req, fi) == -ENOENT)
		opened_close(fs, o);
}

void opened_cancel_all(struct fs *fs)
{
	struct opened *o;

	pthread_mutex_lock(&fs->similar->lock);
	fs->similar->queries_end = true;
	LIST_FOREACH(o, &fs->similar->opened, entry)
		if (!o->listing)
			cancel((struct query_file *)o);
	pthread_mutex_unlock(&fs->similar->lock);
}

void opened_close(struct fs *fs, struct opened *o)
{
	pthread_mutex_lock(&fs->similar->lock);
	LIST_REMOVE(o, entry);
	pthread_mutex_unlock(&fs->similar->lock);
	share_give(o->uid);
	opened_free(o);
}

void query_open(fuse_req_t req, struct fs *fs, struct fuse_file_info *fi)
{
	struct query_file *q = NULL;
	int err = -EINVAL;

	if ((fi->flags & O_ACCMODE) != O_WRONLY) {
		q = calloc(1, sizeof(*q));
		err = q ? similar_caller(fs, req, &q->caller) : -ENOMEM;
	}
	if (err) {
		free(q);
		reply_error(req, err);
		return;
	}
	q->fs = fs;
	atomic_init(&q->refs, 1);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->wake, NULL);
	fi->direct_io = 1;
	fi->nonseekable = 1;
	opened_reply(req, fs, &q->opened, fi);
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

/* The first write after an answer begins another query. */
static int append_text(struct query_file *q, const char *text, size_t len)
{
	int err = -EBUSY;

	pthread_mutex_lock(&q->lock);
	if (q->asked && !q->busy) {
		buf_release(&q->query);
		buf_release(&q->text);
		search_held_release(&q->held);
		search_held_release(&q->held_query);
		q->asked = false;
	}
	if (!q->asked && len > QUERY_TEXT_MAX - q->query.len)
		err = -EFBIG;
	else if (!q->asked)
		err = append_held(&q->query, &q->held_query,
				  q->caller.credentials.uid, text, len);
	pthread_mutex_unlock(&q->lock);
	return err;
}

void query_write(fuse_req_t req, fuse_ino_t id, struct fuse_bufvec *in,
		 off_t off, struct fuse_file_info *fi)
{
	size_t size = fuse_buf_size(in);
	struct fuse_bufvec copy = FUSE_BUFVEC_INIT(size);
	ssize_t len = -EFBIG;
	int err;

	(void)id;
	(void)off;
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

void query_ioctl(fuse_req_t req, fuse_ino_t id, unsigned command, void *arg,
		 struct fuse_file_info *fi, unsigned flags, const void *in,
		 size_t in_size, size_t out_size)
{
	int err = -ENOTTY;

	(void)id;
	(void)arg;
	(void)out_size;
	if (!(flags & FUSE_IOCTL_DIR) && in_size <= QUERY_PIECE_MAX &&
	    command == (unsigned)QUERY_IOCTL(in_size))
		err = is_opener(req, query_of(fi)) ?
			      append_text(query_of(fi), in, in_size) :
			      -EACCES;
	if (err)
		reply_error(req, err);
	else
		fuse_reply_ioctl(req, 0, NULL, 0);
}

/* Has a job begin the answer.  The caller holds the lock. */
static void ask_query(struct query_file *q)
{
	q->asked = q->busy = true;
	atomic_fetch_add(&q->refs, 1);
	q->err = search_start_job(engine_searcher(q->fs->engine), &q->caller,
				  query_run, q);
	if (q->err) {
		atomic_fetch_sub(&q->refs, 1);
		q->busy = false;
	}
}

void query_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
		struct fuse_file_info *fi)
{
	struct query_file *q = query_of(fi);
	struct query_read *r, *earlier;

	(void)id;
	(void)off;
	if (!is_opener(req, q)) {
		reply_error(req, -EACCES);
		return;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		reply_error(req, -ENOMEM);
		return;
	}
	r->park.engine = q->fs->engine;
	r->size = size;
	/* The file may be closed as soon as the read is answered or
	 * interrupted. */
	atomic_fetch_add(&q->refs, 1);
	if (!park_begin(&r->park, req)) {
		free(r);
		query_unref(q);
		return;
	}
	pthread_mutex_lock(&q->lock);
	earlier = q->reader;
	q->reader = r;
	if (!q->asked)
		ask_query(q);
	r = take_read(q);
	if (q->reader && q->watcher)
		changes_ask(q->watcher);
	pthread_cond_signal(&q->wake);
	pthread_mutex_unlock(&q->lock);
	/* Of two reads that wait, the earlier one fails. */
	if (earlier && park_claim(&earlier->park))
		reply_error(earlier->park.req, -EAGAIN);
	free(earlier);
	reply_read(r);
	query_unref(q);
}
