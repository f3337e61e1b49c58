/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/search/search_impl.h"

/* The threads of queries, and which of them run. */

/* ---- slots; with the lock ---- */

/* Whether the turn may take longer than the first one of a query about a
 * file. */
static bool is_long(const struct search_query *q)
{
	return !q->kind->is_short || q->turns_done;
}

static bool may_run(const struct searcher *s, const struct search_query *q)
{
	size_t others_long = 0, i;

	for (i = 0; i < SEARCH_SLOTS; i++) {
		const struct search_query *other = s->slots[i].query;

		if (!other || !is_long(other))
			continue;
		others_long++;
		if (is_long(q) &&
		    other->caller.credentials.uid == q->caller.credentials.uid)
			return false;
	}
	if (q->takes_memory && s->grouping && s->grouping != q)
		return false;
	return !is_long(q) || others_long < SEARCH_LONG_MAX;
}

/* The free slot that was used last: its directories are still open. */
static void slot_take(struct searcher *s, struct search_query *q)
{
	struct search_slot *best = NULL;
	size_t i;

	for (i = 0; i < SEARCH_SLOTS; i++)
		if (!s->slots[i].query &&
		    (!best || s->slots[i].release_ms > best->release_ms))
			best = &s->slots[i];
	best->query = q;
	best->release_ms = 0;
	s->running++;
	q->slot = best;
	if (q->takes_memory)
		s->grouping = q;
	share_serve(&s->share, q->turn);
}

/* Gives slots to the queries that may run, in the order of their turns. */
static void choose(struct searcher *s)
{
	struct search_query **at = &s->first, **end, *q;

	while ((q = *at) && s->running < s->slot_count) {
		if (!may_run(s, q)) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		slot_take(s, q);
		if (q->has_thread) {
			pthread_cond_signal(&q->resume);
			continue;
		}
		for (end = &s->chosen; *end; end = &(*end)->next)
			;
		q->next = NULL;
		*end = q;
	}
}

/* Has a thread take a chosen query; that one calls this for the next one. */
static void wake(struct searcher *s)
{
	if (!s->chosen)
		return;
	if (s->crew.waiting)
		pthread_cond_signal(&s->work);
	else
		crew_want(&s->crew);
}

void slot_give(struct search_query *q)
{
	struct searcher *s = q->searcher;
	int64_t due_ms = clock_now_ms() + SEARCH_TRIM_RSS_MS;

	if (!s->trim_ms)
		s->trim_ms = due_ms;
	s->running--;
	q->slot->query = NULL;
	q->slot->release_ms = q->slot->directories.in_use ? due_ms : 0;
	q->slot = NULL;
	choose(s);
}

static void add_ready(struct searcher *s, struct search_query *q)
{
	struct search_query **at = &s->first;

	while (*at && (*at)->turn <= q->turn)
		at = &(*at)->next;
	q->next = *at;
	*at = q;
}

void query_make_ready(struct searcher *s, struct search_query *q)
{
	add_ready(s, q);
	choose(s);
	wake(s);
}

/* ---- turns ---- */

int query_begin_read(struct search_query *q)
{
	return catalog_read(q->context->catalog, &q->txn);
}

void query_end_read(struct search_query *q)
{
	catalog_abort(q->txn);
	q->txn = NULL;
}

/* Pairs with a file outside the tree are never ignored. */
static bool has_ignores(const struct search_query *q)
{
	struct ignored *ignored = q->context->ignored;

	if (!q->ignore || !ignored)
		return false;
	ignored_refresh(ignored);
	return ignored_any(ignored);
}

static int begin_turn(struct search_query *q)
{
	struct searcher *s = q->searcher;
	int err = 0;

	directory_cache_begin_turn(&q->slot->directories, clock_now_ms(),
				   s->trust_ms);
	q->ignores = has_ignores(q);
	q->work_left = s->turn_work;
	if (!q->caller.trusted)
		err = credentials_enter(&q->caller.credentials, &s->own);
	q->has_credentials = !err && !q->caller.trusted;
	return err;
}

static void end_turn(struct search_query *q)
{
	if (q->txn)
		query_end_read(q);
	if (q->has_credentials)
		credentials_leave(&q->searcher->own);
	q->has_credentials = false;
}

void query_count_work(struct search_query *q, size_t work)
{
	q->work_left -= work < q->work_left ? work : q->work_left;
}

