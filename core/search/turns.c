/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/search/search_impl.h"

/* The threads of queries, and which of them work. */

/* ---- slots; with the lock ---- */

static void add_by_turn(struct search_job **list, struct search_job *job)
{
	while (*list && (*list)->turn <= job->turn)
		list = &(*list)->next;
	job->next = *list;
	*list = job;
}

/* Whether the turn may take longer than the first one of a query about a
 * file. */
static bool is_long(const struct search_job *job)
{
	return !job->is_short || job->turns > 1;
}

/* How many slots are in use, and those of them that others wait for. */
static size_t count_slots(const struct searcher *s, size_t *busy_out)
{
	int64_t since_ms = clock_now_ms() - SEARCH_SLOW_MS;
	size_t used = 0, i;

	*busy_out = 0;
	for (i = 0; i < SEARCH_SLOTS_ALL; i++) {
		used += s->slots[i].job != NULL;
		*busy_out += s->slots[i].job && s->slots[i].since_ms > since_ms;
	}
	return used;
}

static bool may_work(const struct searcher *s, const struct search_job *job,
		     size_t used)
{
	int64_t since_ms = clock_now_ms() - SEARCH_SLOW_MS;
	size_t others_long = 0, own = 0, i;

	for (i = 0; i < SEARCH_SLOTS_ALL; i++) {
		const struct search_job *other = s->slots[i].job;

		if (!other)
			continue;
		own += other->uid == job->uid;
		if (!is_long(other))
			continue;
		others_long += s->slots[i].since_ms > since_ms;
		if (is_long(job) && other->uid == job->uid)
			return false;
	}
	if (job->takes_memory && s->grouping && s->grouping != job)
		return false;
	return own < SEARCH_SLOTS_ALL - used &&
	       (!is_long(job) || others_long < SEARCH_LONG_MAX);
}

static void slot_take(struct searcher *s, struct search_job *job)
{
	struct search_slot *slot = s->slots;

	while (slot->job)
		slot++;
	slot->job = job;
	slot->since_ms = clock_now_ms();
	job->slot = slot;
	if (job->takes_memory)
		s->grouping = job;
	quota_serve(&s->quota, job->turn);
	pthread_cond_signal(&job->resume);
}

/* Gives slots to the jobs that may work, in the order of their turns. */
static void choose(struct searcher *s)
{
	struct search_job **at = &s->ready, *job;
	size_t busy, used = count_slots(s, &busy);

	while ((job = *at) && busy < s->slot_count && used < SEARCH_SLOTS_ALL) {
		if (may_work(s, job, used)) {
			*at = job->next;
			slot_take(s, job);
			busy++;
			used++;
		} else {
			at = &job->next;
		}
	}
	/* The first one that waits looks whether slots have become slow. */
	if (s->ready)
		pthread_cond_signal(&s->ready->resume);
}

static void slot_free(struct searcher *s, struct search_job *job)
{
	if (!job->slot)
		return;
	if (!s->trim_ms)
		s->trim_ms = clock_now_ms() + SEARCH_TRIM_RSS_MS;
	job->slot->job = NULL;
	job->slot = NULL;
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

	return q->ignore && ignored && ignored_refresh(ignored);
}

