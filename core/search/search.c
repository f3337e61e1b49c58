/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/search/search_impl.h"

/* The threads, and the choice of the next query. */

/* ---- one turn ---- */

static int turn_in_txn(struct search_query *q)
{
	int err = catalog_read(q->context->catalog, &q->txn);

	if (err)
		return err;
	err = q->has_answer ? 0 : q->kind->turn(q);
	if (!err) {
		q->has_answer = true;
		err = hits_settle_incomplete(q);
	}
	if (err == -EUCLEAN)
		catalog_found_damage(q->context->catalog);
	catalog_abort(q->txn);
	q->txn = NULL;
	if (err == -EUCLEAN && q->context->catalog_damaged)
		q->context->catalog_damaged(q->context->ctx);
	return err;
}

static int turn_as_caller(struct search_query *q)
{
	int err = 0;

	if (!q->turns_done)
		err = q->kind->begin(q);
	q->work_left = q->searcher->turn_work;
	q->err = 0;
	/* Counts made when the last turn ended may lack contents that were no
	 * longer examined. */
	if (q->index_visibility && q->turns_done)
		memset(q->index_visibility->counts, 0,
		       sizeof(q->index_visibility->counts));
	return err ? err : turn_in_txn(q);
}

/* Pairs with a file outside the tree are never ignored. */
static bool has_ignores(const struct search_query *q)
{
	const struct search_context *context = q->context;

	return !q->digests && context->ignores_any &&
	       context->ignores_any(context->ctx);
}

static int take_turn(struct search_query *q)
{
	const struct credentials *own = &q->searcher->own;
	bool trusted = q->caller.trusted;
	int err;

	q->ignores = has_ignores(q);
	err = trusted ? 0 : credentials_enter(&q->caller.credentials, own);
	if (err)
		return err;
	err = turn_as_caller(q);
	if (!trusted)
		credentials_leave(own);
	return err;
}

/* ---- the next query; under the lock ---- */

/* Whether the query may take longer than the first turn of one about a file. */
static bool is_long(const struct search_query *q)
{
	return q->kind != &query_file || q->turns_done;
}

static bool may_begin(const struct searcher *s, const struct search_query *q)
{
	size_t i;

	if (!is_long(q))
		return true;
	if (q->takes_memory && s->grouping && s->grouping != q)
		return false;
	for (i = 0; i < s->long_count; i++)
		if (s->long_users[i] == q->caller.credentials.uid)
			return false;
	return s->long_count < SEARCH_LONG_MAX;
}

/* Removes the first query that a thread may work on; NULL: there is none. */
static struct search_query *take_ready(struct searcher *s)
{
	struct search_query **at = &s->first, *q;

	while (*at && !may_begin(s, *at))
		at = &(*at)->next;
	q = *at;
	if (!q)
		return NULL;
	*at = q->next;
	if (q->takes_memory)
		s->grouping = q;
	share_serve(&s->share, q->turn);
	return q;
}

static void end_long(struct searcher *s, uid_t uid)
{
	size_t i = 0;

	while (s->long_users[i] != uid)
		i++;
	s->long_users[i] = s->long_users[--s->long_count];
}

/* Adds the query to the list again; false: the module stops. */
static bool put_back(struct searcher *s, struct search_query *q)
{
	if (s->stopped)
		return false;
	q->turns_done++;
	q->turn = share_next_turn(&s->share, q->caller.credentials.uid);
	query_make_ready(s, q);
	return true;
}

/* ---- the work of a thread ---- */

/* Works on the query for one turn; releases the lock meanwhile. */
static void work_unlocked(struct searcher *s, struct search_query *q,
			  struct directory_cache *directories)
{
	uid_t uid = q->caller.credentials.uid;
	bool is_one_of_long = is_long(q);
	int err;

	if (is_one_of_long)
		s->long_users[s->long_count++] = uid;
	if (s->first)
		search_wake(s);
	pthread_mutex_unlock(&s->lock);
	directory_cache_begin_turn(directories, clock_now_ms(), s->trust_ms);
	q->directories = directories;
	err = take_turn(q);
	if (err != TURN_OVER)
		query_end(q, err);
	else if (q->kind->turn_over)
		q->kind->turn_over(q);
	pthread_mutex_lock(&s->lock);
	if (is_one_of_long)
		end_long(s, uid);
	if (err != TURN_OVER || put_back(s, q))
		return;
	pthread_mutex_unlock(&s->lock);
	query_end(q, -ECANCELED);
	pthread_mutex_lock(&s->lock);
}

static void trim_unlocked(struct searcher *s)
{
	s->trim_ms = 0;
	pthread_mutex_unlock(&s->lock);
	(void)catalog_trim_rss(s->context.catalog);
	pthread_mutex_lock(&s->lock);
}

/* ---- waiting for a query; under the lock ---- */

