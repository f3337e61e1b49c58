/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"

/* What a query waits for: the digests of its file, files that were closed before
 * it began, and the text of a document.  Each is a request that is parked in the
 * queue, which answers it in the end, also when the queue stops. */

/* ---- the answers ---- */

/* So many requests are parked now, or as good as. */
static void await(struct search_query *q, size_t count)
{
	pthread_mutex_lock(&q->searcher->lock);
	q->awaited = count;
	pthread_mutex_unlock(&q->searcher->lock);
}

static void tell(struct search_query *q, bool late)
{
	pthread_mutex_lock(&q->searcher->lock);
	q->late = q->late || late;
	if (--q->awaited == 0)
		pthread_cond_signal(&q->job->resume);
	pthread_mutex_unlock(&q->searcher->lock);
}

static void wait_until_told(struct search_query *q)
{
	pthread_mutex_lock(&q->searcher->lock);
	while (q->awaited)
		pthread_cond_wait(&q->job->resume, &q->searcher->lock);
	pthread_mutex_unlock(&q->searcher->lock);
}

static struct queue *queue_of(const struct search_query *q)
{
	return q->context->hasher->context.queue;
}

/* ---- digests ---- */

static void on_digests(void *query, int err, struct file_digests *answer)
{
	struct search_query *q = query;

	q->err = err;
	if (!err)
		q->hits.file = *answer;
	tell(q, false);
}

static int open_file(void *query)
{
	const struct search_query *q = query;

	return q->fd;
}

static void close_nothing(void *query)
{
	(void)query;
}

int query_wait_digests(struct search_query *q)
{
	struct digests_wait wait = { .uid = q->job->uid,
				     .deadline_ms = q->deadline_ms,
				     .ticket = q->ticket,
				     .open = open_file,
				     .close = close_nothing,
				     .done = on_digests,
				     .arg = q };
	int err;

	await(q, 1);
	err = hash_wait(q->context->hasher, &wait);
	if (err)
		return err;
	wait_until_told(q);
	return q->err;
}

/* ---- files that were closed before ---- */

/* Files that are waited for at a time. */
enum { CLOSED_BATCH = 64 };

struct closed_files {
	uint64_t until; /* the last closing before the query */
	int64_t deadline_ms;
	size_t count;
	struct file_key keys[CLOSED_BATCH];
	struct parked_request requests[CLOSED_BATCH];
	/* To find out which of them the caller can read. */
	struct source_found found[CLOSED_BATCH];
	char *paths[CLOSED_BATCH];
};

/* A file that was just made may have no name in the catalog, so each is looked
 * at by its present path. */
static void find_closed(struct search_query *q, struct closed_files *c)
{
	const struct source *source = q->context->source;
	size_t i;

	for (i = 0; i < c->count; i++) {
		c->paths[i] = NULL;
		c->found[i].fd = -1;
		if (!source_find(source, q->context->catalog, &c->keys[i],
				 SOURCE_FILE, &c->found[i]) &&
		    source_get_path(source, c->found[i].fd, &c->paths[i]))
			c->paths[i] = NULL;
	}
}

/* Leaves the files that the caller can read. */
static int keep_readable(struct search_query *q, struct closed_files *c)
{
	size_t i, kept = 0;
	int err;

	find_closed(q, c);
	err = query_take_turn(q);
	for (i = 0; i < c->count; i++) {
		if (!err && c->paths[i] && path_is_visible(q, c->paths[i]) &&
		    caller_can_read(q->caller, c->found[i].fd))
			c->keys[kept++] = c->keys[i];
		free(c->paths[i]);
		if (c->found[i].fd >= 0)
			close(c->found[i].fd);
	}
	c->count = kept;
	query_end_turn(q);
	query_give_slot(q);
	return err;
}

static void on_closed(void *query, int err, const struct result *found)
{
	(void)found;
	tell(query, err == -ETIMEDOUT);
}