/* -ECANCELED: the module stops. */
static int wait_for_slot(struct searcher *s, struct search_job *job)
{
	struct search_job **at = &s->ready;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (job->turns++)
		job->turn = quota_next_turn(&s->quota, job->uid);
	add_by_turn(&s->ready, job);
	slot_free(s, job);
	choose(s);
	while (!job->slot && !s->stopped) {
		if (s->ready != job) {
			pthread_cond_wait(&job->resume, &s->lock);
			continue;
		}
		cond_wait_until(&job->resume, &s->lock,
				clock_now_ms() + SEARCH_SLOW_MS);
		if (!job->slot)
			choose(s);
	}
	if (!job->slot) {
		while (*at != job)
			at = &(*at)->next;
		*at = job->next;
		err = -ECANCELED;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

int query_take_turn(struct search_query *q)
{
	struct searcher *s = q->searcher;
	int err = wait_for_slot(s, q->job);

	if (!err && atomic_load(q->context->stopping))
		err = -ECANCELED;
	if (err)
		return err;
	q->turn_ns = clock_now_ns();
	q->ignores = has_ignores(q);
	q->work_left = s->turn_work;
	if (!q->caller->trusted)
		err = credentials_enter(&q->caller->credentials, &s->own);
	q->has_credentials = !err && !q->caller->trusted;
	return err;
}

void query_end_turn(struct search_query *q)
{
	if (q->txn)
		query_end_read(q);
	if (q->has_credentials)
		credentials_leave(&q->searcher->own);
	q->has_credentials = false;
}

void query_give_slot(struct search_query *q)
{
	struct searcher *s = q->searcher;

	pthread_mutex_lock(&s->lock);
	if (s->grouping == q->job)
		s->grouping = NULL;
	slot_free(s, q->job);
	choose(s);
	pthread_mutex_unlock(&s->lock);
}

void query_count_work(struct search_query *q, size_t work)
{
	q->work_left -= work < q->work_left ? work : q->work_left;
}

int query_yield(struct search_query *q)
{
	bool reads = q->txn;
	int err;

	if (atomic_load(q->context->stopping))
		return -ECANCELED;
	if (q->work_left)
		return 0;
	query_end_turn(q);
	err = query_take_turn(q);
	return err || !reads ? err : query_begin_read(q);
}

/* ---- threads ---- */

/* Has a thread take a job; that one calls this for the next one. */
static void wake(struct searcher *s)
{
	if (!s->jobs)
		return;
	if (s->crew.waiting)
		pthread_cond_signal(&s->work);
	else
		crew_want(&s->crew);
}

int search_start_job(struct searcher *s, const struct search_caller *caller,
		     void (*run)(void *arg, struct search_job *job), void *arg)
{
	struct search_job *job = calloc(1, sizeof(*job));
	int err;

	if (!job)
		return -ENOMEM;
	*job = (struct search_job){ .searcher = s,
				    .caller = caller,
				    .uid = caller->credentials.uid,
				    .run = run,
				    .arg = arg,
				    .since_ms = clock_now_ms() };
	(void)cond_init_monotonic(&job->resume);
	pthread_mutex_lock(&s->lock);
	err = s->stopped ? -ECANCELED :
			   quota_take(&s->quota, job->uid, &job->turn);
	if (!err) {
		add_by_turn(&s->jobs, job);
		wake(s);
	}
	pthread_mutex_unlock(&s->lock);
	if (err) {
		pthread_cond_destroy(&job->resume);
		free(job);
	}
	return err;
}

/* Runs the first job.  Called with the lock, which is released meanwhile. */
static void run_job(struct searcher *s)
{
	struct search_job *job = s->jobs;

	s->jobs = job->next;
	wake(s);
	pthread_mutex_unlock(&s->lock);
	job->run(job->arg, job);
	pthread_mutex_lock(&s->lock);
	quota_give(&s->quota, job->uid);
	pthread_cond_destroy(&job->resume);
	free(job);
}

/* Unmaps pages of the catalog that have not been used for a while. */
static void trim(struct searcher *s)
{
	s->trim_ms = 0;
	pthread_mutex_unlock(&s->lock);
	(void)catalog_trim_rss(s->context.catalog);
	pthread_mutex_lock(&s->lock);
}

static void *search_run(void *arg)
{
	struct searcher *s = arg;
	int64_t idle_ms = clock_now_ms();

	thread_set_name("kinfs-search");
	pthread_mutex_lock(&s->lock);
	for (;;) {
		if (s->trim_ms && s->trim_ms <= clock_now_ms()) {
			trim(s);
		} else if (s->jobs) {
			run_job(s);
			idle_ms = clock_now_ms();
		} else if (s->stopped) {
			break;
		} else if (!crew_wait(&s->crew, &s->work,
				      s->trim_ms ? s->trim_ms : INT64_MAX,
				      idle_ms)) {
			break;
		}
	}
	crew_leave(&s->crew);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- life ---- */

int search_init(struct searcher *s, const struct search_context *context)
{
	int err = -pthread_mutex_init(&s->lock, NULL);

	s->context = *context;
	s->quota.most = SEARCH_JOBS_MAX;
	s->turn_work = SEARCH_TURN_WORK;
	s->trust_ms = SEARCH_TRUST_MS;
	s->slot_count = SEARCH_SLOTS;
	if (!err)
		err = cond_init_monotonic(&s->work);
	if (!err)
		err = credentials_own(&s->own);
	s->slots = calloc(SEARCH_SLOTS_ALL, sizeof(*s->slots));
	if (!err)
		err = s->slots ? match_cache_new(&s->matches) : -ENOMEM;
	return err;
}

static int start_thread(struct crew *c)
{
	return crew_thread(search_run, c->arg);
}

void search_start(struct searcher *s, struct queue *queue)
{
	s->crew = (struct crew){ .queue = queue,
				 .lock = &s->lock,
				 .start = start_thread,
				 .arg = s,
				 .most = SEARCH_JOBS_MAX };
	crew_init(&s->crew);
	pthread_mutex_lock(&s->lock);
	wake(s);
	pthread_mutex_unlock(&s->lock);
}

void search_stop(struct searcher *s)
{
	struct search_job *job;

	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	for (job = s->ready; job; job = job->next)
		pthread_cond_signal(&job->resume);
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (s->crew.lock)
		crew_stop(&s->crew);
	/* For these there was no thread. */
	pthread_mutex_lock(&s->lock);
	while (s->jobs)
		run_job(s);
	pthread_mutex_unlock(&s->lock);
}

void search_release(struct searcher *s)
{
	size_t i;

	for (i = 0; s->slots && i < SEARCH_SLOTS_ALL; i++)
		known_directories_release(&s->slots[i]);
	crew_release(&s->crew);
	free(s->slots);
	match_cache_free(s->matches);
	credentials_release(&s->own);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
}
