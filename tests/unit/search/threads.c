/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "core/search/search_impl.h"
#include "tests/unit/search/fixture.h"

/* Which thread works on a query. */

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
	} while (count < s->crew.count);
}

static void test_the_last_thread_to_wait_is_woken_first(void **state)
{
	enum { QUERIES = 5 };
	struct world *w = *state;
	struct answer a;
	pthread_t first = pthread_self();
	unsigned i;

	make_files(w, "", "copy", 2, 1, false);
	search_start(w->searcher, NULL);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