/* -ECANCELED: the module stops.  q may have given its slot back already. */
static int wait_for_turn(struct search_query *q)
{
	struct searcher *s = q->searcher;
	struct search_query **at = &s->first;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	q->turns_done++;
	q->turn = share_next_turn(&s->share, q->caller.credentials.uid);
	add_ready(s, q);
	if (q->slot)
		slot_give(q);
	else
		choose(s);
	wake(s);
	while (!q->slot && !s->stopped)
		pthread_cond_wait(&q->resume, &s->lock);
	if (!q->slot) {
		while (*at != q)
			at = &(*at)->next;
		*at = q->next;
		err = -ECANCELED;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* After end_turn(). */
static int take_turn(struct search_query *q, bool reads)
{
	int err = wait_for_turn(q);

	if (!err)
		err = begin_turn(q);
	if (!err && reads)
		err = query_begin_read(q);
	return err;
}

int query_yield(struct search_query *q)
{
	bool reads = q->txn;
	int err = 0;

	if (atomic_load(q->context->stopping))
		return -ECANCELED;
	if (q->work_left)
		return 0;
	end_turn(q);
	if (q->kind->turn_over)
		err = q->kind->turn_over(q);
	return err ? err : take_turn(q, reads);
}

int query_wait_for_text(struct search_query *q, uint32_t content)
{
	struct searcher *s = q->searcher;

	end_turn(q);
	pthread_mutex_lock(&s->lock);
	slot_give(q);
	wake(s);
	pthread_mutex_unlock(&s->lock);
	text_reader_wait(s->context.texts, content, q->wait.deadline_ms,
			 q->wait.ticket);
	q->hits.incomplete =
		search_is_incomplete(&s->context, &q->only_pending);
	return atomic_load(s->context.stopping) ? -ECANCELED :
						  take_turn(q, true);
}

/* ---- threads ---- */

static void run_query(struct search_query *q)
{
	const struct search_context *context = q->context;
	int err = begin_turn(q);

	if (!err)
		err = q->kind->answer(q) ?: q->err;
	if (!err && q->kind->tells_incomplete)
		err = hits_settle_incomplete(q);
	if (err == -EUCLEAN && q->txn)
		catalog_found_damage(context->catalog);
	end_turn(q);
	if (err == -EUCLEAN)
		context->up->catalog_damaged(context->up->ctx, false);
	query_end(q, err);
}

/* Unmaps pages of the catalog and closes directories that have not been used
 * for a while.  Returns when there is more to do. */
static int64_t tidy_unlocked(struct searcher *s)
{
	int64_t now = clock_now_ms(), next_ms = INT64_MAX;
	bool trims = s->trim_ms && s->trim_ms <= now;
	size_t i;

	if (trims) {
		s->trim_ms = 0;
		pthread_mutex_unlock(&s->lock);
		(void)catalog_trim_rss(s->context.catalog);
		pthread_mutex_lock(&s->lock);
	}
	if (s->trim_ms)
		next_ms = s->trim_ms;
	for (i = 0; i < SEARCH_SLOTS; i++) {
		struct search_slot *slot = &s->slots[i];

		if (slot->query || !slot->release_ms)
			continue;
		if (slot->release_ms <= now) {
			directory_cache_release(&slot->directories);
			slot->release_ms = 0;
		} else if (slot->release_ms < next_ms) {
			next_ms = slot->release_ms;
		}
	}
	return next_ms;
}

static void *search_run(void *arg)
{
	struct searcher *s = arg;
	int64_t idle_ms = clock_now_ms();
	struct search_query *q;
	bool ends = false;

	thread_set_name("kinfs-search");
	pthread_mutex_lock(&s->lock);
	while (!ends && !s->stopped) {
		int64_t due_ms = tidy_unlocked(s);

		q = s->chosen;
		if (!q) {
			ends = !crew_wait(&s->crew, &s->work, due_ms, idle_ms);
			continue;
		}
		s->chosen = q->next;
		q->has_thread = true;
		wake(s);
		pthread_mutex_unlock(&s->lock);
		run_query(q);
		pthread_mutex_lock(&s->lock);
		idle_ms = clock_now_ms();
	}
	crew_leave(&s->crew);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- life ---- */

/* How many directories a slot may keep open: those of all are a quarter of what
 * the process may open, which users need for their files. */
static size_t directories_most(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 0;
	return limit.rlim_cur / 4 / SEARCH_SLOTS;
}

int search_init(struct searcher *s, const struct search_context *context)
{
	int err = -pthread_mutex_init(&s->lock, NULL);
	size_t i;

	s->context = *context;
	s->share.most = SEARCH_QUERIES_MAX;
	s->turn_work = SEARCH_TURN_WORK;
	s->trust_ms = SEARCH_TRUST_MS;
	s->slot_count = SEARCH_SLOTS;
	if (!err)
		err = cond_init_monotonic(&s->work);
	if (!err)
		err = credentials_own(&s->own);
	s->slots = calloc(SEARCH_SLOTS, sizeof(*s->slots));
	if (!err)
		err = s->slots ? match_cache_new(&s->matches) : -ENOMEM;
	for (i = 0; i < SEARCH_SLOTS && s->slots; i++)
		directory_cache_init(&s->slots[i].directories,
				     directories_most());
	return err;
}

static int start_thread(void *searcher)
{
	return crew_thread(search_run, searcher);
}

void search_start(struct searcher *s, struct queue *queue)
{
	s->crew = (struct crew){ .queue = queue,
				 .lock = &s->lock,
				 .start = start_thread,
				 .arg = s,
				 .most = SEARCH_QUERIES_MAX };
	crew_init(&s->crew);
	pthread_mutex_lock(&s->lock);
	choose(s); /* tests change slot_count */
	wake(s);
	pthread_mutex_unlock(&s->lock);
}

void search_stop(struct searcher *s)
{
	struct search_query *lists[3], **at, *q;
	size_t i;

	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	for (at = &s->first; (q = *at);) {
		if (q->has_thread) {
			pthread_cond_signal(&q->resume);
			at = &q->next;
		} else {
			*at = q->next;
			q->next = s->held;
			s->held = q;
		}
	}
	lists[0] = s->chosen;
	lists[1] = s->held;
	lists[2] = NULL;
	s->chosen = s->held = NULL;
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (s->crew.lock)
		crew_stop(&s->crew);
	for (i = 0; i < 2; i++)
		while ((q = lists[i])) {
			lists[i] = q->next;
			query_end(q, -ECANCELED);
		}
}

void search_release(struct searcher *s)
{
	size_t i;

	for (i = 0; s->slots && i < SEARCH_SLOTS; i++)
		directory_cache_release(&s->slots[i].directories);
	crew_release(&s->crew);
	free(s->slots);
	match_cache_free(s->matches);
	credentials_release(&s->own);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
}
