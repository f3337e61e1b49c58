/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/clock.h"

/* The life of a query until it is ready, see search.h. */

int search_caller_copy(const struct search_caller *from,
		       struct search_caller *out)
{
	out->trusted = from->trusted;
	return credentials_copy(&from->credentials, &out->credentials);
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

static void query_release(struct search_query *q)
{
	visibility_release(&q->visibility);
	free(q->index_visibility);
	if (q->fd >= 0)
		close(q->fd);
	if (q->digests)
		digests_release(q->digests);
	free(q->digests);
	file_digests_release(&q->hits.file);
	search_hits_release(&q->hits);
	search_entries_release(&q->entries);
	credentials_release(&q->caller.credentials);
	pthread_cond_destroy(&q->resume);
	free(q);
}

void query_free(struct search_query *q)
{
	struct searcher *s = q->searcher;

	if (q->kind->release)
		q->kind->release(q);
	pthread_mutex_lock(&s->lock);
	if (s->grouping == q)
		s->grouping = NULL;
	if (q->slot)
		slot_give(q);
	share_give(&s->share, q->caller.credentials.uid);
	pthread_mutex_unlock(&s->lock);
	query_release(q);
}

int query_new(struct searcher *s, const struct query_kind *kind, size_t size,
	      int fd, const struct search_caller *caller,
	      struct search_query **out)
{
	struct search_query *q = calloc(1, size);
	int err;

	if (!q)
		return -ENOMEM;
	(void)pthread_cond_init(&q->resume, NULL);
	q->searcher = s;
	q->context = &s->context;
	q->kind = kind;
	q->limit = s->context.limit;
	q->ignore = true;
	q->rules = (struct judge_rules){ .threshold = s->context.threshold,
					 .share_min = s->context.share_min };
	q->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	err = fd >= 0 && q->fd < 0 ? -errno : 0;
	if (!err)
		err = search_caller_copy(caller, &q->caller);
	if (!err && !caller->trusted) {
		q->index_visibility = calloc(1, sizeof(*q->index_visibility));
		if (q->index_visibility)
			*q->index_visibility = (struct index_visibility){
				content_is_visible, q, { { 0 } }
			};
		else
			err = -ENOMEM;
	}
	if (!err) {
		pthread_mutex_lock(&s->lock);
		err = share_take(&s->share, caller->credentials.uid, &q->turn);
		pthread_mutex_unlock(&s->lock);
	}
	if (err)
		query_release(q);
	else
		*out = q;
	return err;
}

void query_end(struct search_query *q, int err)
{
	q->kind->end(q, err);
	query_free(q);
}

/* ---- waiting for the committer ---- */

bool search_is_incomplete(const struct search_context *c,
			  bool *only_pending_out)
{
	struct queue_counts counts;

	/* In the order in which a file passes through them, see status.c. */
	*only_pending_out =
		!scan_is_running(c->scan) || atomic_load(&c->scan->walks);
	if (!*only_pending_out || hash_is_feeding(c->hasher))
		return true;
	queue_counts(c->hasher->context.queue, &counts);
	return counts.scanned || counts.unsteady ||
	       (c->texts && text_reader_is_busy(c->texts));
}

void query_hold(struct search_query *q)
{
	const struct search_context *context = q->context;
	struct searcher *s = q->searcher;
	bool held = false, stopped;
	struct commit_counts counts;

	/* Before the position is read: then all results of files that no longer
	 * count as incomplete have been posted. */
	q->hits.incomplete = search_is_incomplete(context, &q->only_pending);
	pthread_mutex_lock(&s->lock);
	stopped = s->stopped;
	if (!stopped) {
		commit_counts(context->commit, &counts);
		q->number = counts.posted;
		held = counts.attempted < q->number;
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
		commit_hurry(context->commit);
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
		commit_hurry(s->context.commit);
}

void end_with_hits(struct search_query *q, int err)
{
	struct search_hits hits = { 0 };

	file_digests_release(&q->hits.file);
	if (!err) {
		hits = q->hits;
		q->hits = (struct search_hits){ 0 };
	}
	q->on_hits(q->arg, err, &hits);
}
