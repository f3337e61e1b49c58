/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/clock.h"

/* The life of a query until it is ready for a thread, see search.h. */

int search_caller_copy(const struct search_caller *from,
		       struct search_caller *out)
{
	out->trusted = from->trusted;
	return credentials_copy(&from->credentials, &out->credentials);
}

int query_may_go_on(const struct search_query *q)
{
	if (atomic_load(q->context->stopping))
		return -ECANCELED;
	return q->work_left ? 0 : TURN_OVER;
}

void query_count_work(struct search_query *q, size_t work)
{
	q->work_left -= work < q->work_left ? work : q->work_left;
}

int key_list_add(void *arg, const struct file_key *key)
{
	struct key_list *list = arg;
	struct file_key *keys =
		array_with_room(list->keys, list->count, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	list->keys = keys;
	list->keys[list->count++] = *key;
	return 0;
}

void search_hits_release(struct search_hits *hits)
{
	size_t i;

	for (i = 0; i < hits->count; i++)
		free(hits->hits[i].path);
	free(hits->hits);
	*hits = (struct search_hits){ 0 };
}

void search_entries_release(struct search_entries *entries)
{
	size_t i;

	for (i = 0; i < entries->count; i++)
		free(entries->entries[i].name);
	free(entries->entries);
	*entries = (struct search_entries){ 0 };
}

/* ---- making and ending ---- */

static int take_place(struct search_query *q)
{
	struct searcher *s = q->searcher;
	int err;

	pthread_mutex_lock(&s->lock);
	err = share_take(&s->share, q->caller.credentials.uid, &q->turn);
	pthread_mutex_unlock(&s->lock);
	return err;
}

static void query_release(struct search_query *q)
{
	search_hits_release(&q->hits);
	search_entries_release(&q->entries);
	visibility_release(&q->visibility);
	free(q->index_visibility);
	if (q->fd >= 0)
		close(q->fd);
	if (q->digests)
		digests_release(q->digests);
	free(q->digests);
	credentials_release(&q->caller.credentials);
	free(q);
}

void query_free(struct search_query *q)
{
	struct searcher *s = q->searcher;

	pthread_mutex_lock(&s->lock);
	if (s->grouping == q) {
		s->grouping = NULL;
		search_wake(s);
	}
	share_give(&s->share, q->caller.credentials.uid);
	pthread_mutex_unlock(&s->lock);
	query_release(q);
}

static int add_index_visibility(struct search_query *q)
{
	if (q->caller.trusted)
		return 0;
	q->index_visibility = calloc(1, sizeof(*q->index_visibility));
	if (!q->index_visibility)
		return -ENOMEM;
	q->index_visibility->is_visible = content_is_visible;
	q->index_visibility->arg = q;
	return 0;
}

int query_new(struct searcher *s, const struct query_kind *kind, int fd,
	      const struct search_caller *caller, struct search_query **out)
{
	struct search_query *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->searcher = s;
	q->context = &s->context;
	q->kind = kind;
	q->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	err = fd >= 0 && q->fd < 0 ? -errno : 0;
	if (!err)
		err = search_caller_copy(caller, &q->caller);
	if (!err)
		err = add_index_visibility(q);
	if (!err)
		err = take_place(q);
	if (err)
		query_release(q);
	else
		*out = q;
	return err;
}

void query_end(struct search_query *q, int err)
{
	struct search_hits hits = { 0 };
	struct search_entries entries = { 0 };

	if (q->kind->end) {
		q->kind->end(q, err);
		q->kind->release(q);
		query_free(q);
		return;
	}
	q->kind->release(q);
	if (!err) {
		hits = q->hits;
		entries = q->entries;
		q->hits = (struct search_hits){ 0 };
		q->entries = (struct search_entries){ 0 };
	}
	if (q->on_hits)
		q->on_hits(q->arg, err, &hits);
	else
		q->on_entries(q->arg, err, &entries);
	query_free(q);
}

/* ---- waiting for the committer ---- */

void query_make_ready(struct searcher *s, struct search_query *q)
{
	struct search_query **at = &s->first;

	while (*at && (*at)->turn <= q->turn)
		at = &(*at)->next;
	q->next = *at;
	*at = q;
	search_wake(s);
}

void query_hold(struct search_query *q)
{
	const struct search_context *context = q->context;
	struct searcher *s = q->searcher;
	bool held = false, stopped;
	uint64_t attempted;

	/* Before the position is read: then all results of files that no longer
	 * count as incomplete have been posted. */
	q->hits.incomplete =
		context->is_incomplete(context->ctx, &q->only_pending);
	pthread_mutex_lock(&s->lock);
	stopped = s->stopped;
	if (!stopped) {
		context->commit_position(context->ctx, &q->number, &attempted);
		held = attempted < q->number;
		if (held) {
			q->next = s->held;
			s->held = q;
		} else {
			query_make_ready(s, q);
		}
	}
	pthread_mutex_unlock(&s->lock);
	if (stopped)
		query_end(q, -ECANCELED);
	else if (held)
		context->commit_hurry(context->ctx);
}

void search_committed(struct searcher *s, uint64_t number)
{
	struct search_query **at = &s->held;
	bool more;

	pthread_mutex_lock(&s->lock);
	while (*at) {
		struct search_query *q = *at;

		if (q->number > number) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		query_make_ready(s, q);
	}
	more = s->held != NULL;
	pthread_mutex_unlock(&s->lock);
	if (more)
		s->context.commit_hurry(s->context.ctx);
}

/* ---- kinds of queries ---- */

static int open_file(void *query)
{
	const struct search_query *q = query;

	return q->fd;
}

static void close_nothing(void *query)
{
	(void)query;
}

static void on_digests(void *query, int err, struct file_digests *answer)
{
	struct search_query *q = query;

	if (err) {
		query_end(q, err);
		return;
	}
	q->hits.file = *answer;
	query_hold(q);
}

int search_file(struct searcher *s, const struct search_file_query *query,
		const struct search_caller *caller, search_hits_fn *done,
		void *arg)
{
	struct search_query *q;
	int err = query_new(s, &query_file, query->fd, caller, &q);

	if (err)
		return err;
	q->relation = query->relation;
	q->threshold = query->threshold;
	q->on_hits = done;
	q->arg = arg;
	q->wait = (struct digests_wait){
		.uid = caller->credentials.uid,
		.wanted = near_texts(q),
		.deadline_ms = clock_now_ms() + query->timeout_ms,
		.ticket = query->ticket,
		.open = open_file,
		.close = close_nothing,
		.done = on_digests,
		.arg = q,
	};
	err = s->context.wait_digests(s->context.ctx, &q->wait);
	if (err)
		query_free(q);
	return err;
}

int search_content(struct searcher *s, const struct digests *digests,
		   enum index_relation relation,
		   const struct search_caller *caller, search_hits_fn *done,
		   void *arg)
{
	struct search_query *q;
	int err = query_new(s, &query_file, -1, caller, &q);

	if (err)
		return err;
	q->digests = calloc(1, sizeof(*q->digests));
	err = q->digests ? digests_copy(digests, q->digests) : -ENOMEM;
	if (err) {
		query_free(q);
		return err;
	}
	q->relation = relation;
	q->on_hits = done;
	q->arg = arg;
	query_hold(q);
	return 0;
}

int search_directories(struct searcher *s, int fd,
		       const struct search_caller *caller, search_hits_fn *done,
		       void *arg)
{
	struct search_query *q;
	int err = query_new(s, &query_directories, fd, caller, &q);

	if (err)
		return err;
	q->on_hits = done;
	q->arg = arg;
	query_hold(q);
	return 0;
}

int search_browse(struct searcher *s, int fd,
		  const struct search_caller *caller, search_entries_fn *done,
		  void *arg)
{
	struct search_query *q;
	int err = query_new(s, &query_browse, fd, caller, &q);

	if (err)
		return err;
	q->on_entries = done;
	q->arg = arg;
	query_hold(q);
	return 0;
}
