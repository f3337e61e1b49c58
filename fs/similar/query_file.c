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
#include "fs/fs.h"
#include "fs/inode/cred.h"
#include "fs/ops/reply.h"
#include "fs/similar/listing_query.h"
#include "fs/similar/node.h"
#include "fs/similar/query_text.h"

#define QUERY_TEXT_MAX ((size_t)128 << 10)

/* Bytes of an answer that are made before they are read. */
enum { FILES_AHEAD = 1 << 20, CHANGES_AHEAD = 1 << 16 };

/* A parked read request. */
struct query_read {
	struct park park;
	size_t size;
};

/*
 * The answer to a query.  That to a query for groups is made while it is read: a
 * job of the engine finds the next files when most of the earlier ones have been
 * read, so an answer of any length takes little memory.
 *
 * The open file has a reference, each read has one, and a job has one.  At most
 * one job and one read wait at a time.
 */
struct query_answer {
	struct fs *fs;
	struct search_caller caller;     /* constant; owned */
	struct query_text query;         /* constant; owned */
	struct changes_watcher *watcher; /* constant; of changes */
	atomic_bool cancelled;
	pthread_mutex_t lock; /* everything below */
	unsigned refs;
	struct buf text;           /* that was made and not yet read */
	struct query_read *reader; /* owned; NULL: no read waits */
	bool is_searching;         /* a job of the engine makes text */
	/* The job's: a reference, NULL: not found yet; and where to go on. */
	struct file_groups *groups;
	struct search_group_range range;
	bool ended; /* text is complete */
	int err;    /* returned to the reader after text */
};

/* An open .query. */
struct query_file {
	struct opened opened;        /* first: it is cast to the query */
	struct search_caller caller; /* the caller of open(); constant */
	pthread_mutex_t lock;        /* everything below */
	struct buf text;             /* of the query */
	struct query_answer *answer; /* a reference; NULL: not asked for yet */
};

/* ---- the life of an answer ---- */

static void answer_unref(struct query_answer *a)
{
	bool last;

	pthread_mutex_lock(&a->lock);
	last = --a->refs == 0;
	pthread_mutex_unlock(&a->lock);
	if (!last)
		return;
	credentials_release(&a->caller.credentials);
	query_text_release(&a->query);
	file_groups_free(a->groups);
	pthread_mutex_destroy(&a->lock);
	if (a->watcher)
		changes_end(a->watcher);
	buf_release(&a->text);
	/* This read was interrupted; otherwise it would have a reference. */
	if (a->reader && park_claim(&a->reader->park))
		reply_error(a->reader->park.req, -EINTR);
	free(a->reader);
	free(a);
}

/* ---- reading an answer ---- */

/* Whether a read can be answered now.  The caller holds the lock. */
static bool is_ready(const struct query_answer *a)
{
	return a->text.len || a->ended || a->err;
}

/* Replies with text, the end or the error, and drops the text that was read. */
static void reply_piece(fuse_req_t req, struct query_answer *a, size_t size)
{
	char *piece = NULL;
	size_t len;
	int err;

	pthread_mutex_lock(&a->lock);
	len = a->text.len < size ? a->text.len : size;
	if (len)
		piece = malloc(len);
	err = piece ? 0 : len ? -ENOMEM : a->err;
	if (piece) {
		memcpy(piece, a->text.data, len);
		a->text.len -= len;
		memmove(a->text.data, a->text.data + len, a->text.len);
	}
	if (!a->text.len)
		buf_release(&a->text);
	pthread_mutex_unlock(&a->lock);
	if (err)
		reply_error(req, err);
	else
		fuse_reply_buf(req, piece, len);
	free(piece);
}

