/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <jansson.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/text.h"

/* The life of a query, see search.h. */

/* ---- memory ---- */

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct quota held_bytes = { .most = SEARCH_HELD_MOST };

int search_hold(struct search_held *held, uid_t uid, size_t bytes)
{
	int err;

	pthread_mutex_lock(&held_lock);
	err = quota_take_many(&held_bytes, uid, bytes);
	pthread_mutex_unlock(&held_lock);
	if (err)
		return err == -EAGAIN ? -EMFILE : err;
	held->uid = uid;
	held->bytes += bytes;
	return 0;
}

void search_let_go(struct search_held *held, size_t bytes)
{
	pthread_mutex_lock(&held_lock);
	quota_give_many(&held_bytes, held->uid, bytes);
	pthread_mutex_unlock(&held_lock);
	held->bytes -= bytes;
}

void search_held_release(struct search_held *held)
{
	search_let_go(held, held->bytes);
}

void search_hits_release(struct search_hits *hits)
{
	size_t i;

	for (i = 0; i < hits->count; i++) {
		free(hits->hits[i].path);
		json_decref(hits->hits[i].digests);
	}
	free(hits->hits);
	search_held_release(&hits->held);
	*hits = (struct search_hits){ 0 };
}

int search_hit_order(const void *a, const void *b)
{
	const struct search_hit *x = a, *y = b;

	if (x->verdict.score != y->verdict.score)
		return y->verdict.score - x->verdict.score;
	return strcmp(x->path, y->path);
}

int search_paths_add(struct search_paths *p, const char *path, size_t len)
{
	char **paths = array_with_room(p->paths, p->count, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	p->paths = paths;
	paths[p->count] = strndup(path, len);
	if (!paths[p->count])
		return -ENOMEM;
	p->count++;
	return 0;
}

void search_paths_release(struct search_paths *p)
{
	while (p->count)
		free(p->paths[--p->count]);
	free(p->paths);
	*p = (struct search_paths){ 0 };
}

bool search_paths_have(const struct search_paths *p, const char *path)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		if (text_path_is_above(p->paths[i], path))
			return true;
	return !p->count;
}

/* ---- beginning ---- */

void query_init(struct search_query *q, struct search_job *job, int fd)
{
	const struct search_context *context = &job->searcher->context;

	*q = (struct search_query){
		.job = job,
		.searcher = job->searcher,
		.context = context,
		.caller = job->caller,
		.fd = fd,
		.rules = { .threshold = context->threshold,
			   .share_min = context->share_min },
		.limit = context->limit,
		.ignore = true,
	};
	job->is_short = job->takes_memory = false;
}

static bool has_files_to_hash(const struct search_context *c,
			      bool *only_pending_out)
{
	struct queue_counts counts;

	/* In the order in which a file passes through them, see status.c. */
	*only_pending_out =
		!scan_is_running(c->scan) || atomic_load(&c->scan->walks);
	if (!*only_pending_out)
		return true;
	queue_counts(c->hasher->context.queue, &counts);
	return counts.feeding || counts.scanned || counts.unsteady;
}

bool search_is_incomplete(const struct search_context *c,
			  bool *only_pending_out)
{
	return has_files_to_hash(c, only_pending_out) ||
	       hash_has_texts_to_make(c->hasher);
}

static bool has_texts_to_make(const struct search_query *q)
{
	return !q->exact && hash_has_texts_to_make(q->context->hasher);
}

int query_begin(struct search_query *q)
{
	int err;

	if (!q->caller->trusted) {
		q->index_visibility = calloc(1, sizeof(*q->index_visibility));
		if (!q->index_visibility)
			return -ENOMEM;
		q->index_visibility->is_visible = sketch_is_visible;
		q->index_visibility->arg = q;
	}
	err = query_wait_closed(q);
	/* Before the wait: all results of files that no longer count as
	 * incomplete have been posted by then.  But a text is pending only once
	 * the digests of its document are committed. */
	q->hits.incomplete = has_files_to_hash(q->context, &q->only_pending) ||
			     q->late || has_texts_to_make(q);
	(void)events_settle(q->context->events);
	q->hits.incomplete |= has_texts_to_make(q);
	return err ? err : query_take_turn(q);
}

/* ---- ending ---- */

int query_end(struct search_query *q, int err, struct search_hits *out)
{
	const struct search_context *context = q->context;

	if (!err)
		err = q->err;
	if (err == -EUCLEAN && q->txn)
		catalog_found_damage(context->catalog);
	query_end_turn(q);
	query_give_slot(q);
	free(q->contents);
	tdestroy(q->directories, free);
	free(q->index_visibility);
	file_digests_release(&q->hits.file);
	if (!err && out)
		*out = q->hits;
	else
		search_hits_release(&q->hits);
	return err;
}
