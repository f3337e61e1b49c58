/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "core/search/search_impl.h"
#include "tests/unit/search/fixture.h"

/* Which thread works on a query, and threads that help another one. */

/* The first thread that comes waits for another one, from its fourth visit
 * on. */
static struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	pthread_t first;
	unsigned visits; /* of the first thread */
	bool has_met;
} meeting = { .lock = PTHREAD_MUTEX_INITIALIZER,
	      .cond = PTHREAD_COND_INITIALIZER };

enum { ALONE = 3, PATIENCE_S = 60 };

static bool ignores_some(void *ctx)
{
	(void)ctx;
	return true;
}

static void meet(struct meeting *m)
{
	struct timespec end;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_S;
	while (!m->has_met && !err)
		err = pthread_cond_timedwait(&m->cond, &m->lock, &end);
}

/* Browsing asks this for each file. */
static bool visit(void *ctx, const struct digests *a, const struct digests *b)
{
	struct meeting *m = &meeting;

	(void)ctx;
	(void)a;
	(void)b;
	pthread_mutex_lock(&m->lock);
	if (!m->visits)
		m->first = pthread_self();
	if (!pthread_equal(m->first, pthread_self())) {
		m->has_met = true;
		pthread_cond_signal(&m->cond);
	} else if (++m->visits > ALONE) {
		meet(m);
	}
	pthread_mutex_unlock(&m->lock);
	return false;
}

static void test_two_threads_browse_one_directory(void **state)
{
	struct world *w = *state;
	struct answer a;

	make_directory(w, "d");
	make_files(w, "d", "variant", 8, 1, true);
	w->searcher->context.ignores_any = ignores_some;
	w->searcher->context.is_ignored = visit;
	w->searcher->thread_count = 2;
	assert_int_equal(search_start(w->searcher), 0);
	get(w, BROWSE, "d", &trusted, &a);
	assert_true(meeting.has_met);
	assert_int_equal(a.entries.count, 8);
	answer_release(&a);
}

static void test_only_queries_of_trusted_callers_are_helped(void **state)
{
	struct world *w = *state;
	struct searcher *s = w->searcher;
	struct search_query own = { .searcher = s, .caller = trusted };
	struct search_query foreign = { .searcher = s, .caller = other };

	help_offer(&foreign);
	assert_false(help_is_wanted(s));
	help_offer(&own);
	assert_true(help_is_wanted(s));
	help_withdraw(&own);
	assert_false(help_is_wanted(s));
}

/* Helpers leave a thread for queries about files. */
static void test_helpers_leave_a_thread_free(void **state)
{
	struct world *w = *state;
	struct searcher *s = w->searcher;
	struct search_query own = { .searcher = s, .caller = trusted };

	help_offer(&own);
	s->long_count = SEARCH_LONG_MAX - 1;
	assert_true(help_is_wanted(s));
	s->long_count = SEARCH_LONG_MAX;
	assert_false(help_is_wanted(s));
	s->long_count = 0;
	help_withdraw(&own);
}

static void wait_until_all_are_idle(struct searcher *s)
{
	const struct search_thread *t;
	size_t count;

	do {
		(void)sched_yield();
		count = 0;
		pthread_mutex_lock(&s->lock);
		for (t = s->idle; t; t = t->next)
			count++;
		pthread_mutex_unlock(&s->lock);
	} while (count < s->started);
}

static void test_the_last_thread_to_wait_is_woken_first(void **state)
{
	enum { QUERIES = 5 };
	struct world *w = *state;
	struct answer a;
	pthread_t first = pthread_self();
	unsigned i;

	make_files(w, "", "copy", 2, 1, false);
	assert_int_equal(search_start(w->searcher), 0);
	for (i = 0; i < QUERIES; i++) {
		wait_until_all_are_idle(w->searcher);
		get(w, FILES, "copy0", &trusted, &a);
		if (!i)
			first = a.by;
		assert_true(pthread_equal(a.by, first));
		answer_release(&a);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		WITH_TREE(test_the_last_thread_to_wait_is_woken_first),
		WITH_TREE(test_two_threads_browse_one_directory),
		WITH_TREE(test_only_queries_of_trusted_callers_are_helped),
		WITH_TREE(test_helpers_leave_a_thread_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
