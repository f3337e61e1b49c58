/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/search/fixture.h"

WITH_TREE(test_copies_and_variants_are_hits)
{
	struct world *w = *state;
	struct answer a;

	make_directory(w, "d");
	make_files(w, "d", "copy", 3, 1, false);
	make_files(w, "", "variant", 2, 1, true);
	make_files(w, "", "unrelated", 1, 2, false);
	start_search(w);
	get(w, FILES, "d/copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 4);
	assert_string_equal(a.hits.hits[0].path, "d/copy1");
	assert_string_equal(a.hits.hits[1].path, "d/copy2");
	assert_int_equal(a.hits.hits[1].verdict.score, 100);
	assert_in_range(a.hits.hits[2].verdict.score, 60, 99);
	answer_release(&a);
	get(w, BROWSE, "", &trusted, &a);
	assert_int_equal(a.entries.count, 3);
	assert_string_equal(a.entries.paths[0], "d");
	answer_release(&a);
}

WITH_TREE(test_a_changed_file_is_reported_and_not_listed)
{
	struct world *w = *state;
	struct queue_counts counts;
	struct answer a;
	int fd;

	make_files(w, "", "copy", 2, 1, false);
	fd = openat(w->fd, "copy1", O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
	start_search(w);
	get(w, FILES, "copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 0);
	queue_counts(&w->queue, &counts);
	assert_int_equal(counts.queued + counts.delayed, 1);
	answer_release(&a);
}

/* The catalog still says d/copy1: only what the disk has counts. */
WITH_TREE(test_paths_that_no_longer_lead_there_are_not_listed)
{
	struct world *w = *state;
	struct answer a;

	make_directory(w, "d");
	make_files(w, "d", "copy", 2, 1, false);
	w->searcher->slot_count = 1;
	w->searcher->trust_ms = 0;
	start_search(w);
	get(w, FILES, "d/copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 1);
	assert_string_equal(a.hits.hits[0].path, "d/copy1");
	answer_release(&a);
	assert_int_equal(renameat(w->fd, "d", w->fd, "e"), 0);
	get(w, FILES, "e/copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 0);
	answer_release(&a);
	/* A link is not followed, though it leads to the file. */
	assert_int_equal(symlinkat("e", w->fd, "d"), 0);
	get(w, FILES, "e/copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 0);
	answer_release(&a);
}

static void assert_hits(struct world *w, const char *path, size_t count)
{
	struct answer a;

	get(w, FILES, path, &trusted, &a);
	assert_int_equal(a.hits.count, count);
	answer_release(&a);
}

/* The thread has opened d/in, which is still what it was; d is not. */
WITH_TREE(test_directories_above_must_be_in_place)
{
	struct world *w = *state;

	make_directory(w, "d");
	make_directory_in(w, "d", "in");
	make_files(w, "d/in", "copy", 2, 1, false);
	w->searcher->slot_count = 1;
	w->searcher->trust_ms = 0;
	start_search(w);
	assert_hits(w, "d/in/copy0", 1);
	assert_int_equal(renameat(w->fd, "d", w->fd, "e"), 0);
	assert_hits(w, "e/in/copy0", 0);
	assert_int_equal(mkdirat(w->fd, "d", 0755), 0);
	assert_hits(w, "e/in/copy0", 0);
	/* The path leads there, whatever is above. */
	assert_int_equal(renameat(w->fd, "e/in", w->fd, "d/in"), 0);
	assert_hits(w, "d/in/copy0", 1);
	assert_int_equal(unlinkat(w->fd, "e", AT_REMOVEDIR), 0);
	assert_int_equal(renameat(w->fd, "d", w->fd, "e"), 0);
	assert_hits(w, "e/in/copy0", 0);
}

WITH_TREE(test_a_directory_may_come_back)
{
	struct world *w = *state;

	make_directory(w, "d");
	make_directory_in(w, "d", "in");
	make_files(w, "d/in", "copy", 2, 1, false);
	w->searcher->slot_count = 1;
	w->searcher->trust_ms = 0;
	start_search(w);
	assert_hits(w, "d/in/copy0", 1);
	assert_int_equal(renameat(w->fd, "d/in", w->fd, "other"), 0);
	assert_hits(w, "other/copy0", 0);
	assert_int_equal(renameat(w->fd, "other", w->fd, "d/in"), 0);
	assert_hits(w, "d/in/copy0", 1);
	assert_hits(w, "d/in/copy1", 1);
}

/* Another file of the same size and times, as cp -p makes it. */
WITH_TREE(test_another_file_of_that_name_is_not_listed)
{
	struct world *w = *state;
	struct timespec times[2];
	struct answer a;
	struct stat st;
	char text[LEN];
	int fd;

	make_files(w, "", "copy", 2, 1, false);
	assert_int_equal(fstatat(w->fd, "copy1", &st, 0), 0);
	text_of(text, 2);
	fd = openat(w->fd, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, text, LEN), LEN);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	assert_int_equal(renameat(w->fd, "new", w->fd, "copy1"), 0);
	start_search(w);
	get(w, FILES, "copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 0);
	answer_release(&a);
}

/* Has the file of that name hashed: it may have changed unseen. */
static void doubt(struct world *w, const char *name, bool changes)
{
	struct file_identity identity;
	struct file_key key;
	struct stat st;
	int fd = openat(w->fd, name, O_RDWR | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	if (changes)
		assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(fstat(fd, &st), 0);
	source_get_key(&w->source, fd, &st, &key);
	source_get_identity(&st, &identity);
	close(fd);
	assert_int_equal(queue_push_changed(&w->queue, &key, &identity), 0);
}

/* A worker that finds out that the file is what it was. */
static void end_job(struct world *w)
{
	queue_done(&w->queue, queue_take(&w->queue, WORKER_SERVING, NULL), NULL,
		   false);
}

/* Seven events are posted, the last of which is still to be committed. */
static void post_events(struct world *w)
{
	w->events.posted = 7;
	w->events.count = 1;
}

/* Whether a query waits for the commit. */
static bool is_held(struct world *w)
{
	bool held;

	pthread_mutex_lock(&w->events.lock);
	held = w->events.urgent;
	pthread_mutex_unlock(&w->events.lock);
	return held;
}

static void commit_events(struct world *w, uint64_t number)
{
	pthread_mutex_lock(&w->events.lock);
	w->events.committed = number;
	pthread_cond_broadcast(&w->events.progress);
	pthread_mutex_unlock(&w->events.lock);
}

static void wait_until_parked(struct world *w)
{
	struct queue_counts counts;

	do
		queue_counts(&w->queue, &counts);
	while (!counts.waiting);
}

WITH_TREE(test_a_query_waits_for_digests_and_for_the_committer)
{
	struct world *w = *state;
	struct answer a;

	make_files(w, "", "copy", 2, 1, false);
	doubt(w, "copy0", false);
	post_events(w);
	start_search(w);
	assert_int_equal(ask(w, FILES, "copy0", &trusted, &a), 0);
	wait_until_parked(w);
	assert_false(is_held(w));
	end_job(w);
	while (!is_held(w))
		;
	commit_events(w, 6);
	assert_false(a.done);
	commit_events(w, 7);
	assert_int_equal(answer_wait(&a), 0);
	assert_int_equal(a.hits.count, 1);
	answer_release(&a);
}

WITH_TREE(test_digests_are_asked_for_again_if_the_file_changed)
{
	struct world *w = *state;
	struct answer a;

	make_files(w, "", "copy", 2, 1, false);
	post_events(w);
	start_search(w);
	assert_int_equal(ask(w, FILES, "copy0", &trusted, &a), 0);
	while (!is_held(w))
		;
	doubt(w, "copy0", true);
	commit_events(w, 7);
	assert_int_equal(answer_wait(&a), 0);
	assert_int_equal(a.hits.file.state, DIGESTS_PENDING);
	assert_int_equal(a.hits.count, 0);
	answer_release(&a);
}

WITH_TREE(test_a_wait_that_fails_ends_the_query)
{
	struct world *w = *state;
	struct queue_ticket ticket;
	struct answer a;

	make_files(w, "", "copy", 2, 1, false);
	doubt(w, "copy0", false);
	start_search(w);
	queue_ticket_init(&ticket);
	assert_int_equal(ask_by(w, FILES, "copy0", &trusted, &ticket, &a), 0);
	wait_until_parked(w);
	queue_give_up_waiting(&w->queue, ticket.number);
	assert_int_equal(answer_wait(&a), -EINTR);
	answer_release(&a);
}

WITH_TREE(test_queries_are_canceled_at_the_end)
{
	struct world *w = *state;
	struct answer first, second;

	make_files(w, "", "copy", 2, 1, false);
	post_events(w);
	assert_int_equal(ask(w, BROWSE, "", &trusted, &first), 0);
	assert_int_equal(ask(w, FILES, "copy0", &trusted, &second), 0);
	start_search(w);
	while (!is_held(w))
		;
	atomic_store(&w->stopping, true);
	events_unblock(&w->events);
	search_stop(w->searcher);
	assert_int_equal(answer_wait(&first), -ECANCELED);
	assert_int_equal(answer_wait(&second), -ECANCELED);
	answer_release(&first);
	answer_release(&second);
	assert_int_equal(ask(w, BROWSE, "", &trusted, &first), -ECANCELED);
	close(first.fd);
}

/* No thread was ever started. */
WITH_TREE(test_jobs_without_a_thread_end_at_the_end)
{
	struct world *w = *state;
	struct answer a;

	make_files(w, "", "copy", 2, 1, false);
	assert_int_equal(ask(w, BROWSE, "", &trusted, &a), 0);
	atomic_store(&w->stopping, true);
	search_stop(w->searcher);
	assert_int_equal(answer_wait(&a), -ECANCELED);
	answer_release(&a);
}