static void take_from_idle(struct search_thread *t)
{
	struct search_thread **at = &t->searcher->idle;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->is_idle = false;
}

void search_wake(struct searcher *s)
{
	struct search_thread *t = s->idle;

	if (!t) {
		crew_want(&s->crew);
		return;
	}
	take_from_idle(t);
	pthread_cond_signal(&t->work);
}

/* The earlier of two times; 0 means never. */
static int64_t earlier(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* False: the thread has had no work since idle_ms, and is to end. */
static bool wait_for_work(struct search_thread *t, int64_t idle_ms)
{
	struct searcher *s = t->searcher;
	int64_t due = earlier(s->trim_ms, t->release_ms);
	bool goes_on;

	t->next = s->idle;
	s->idle = t;
	t->is_idle = true;
	goes_on = crew_wait(&s->crew, &t->work, due ? due : INT64_MAX, idle_ms);
	if (t->is_idle)
		take_from_idle(t);
	return goes_on;
}

/* ---- threads ---- */

/* The thread has used the catalog, and directories perhaps. */
static void schedule_release(struct search_thread *t)
{
	struct searcher *s = t->searcher;
	int64_t due_ms = clock_now_ms() + SEARCH_TRIM_RSS_MS;

	if (!s->trim_ms)
		s->trim_ms = due_ms;
	t->release_ms = t->directories.in_use ? due_ms : 0;
}

/* How many directories a thread may keep open: those of all threads are a
 * quarter of what the process may open, which users need for their files. */
static size_t directories_most(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 0;
	return limit.rlim_cur / 4 / SEARCH_THREADS;
}

static void *search_run(void *arg)
{
	struct searcher *s = arg;
	struct search_thread *t = s->threads;
	int64_t idle_ms = clock_now_ms();
	struct search_query *q;
	bool ends = false;

	thread_set_name("kinfs-search");
	pthread_mutex_lock(&s->lock);
	while (t->is_taken)
		t++;
	t->is_taken = true;
	directory_cache_init(&t->directories, directories_most());
	while (!ends && !s->stopped) {
		if (s->trim_ms && s->trim_ms <= clock_now_ms()) {
			trim_unlocked(s);
		} else if ((q = take_ready(s))) {
			work_unlocked(s, q, &t->directories);
			schedule_release(t);
			idle_ms = clock_now_ms();
		} else if (t->release_ms && t->release_ms <= clock_now_ms()) {
			directory_cache_release(&t->directories);
			t->release_ms = 0;
		} else {
			ends = !wait_for_work(t, idle_ms);
		}
	}
	directory_cache_release(&t->directories);
	t->is_taken = false;
	crew_leave(&s->crew);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int search_init(struct searcher *s, const struct search_context *context)
{
	int err = -pthread_mutex_init(&s->lock, NULL);
	size_t i;

	s->context = *context;
	s->share.most = SEARCH_QUERIES_MAX;
	s->turn_work = SEARCH_TURN_WORK;
	s->trust_ms = SEARCH_TRUST_MS;
	s->thread_count = SEARCH_THREADS;
	if (!err)
		err = credentials_own(&s->own);
	s->near = calloc(SEARCH_NEAR_SLOTS, sizeof(*s->near));
	s->threads = calloc(SEARCH_THREADS, sizeof(*s->threads));
	if (!err && (!s->near || !s->threads))
		err = -ENOMEM;
	for (i = 0; i < SEARCH_THREADS && !err; i++) {
		s->threads[i].searcher = s;
		err = cond_init_monotonic(&s->threads[i].work);
	}
	if (!err)
		err = match_cache_new(&s->matches);
	return err ?: sketch_cache_new(&s->sketches);
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
				 .most = s->thread_count };
	crew_init(&s->crew);
	pthread_mutex_lock(&s->lock);
	if (s->first)
		crew_want(&s->crew);
	pthread_mutex_unlock(&s->lock);
}

static void cancel_all(struct search_query *q)
{
	while (q) {
		struct search_query *next = q->next;

		query_end(q, -ECANCELED);
		q = next;
	}
}

void search_stop(struct searcher *s)
{
	struct search_query *ready, *held;

	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	ready = s->first;
	held = s->held;
	s->first = s->held = NULL;
	while (s->idle)
		search_wake(s);
	pthread_mutex_unlock(&s->lock);
	if (s->crew.lock)
		crew_stop(&s->crew);
	cancel_all(ready);
	cancel_all(held);
}

void search_release(struct searcher *s)
{
	size_t i;

	for (i = 0; s->threads && i < SEARCH_THREADS; i++)
		pthread_cond_destroy(&s->threads[i].work);
	crew_release(&s->crew);
	free(s->near);
	free(s->threads);
	match_cache_free(s->matches);
	sketch_cache_free(s->sketches);
	credentials_release(&s->own);
	pthread_mutex_destroy(&s->lock);
}
