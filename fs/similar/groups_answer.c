/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/groups_answer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "fs/fs.h"
#include "fs/ops/reply.h"
#include "fs/similar/query_text.h"

/* A parked read request. */
struct groups_read {
	struct park park;
	size_t size;
};

/*
 * The file has a reference, each operation on it has one, and a query that the
 * engine works on has one.  At most one query and one read wait at a time.
 */
struct groups_answer {
	struct fs *fs;
	struct search_caller caller; /* constant; owned */
	struct file_groups_watch watch;
	atomic_bool cancelled;
	pthread_mutex_t lock; /* everything below */
	unsigned refs;
	struct buf text;            /* the part of the answer made so far */
	size_t taken;               /* bytes of text that were read */
	struct groups_read *reader; /* owned; NULL: no read waits */
	struct file_groups *groups; /* a reference; NULL: not found yet */
	struct search_group_cursor next;
	bool is_searching; /* the engine works on a query */
	bool ended;        /* text is complete */
	int err;           /* returned to the reader after text */
};

/* ---- life ---- */

void groups_answer_ref(struct groups_answer *a)
{
	pthread_mutex_lock(&a->lock);
	a->refs++;
	pthread_mutex_unlock(&a->lock);
}

static void answer_free(struct groups_answer *a)
{
	credentials_release(&a->caller.credentials);
	file_groups_unref(a->groups);
	pthread_mutex_destroy(&a->lock);
	buf_release(&a->text);
	/* This read was interrupted; otherwise it would have a reference. */
	if (a->reader && park_claim(&a->reader->park))
		reply_error(a->reader->park.req, -EINTR);
	free(a->reader);
	free(a);
}

void groups_answer_unref(struct groups_answer *a)
{
	bool last;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	last = --a->refs == 0;
	pthread_mutex_unlock(&a->lock);
	if (last)
		answer_free(a);
}

void groups_answer_cancel(struct groups_answer *a)
{
	atomic_store(&a->cancelled, true);
}

/* ---- reading text ---- */

/* Whether a read can be answered now.  The caller holds the lock. */
static bool is_ready(const struct groups_answer *a)
{
	return a->taken < a->text.len || a->ended || a->err;
}

/* Frees the text that was read.  The caller holds the lock. */
static void drop_taken(struct groups_answer *a)
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
static void reply_piece(fuse_req_t req, struct groups_answer *a, size_t size)
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

/* Answers the parked read, if there is one and it can be answered. */
static void answer_reader(struct groups_answer *a)
{
	struct groups_read *r = NULL;

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

/* ---- callbacks of the engine ---- */

/* Ends a query of the engine. */
static void query_ended(struct groups_answer *a, int err)
{
	pthread_mutex_lock(&a->lock);
	a->is_searching = false;
	if (!a->err)
		a->err = err;
	pthread_mutex_unlock(&a->lock);
	answer_reader(a);
	groups_answer_unref(a);
}

/* Adds progress only if all text was read, because only the latest matters. */
static void on_progress(void *arg, unsigned thousandths)
{
	struct groups_answer *a = arg;

	pthread_mutex_lock(&a->lock);
	if (a->taken == a->text.len &&
	    buf_append_format(&a->text, "{\"progress\":%u}\n", thousandths))
		buf_release(&a->text);
	pthread_mutex_unlock(&a->lock);
	answer_reader(a);
}

/* The caller holds the lock. */
static int add_head(struct groups_answer *a)
{
	const struct group_set *set = a->groups->set;

	return buf_append_format(&a->text,
				 "{\"threshold\":%d,\"groups\":%zu}\n",
				 set->rules.threshold, set->count);
}

static int add_end(struct groups_answer *a)
{
	a->ended = true;
	return query_text_add_end(false, a->groups->incomplete, &a->text);
}

static void on_groups(void *arg, int result, struct file_groups *groups)
{
	struct groups_answer *a = arg;

	pthread_mutex_lock(&a->lock);
	a->groups = groups;
	if (!result)
		result = add_head(a);
	pthread_mutex_unlock(&a->lock);
	query_ended(a, result);
}

static void on_files(void *arg, int result,
		     const struct search_group_hits *files)
{
	struct groups_answer *a = arg;

	pthread_mutex_lock(&a->lock);
	if (!result)
		result = query_text_add_files(files, &a->text);
	if (!result)
		a->next = files->next;
	if (!result && files->end)
		result = add_end(a);
	pthread_mutex_unlock(&a->lock);
	query_ended(a, result);
}

/* ---- reading ---- */

int groups_answer_new(struct fs *fs, const struct search_caller *caller,
		      const struct file_groups_query *query,
		      struct groups_answer **out)
{
	struct groups_answer *a = calloc(1, sizeof(*a));
	int err = a ? search_caller_copy(caller, &a->caller) : -ENOMEM;

	if (err) {
		free(a);
		return err;
	}
	a->fs = fs;
	a->refs = 2;
	a->is_searching = true;
	a->watch.progress = on_progress;
	a->watch.done = on_groups;
	a->watch.arg = a;
	a->watch.cancelled = &a->cancelled;
	atomic_init(&a->cancelled, false);
	pthread_mutex_init(&a->lock, NULL);
	err = engine_find_groups(fs->engine, query, &a->caller, &a->watch);
	if (err)
		answer_free(a);
	else
		*out = a;
	return err;
}

/* Requests the next files, if there is no other query and less than READ_AHEAD
 * of text: the engine finds them while the caller reads. */
static void request_files(struct groups_answer *a)
{
	enum { READ_AHEAD = 1 << 20 };
	struct search_group_range range = { .last = UINT32_MAX, .names = true };
	bool ask;
	int err;

	pthread_mutex_lock(&a->lock);
	ask = a->groups && !a->is_searching && !a->ended && !a->err &&
	      a->text.len - a->taken < READ_AHEAD;
	if (ask) {
		a->is_searching = true;
		a->refs++;
		range.from = a->next;
	}
	pthread_mutex_unlock(&a->lock);
	if (!ask)
		return;
	err = engine_group_files(a->fs->engine, a->groups, &range, &a->caller,
				 on_files, a);
	if (err)
		query_ended(a, err);
}

/* If two reads wait, the earlier one gets -EAGAIN. */
static void set_reader(struct groups_answer *a, struct groups_read *r)
{
	struct groups_read *before;

	pthread_mutex_lock(&a->lock);
	before = a->reader;
	a->reader = r;
	pthread_mutex_unlock(&a->lock);
	if (before && park_claim(&before->park))
		reply_error(before->park.req, -EAGAIN);
	free(before);
}

static void answer_read(fuse_req_t req, struct groups_answer *a, size_t size)
{
	struct groups_read *r;
	bool ready;

	pthread_mutex_lock(&a->lock);
	ready = is_ready(a);
	pthread_mutex_unlock(&a->lock);
	if (ready) {
		reply_piece(req, a, size);
		request_files(a);
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
	request_files(a);
	/* Text may have been added since is_ready(). */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): two references */
	answer_reader(a);
}

/* The answer needs a reference of this function: once any thread has replied,
 * the caller may close the file. */
void groups_answer_read(fuse_req_t req, struct groups_answer *a, size_t size)
{
	groups_answer_ref(a);
	answer_read(req, a, size);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): of two references */
	groups_answer_unref(a);
}
