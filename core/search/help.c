/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/search/search_impl.h"

/*
 * A thread without a query helps another thread with its query, so that the
 * first walk through a tree has more than one processor for its searches.
 *
 * Only queries of trusted callers are helped: what a helper learns about the
 * visibility of files is not that of another user.  A helper counts as a long
 * query of nobody (SEARCH_LONG_MAX), helps with a few files, and then looks for
 * a query of its own first.
 */
enum { HELP_WORK = 16 };

static const uid_t NOBODY = (uid_t)-1; /* no caller has this uid */

void help_offer(struct search_query *q)
{
	struct searcher *s = q->searcher;

	if (!q->caller.trusted)
		return;
	pthread_mutex_lock(&s->lock);
	if (!s->offered) {
		s->offered = q;
		search_wake(s);
	}
	pthread_mutex_unlock(&s->lock);
}

void help_withdraw(struct search_query *q)
{
	struct searcher *s = q->searcher;

	pthread_mutex_lock(&s->lock);
	if (s->offered == q) {
		s->offered = NULL;
		while (s->is_helped)
			pthread_cond_wait(&s->help_ended, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
}

bool help_is_wanted(const struct searcher *s)
{
	return s->offered && !s->is_helped && s->long_count < SEARCH_LONG_MAX;
}

/* In a transaction of its own. */
static int help_query(struct search_thread *t, struct search_query *q)
{
	const struct search_context *context = q->context;
	struct search_query h = {
		.searcher = q->searcher,
		.context = context,
		.kind = q->kind,
		.fd = -1,
		.caller = { .trusted = true },
		.directories = &t->directories,
		.work_left = HELP_WORK,
		.ignores = query_has_ignores(q),
	};
	int err = catalog_read(context->catalog, &h.txn);

	if (err)
		return err;
	directory_cache_begin_turn(&t->directories, clock_now_ms(),
				   q->searcher->trust_ms);
	err = q->kind->help(&h, q);
	catalog_abort(h.txn);
	visibility_release(&h.visibility);
	return err;
}

/* After a failure nobody helps any more, and the query's own thread examines
 * the file again. */
void help_unlocked(struct search_thread *t)
{
	struct searcher *s = t->searcher;
	struct search_query *q = s->offered;
	int err;

	s->is_helped = true;
	s->long_users[s->long_count++] = NOBODY;
	pthread_mutex_unlock(&s->lock);
	err = help_query(t, q);
	pthread_mutex_lock(&s->lock);
	search_end_long(s, NOBODY);
	s->is_helped = false;
	if (err != TURN_OVER && s->offered == q)
		s->offered = NULL;
	pthread_cond_broadcast(&s->help_ended);
}