/* After the deadline none is parked, which would hurry it. */
static void wait_for_batch(struct search_query *q, struct closed_files *c)
{
	size_t i;
	int err;

	if (clock_now_ms() >= c->deadline_ms) {
		q->late = true;
		return;
	}
	await(q, c->count);
	for (i = 0; i < c->count; i++) {
		c->requests[i] = (struct parked_request){
			.closed_until = c->until,
			.uid = q->job->uid,
			.deadline_ms = c->deadline_ms,
			.ticket = q->ticket,
			.done = on_closed,
			.arg = q,
		};
		err = queue_park(queue_of(q), &c->keys[i], &c->requests[i]);
		if (err)
			tell(q, err != -ENOENT);
	}
	wait_until_told(q);
}

/* Until every close() that has returned is known to the queue: the kernel tells of
 * it later. */
static bool catch_up(const struct search_query *q, int64_t deadline_ms)
{
	bool caught_up;

	do
		caught_up = source_catch_up(q->context->source);
	while (!caught_up && clock_now_ms() < deadline_ms);
	return caught_up;
}

int query_wait_closed(struct search_query *q)
{
	const int64_t wait_ms = q->context->no_wait ? 0 : SEARCH_CLOSED_MS;
	const int64_t deadline_ms = q->job->since_ms + wait_ms;
	struct closed_files *c = NULL;
	struct file_key first;
	uint64_t after = 0, until;
	int err = 0;

	if (q->goes_on)
		return 0;
	q->late = !catch_up(q, deadline_ms);
	until = queue_closings(queue_of(q));
	if (!queue_list_closed(queue_of(q), &after, until, &first, 1))
		return 0;
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->until = until;
	c->deadline_ms = deadline_ms;
	after = 0;
	while (!err && (c->count = queue_list_closed(queue_of(q), &after, until,
						     c->keys, CLOSED_BATCH))) {
		if (!q->caller->trusted)
			err = keep_readable(q, c);
		if (!err && c->count)
			wait_for_batch(q, c);
	}
	free(c);
	return err;
}

/* ---- the text of a document ---- */

static void on_text(void *query, int err, const struct result *found)
{
	(void)err;
	(void)found;
	tell(query, false);
}

/* Without a slot; has another turn then, as query_yield(). */
static int park_for_text(struct search_query *q)
{
	struct parked_request request = { .demanded = QUEUE_TEXT,
					  .uid = q->job->uid,
					  .deadline_ms = q->deadline_ms,
					  .ticket = q->ticket,
					  .done = on_text,
					  .arg = q };
	struct file_key key = q->self;
	int err = 0;

	if (q->digests)
		err = catalog_copy_after(q->txn, q->self_content, NULL, &key);
	query_end_turn(q);
	query_give_slot(q);
	await(q, 1);
	if (!err && !queue_park(queue_of(q), &key, &request))
		wait_until_told(q);
	q->hits.incomplete =
		q->late || search_is_incomplete(q->context, &q->only_pending);
	err = query_take_turn(q);
	return err ? err : query_begin_read(q);
}

/* 1: the text is still to be made, or to be told of the caller's own file. */
static int is_text_awaited(struct search_query *q)
{
	struct content_text text;
	int err = -ENOENT;

	if (q->context->texts && q->self_content)
		err = catalog_text_get(q->txn, q->self_content, &text);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (text.state == TEXT_PENDING || q->caller->trusted || q->digests)
		return text.state == TEXT_PENDING;
	err = catalog_text_is_told(q->txn, q->self_content, &q->self);
	return err < 0 ? err : !err;
}

int query_wait_text(struct search_query *q)
{
	int awaited = is_text_awaited(q);

	if (awaited != 1)
		return awaited;
	if (q->deadline_ms > clock_now_ms())
		awaited = park_for_text(q) ?: is_text_awaited(q);
	if (awaited == 1)
		q->hits.incomplete = true;
	return awaited < 0 ? awaited : 0;
}