/* Answers the parked read, if there is one and it can be answered. */
static void answer_reader(struct query_answer *a)
{
	struct query_read *r = NULL;

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

/* ---- jobs ---- */

static int add_hits(struct query_answer *a, struct search_job *job)
{
	const struct query_text *query = &a->query;
	struct search_hits hits;
	size_t i;
	int err = search_content(
		job,
		&(struct search_content_query){
			.digests = &query->digests,
			.rules = query->rules,
			.limit = query->limit,
			.ignore = query->ignore,
			.timeout_ms = a->fs->options.wait_s * 1000 },
		&hits);

	if (err)
		return err;
	pthread_mutex_lock(&a->lock);
	for (i = 0; !err && i < hits.count; i++)
		err = query_text_add_hit(&hits.hits[i], query->rules.relation,
					 &a->text);
	if (!err)
		err = query_text_add_end(hits.cut, hits.incomplete, &a->text);
	if (err)
		buf_release(&a->text);
	a->ended = !err;
	pthread_mutex_unlock(&a->lock);
	search_hits_release(&hits);
	return err;
}

/* Adds progress only if all text was read, because only the latest matters. */
static void on_progress(void *arg, unsigned thousandths)
{
	struct query_answer *a = arg;

	pthread_mutex_lock(&a->lock);
	if (!a->text.len &&
	    buf_append_format(&a->text, "{\"progress\":%u}\n", thousandths))
		buf_release(&a->text);
	pthread_mutex_unlock(&a->lock);
	answer_reader(a);
}

static int find_groups(struct query_answer *a, struct search_job *job)
{
	int err = search_groups(job, &a->query.groups, &a->groups);

	if (err)
		return err;
	a->range = (struct search_group_range){ .last = UINT32_MAX,
						.names = true };
	pthread_mutex_lock(&a->lock);
	err = buf_append_format(&a->text, "{\"threshold\":%d,\"groups\":%zu}\n",
				a->groups->set->rules.threshold,
				a->groups->set->count);
	pthread_mutex_unlock(&a->lock);
	return err;
}

static int add_files(struct query_answer *a, struct search_job *job)
{
	struct search_hits hits;
	int err = search_group_files(job, a->groups, &a->range, &hits);

	if (err)
		return err;
	pthread_mutex_lock(&a->lock);
	err = query_text_add_files(&hits, &a->text);
	if (!err && a->range.end)
		err = query_text_add_end(false, a->groups->incomplete,
					 &a->text);
	a->ended = !err && a->range.end;
	pthread_mutex_unlock(&a->lock);
	search_hits_release(&hits);
	return err;
}

/* Whether there is little text, and may be more.  The caller holds the lock. */
static bool wants_text(const struct query_answer *a)
{
	return !a->ended && !a->err && a->text.len < FILES_AHEAD;
}

static void answer_run(void *answer, struct search_job *job)
{
	struct query_answer *a = answer;
	bool more = true;
	int err;

	while (more) {
		if (atomic_load(&a->cancelled))
			err = -ECANCELED;
		else if (a->query.kind == QUERY_CONTENT)
			err = add_hits(a, job);
		else
			err = a->groups ? add_files(a, job) :
					  find_groups(a, job);
		pthread_mutex_lock(&a->lock);
		a->err = err;
		more = wants_text(a);
		a->is_searching = more;
		pthread_mutex_unlock(&a->lock);
		answer_reader(a);
	}
	answer_unref(a);
}

/* Has a job add text, if there is none that does and little text is left. */
static int start_job(struct query_answer *a)
{
	bool starts;
	int err;

	pthread_mutex_lock(&a->lock);
	starts = !a->is_searching && wants_text(a);
	if (starts) {
		a->is_searching = true;
		a->refs++;
	}
	pthread_mutex_unlock(&a->lock);
	if (!starts)
		return 0;
	err = search_start_job(engine_searcher(a->fs->engine), &a->caller,
			       answer_run, a);
	if (!err)
		return 0;
	pthread_mutex_lock(&a->lock);
	a->is_searching = false;
	a->err = err;
	pthread_mutex_unlock(&a->lock);
	answer_reader(a);
	answer_unref(a);
	return err;
}

/* ---- changes ---- */

/* Adds changes while there is little text.  What is not read stays with the
 * watcher, which merges it. */
static void add_changes(struct query_answer *a)
{
	struct content_change change;
	int got = 1;

	pthread_mutex_lock(&a->lock);
	while (got == 1 && !a->ended && !a->err &&
	       a->text.len < CHANGES_AHEAD) {
		got = changes_take(a->watcher, &change);
		if (got == 1) {
			a->err = query_text_add_change(&change, &a->text);
			free(change.path);
			free(change.from);
		} else if (got == -ECANCELED) {
			a->ended = true;
			a->err = query_text_add_end(false, false, &a->text);
		} else {
			a->err = got;
		}
	}
	pthread_mutex_unlock(&a->lock);
}

static void on_change(void *arg)
{
	struct query_answer *a = arg;
	bool wanted;

	pthread_mutex_lock(&a->lock);
	wanted = a->reader;
	pthread_mutex_unlock(&a->lock);
	if (!wanted)
		return;
	add_changes(a);
	answer_reader(a);
}

static int watch_changes(struct query_answer *a)
{
	int err = buf_append_text(&a->text, "{\"watching\":true}\n");

	return err ? err :
		     engine_watch_changes(a->fs->engine, &a->caller,
					  &a->query.groups.within, on_change, a,
					  &a->watcher);
}

static void add_text(struct query_answer *a)
{
	if (a->query.kind == QUERY_CHANGES)
		add_changes(a);
	else
		(void)start_job(a);
}

/* Has the engine begin.  Takes the query on success.  The caller gets a
 * reference. */
static int answer_new(struct fs *fs, const struct search_caller *caller,
		      struct query_text *query, struct query_answer **out)
{
	struct query_answer *a = calloc(1, sizeof(*a));
	int err = a ? search_caller_copy(caller, &a->caller) : -ENOMEM;

	if (err) {
		free(a);
		return err;
	}
	a->fs = fs;
	a->query = *query;
	a->query.groups.cancelled = &a->cancelled;
	a->query.groups.progress = on_progress;
	a->query.groups.arg = a;
	a->refs = 1;
	pthread_mutex_init(&a->lock, NULL);
	err = query->kind == QUERY_CHANGES ? watch_changes(a) : start_job(a);
	if (err) {
		a->query = (struct query_text){ .kind = query->kind };
		answer_unref(a);
	} else {
		*out = a;
	}
	return err;
}

/* Replies, at once or when there is text to read.  The caller has a reference,
 * because the file may be closed right after the reply. */
static void answer_read(fuse_req_t req, struct query_answer *a, size_t size)
{
	struct query_read *r, *before;
	bool ready;

	pthread_mutex_lock(&a->lock);
	ready = is_ready(a);
	pthread_mutex_unlock(&a->lock);
	if (ready) {
		reply_piece(req, a, size);
		add_text(a);
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
	pthread_mutex_lock(&a->lock);
	before = a->reader;
	a->reader = r;
	pthread_mutex_unlock(&a->lock);
	/* Of two reads that wait, the earlier one fails. */
	if (before && park_claim(&before->park))
		reply_error(before->park.req, -EAGAIN);
	free(before);
	add_text(a);
	/* Text may have been added since is_ready(). */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): two references */
	answer_reader(a);
}

/* ---- the open file ---- */

static struct query_file *query_of(const struct fuse_file_info *fi)
{
	return (struct query_file *)(uintptr_t)fi->fh;
}

/* Forgets the answer; a search for it ends soon. */
static void drop_answer(struct query_file *q)
{
	if (!q->answer)
		return;
	atomic_store(&q->answer->cancelled, true);
	answer_unref(q->answer);
	q->answer = NULL;
}

static void query_closed(struct fs *fs, struct opened *o)
{
	struct query_file *q = (struct query_file *)o;

	pthread_mutex_lock(&fs->similar->lock);
	share_give(&fs->similar->queries, q->caller.credentials.uid);
	pthread_mutex_unlock(&fs->similar->lock);
	drop_answer(q);
	credentials_release(&q->caller.credentials);
	pthread_mutex_destroy(&q->lock);
	buf_release(&q->text);
	free(q);
}

void query_open(fuse_req_t req, struct fs *fs, struct fuse_file_info *fi)
{
	struct query_file *q = NULL;
	uint64_t turn;
	int err = -EINVAL;

	if ((fi->flags & O_ACCMODE) != O_WRONLY) {
		q = calloc(1, sizeof(*q));
		err = q ? similar_caller(fs, req, &q->caller) : -ENOMEM;
	}
	if (!err) {
		pthread_mutex_lock(&fs->similar->lock);
		err = share_take(&fs->similar->queries,
				 q->caller.credentials.uid, &turn);
		pthread_mutex_unlock(&fs->similar->lock);
		if (err)
			credentials_release(&q->caller.credentials);
	}
	if (err) {
		free(q);
		reply_error(req, err);
		return;
	}
	q->opened.close = query_closed;
	pthread_mutex_init(&q->lock, NULL);
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
	int err = -EFBIG;

	pthread_mutex_lock(&q->lock);
	if (q->answer)
		buf_release(&q->text);
	drop_answer(q);
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

/* Parses the query and asks it; drops it if it is not valid, or if what
 * it asks for cannot begin.  The caller holds the lock. */
static int ask_query(struct query_file *q, struct fs *fs)
{
	struct query_text query;
	int err = query_text_parse(q->text.data, q->text.len, &query);
	bool drop = err == -EINVAL;

	if (!err) {
		err = answer_new(fs, &q->caller, &query, &q->answer);
		drop = err && query.kind != QUERY_CONTENT;
		if (err)
			query_text_release(&query);
	}
	if (drop)
		buf_release(&q->text);
	return err;
}

void query_read(fuse_req_t req, size_t size, const struct fuse_file_info *fi)
{
	struct query_file *q = query_of(fi);
	struct query_answer *a;
	bool failed = false;
	int err = 0;

	if (!is_opener(req, q)) {
		reply_error(req, -EACCES);
		return;
	}
	pthread_mutex_lock(&q->lock);
	a = q->answer;
	if (a) {
		/* A query about a content that failed is asked again. */
		pthread_mutex_lock(&a->lock);
		failed = a->query.kind == QUERY_CONTENT && a->err;
		pthread_mutex_unlock(&a->lock);
	}
	if (failed)
		drop_answer(q);
	if (!q->answer)
		err = ask_query(q, fs_of(req));
	a = q->answer;
	if (a) {
		pthread_mutex_lock(&a->lock);
		a->refs++;
		pthread_mutex_unlock(&a->lock);
	}
	pthread_mutex_unlock(&q->lock);
	if (err)
		reply_error(req, err);
	else
		answer_read(req, a, size);
	if (a)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): of two */
		answer_unref(a);
}
