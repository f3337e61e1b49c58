/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"
#include "tests/unit/search/fixture.h"

/* Answers that take several turns of the threads of a search. */

static void assert_same_hits(const struct search_hits *a,
			     const struct search_hits *b)
{
	size_t i;

	assert_int_equal(a->count, b->count);
	assert_int_equal(a->cut, b->cut);
	for (i = 0; i < a->count; i++) {
		assert_string_equal(a->hits[i].path, b->hits[i].path);
		assert_int_equal(a->hits[i].verdict.score,
				 b->hits[i].verdict.score);
	}
}

static void assert_same_entries(const struct search_paths *a,
				const struct search_paths *b)
{
	size_t i;

	assert_int_equal(a->count, b->count);
	for (i = 0; i < a->count; i++)
		assert_string_equal(a->paths[i], b->paths[i]);
}

static uint64_t turns_served(struct world *w)
{
	uint64_t turns;

	pthread_mutex_lock(&w->searcher->lock);
	turns = w->searcher->quota.turn;
	pthread_mutex_unlock(&w->searcher->lock);
	return turns;
}

/* In turns of one file the answer is that of a single turn.  (An answer of one
 * entry may have taken the work of one file.) */
static void assert_turns_do_not_matter(struct world *w,
				       const struct search_caller *caller)
{
	static const struct {
		enum kind kind;
		const char *path;
	} queries[] = { { FILES, "a/copy0" }, { FILES, "a/variant1" },
			{ DIRECTORIES, "a" }, { DIRECTORIES, "b" },
			{ BROWSE, "" },       { BROWSE, "a" },
			{ BROWSE, "lone" } };
	struct answer whole, parts;
	uint64_t turn;
	size_t i;

	for (i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		w->searcher->turn_work = SIZE_MAX;
		get(w, queries[i].kind, queries[i].path, caller, &whole);
		w->searcher->turn_work = 1;
		turn = turns_served(w);
		get(w, queries[i].kind, queries[i].path, caller, &parts);
		if (whole.hits.count + whole.entries.count > 1)
			assert_true(turns_served(w) > turn);
		assert_same_hits(&whole.hits, &parts.hits);
		assert_same_entries(&whole.entries, &parts.entries);
		answer_release(&whole);
		answer_release(&parts);
	}
}

static void make_two_alike(struct world *w)
{
	make_directory(w, "a");
	make_directory(w, "b");
	make_directory(w, "lone");
	make_directory(w, "closed");
	make_files(w, "a", "copy", 20, 1, false);
	make_files(w, "a", "variant", 5, 1, true);
	make_files(w, "b", "copy", 15, 1, false);
	make_files(w, "b", "variant", 4, 1, true);
	make_files(w, "lone", "other", 1, 2, false);
	make_files(w, "closed", "variant", 9, 1, true);
	make_files(w, "closed", "other", 30, 2, false);
	start_search(w);
}

WITH_TREE(test_an_answer_in_turns_is_that_of_one_turn)
{
	make_two_alike(*state);
	assert_turns_do_not_matter(*state, &trusted);
}

WITH_TREE(test_the_same_for_a_caller_that_cannot_see_all)
{
	struct world *w = *state;
	struct answer a;
	size_t i;

	if (geteuid()) {
		skip();
		return;
	}
	make_two_alike(w);
	assert_int_equal(fchmodat(w->fd, "closed", 0700, 0), 0);
	assert_turns_do_not_matter(w, &other);
	get(w, FILES, "lone/other0", &other, &a);
	assert_int_equal(a.hits.count, 0);
	answer_release(&a);
	get(w, FILES, "a/variant0", &other, &a);
	assert_true(a.hits.count > 0);
	for (i = 0; i < a.hits.count; i++)
		assert_true(strncmp(a.hits.hits[i].path, "closed/", 7) != 0);
	answer_release(&a);
	get(w, BROWSE, "", &other, &a);
	assert_int_equal(a.entries.count, 2);
	answer_release(&a);
}

static size_t waiting_for_a_slot(struct world *w)
{
	const struct search_job *job;
	size_t count = 0;

	pthread_mutex_lock(&w->searcher->lock);
	for (job = w->searcher->ready; job; job = job->next)
		count++;
	pthread_mutex_unlock(&w->searcher->lock);
	return count;
}

/* Users with large directories, more of them than slots, do not keep a user
 * with a small one waiting until they are done, although they came first. */
WITH_TREE(test_large_directories_leave_room_for_a_small_one)
{
	enum { LARGE = 3 * SEARCH_SLOTS };
	struct world *w = *state;
	static struct search_caller callers[LARGE + 1];
	struct answer large[LARGE], small;
	unsigned i;

	make_directory(w, "large");
	make_directory(w, "small");
	make_files(w, "large", "copy", 100, 1, false);
	make_files(w, "small", "copy", 2, 2, false);
	w->searcher->turn_work = 1;
	w->searcher->slot_count = 0; /* until all of the large ones wait */
	start_search(w);
	for (i = 0; i <= LARGE; i++) {
		callers[i].trusted = true;
		callers[i].credentials.uid = USER + i;
	}
	for (i = 0; i < LARGE; i++)
		assert_int_equal(
			ask(w, BROWSE, "large", &callers[i], &large[i]), 0);
	while (waiting_for_a_slot(w) < LARGE)
		;
	pthread_mutex_lock(&w->searcher->lock);
	w->searcher->slot_count = 1; /* so that turns alone decide */
	pthread_mutex_unlock(&w->searcher->lock);
	get(w, BROWSE, "small", &callers[LARGE], &small);
	assert_int_equal(small.place, 1);
	assert_int_equal(small.entries.count, 2);
	answer_release(&small);
	for (i = 0; i < LARGE; i++) {
		assert_int_equal(answer_wait(&large[i]), 0);
		assert_int_equal(large[i].entries.count, 100);
		answer_release(&large[i]);
	}
}

/* Of files with one content no more than a constant number is examined for
 * each entry. */
WITH_TREE(test_identical_files_are_listed_in_linear_time)
{
	enum { COUNT = 500 };
	struct world *w = *state;
	const struct search_caller *callers[] = { &trusted, &other };
	struct answer a;
	uint64_t turn;
	size_t i;

	make_directory(w, "d");
	make_files(w, "d", "copy", COUNT, 1, false);
	w->searcher->turn_work = 1;
	start_search(w);
	for (i = 0; i < (geteuid() ? 1 : 2); i++) {
		turn = w->searcher->quota.turn;
		get(w, BROWSE, "d", callers[i], &a);
		assert_int_equal(a.entries.count, COUNT);
		assert_in_range(w->searcher->quota.turn - turn, COUNT / 2,
				3 * COUNT);
		answer_release(&a);
	}
}
