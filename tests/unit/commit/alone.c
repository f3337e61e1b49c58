/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/commit/fixture.h"
#include "tests/support/index_count.h"

/* What becomes of each kind of event, and what the committer asks for. */

/* ---- what becomes of an event ---- */

#define WITH_FIXTURE(name) TEST_WITH(name, set_up, tear_down)

WITH_FIXTURE(test_a_result_is_in_the_catalog_and_the_index)
{
	struct recorder *r = *state;
	struct file_record rec;

	add_name(r, 0, "a", 1, false);
	post(r, new_result(1, 77));
	expect_committed(r);
	assert_true(was_feed_wanted(r));
	assert_int_equal(get_file(r, 1, &rec), 0);
	assert_int_equal(rec.state, FILE_FRESH);
	assert_int_equal(index_count(r->index), 1);
	post(r, new_event(EVENT_FORGET, 1));
	settle(r);
	assert_int_equal(get_file(r, 1, &rec), -ENOENT);
	assert_int_equal(index_count(r->index), 0);
}

WITH_FIXTURE(test_a_file_that_cannot_be_read)
{
	struct recorder *r = *state;
	struct event *ev = new_result(1, 77);
	struct file_record rec;

	add_name(r, 0, "a", 1, false);
	ev->result->error = EIO;
	post(r, ev);
	settle(r);
	assert_int_equal(get_file(r, 1, &rec), 0);
	assert_int_equal(rec.state, FILE_FAILED);
	assert_int_equal(rec.error, EIO);
}

/* As a worker does that feeds the queue: whether the result of file 1 is still
 * there, and so its job. */
static void *feed(void *arg)
{
	const struct file_identity identity = identity_of(77);
	const struct file_key key = key_of(1);
	struct recorder *r = arg;
	struct result *found;

	(void)queue_take(&r->queue, WORKER_BACKGROUND, NULL);
	found = queue_find_result(&r->queue, &key, &identity);
	if (!found)
		return NULL;
	result_free(found);
	return r;
}

/* A file that a later event of its batch makes pending again is not queued while
 * it has a job, so it would wait until the next scan. */
WITH_FIXTURE(test_jobs_are_gone_before_the_queue_is_fed)
{
	enum { RESULTS = 2000 };
	const struct file_key key = key_of(1);
	struct recorder *r = *state;
	pthread_t feeder;
	struct job *job;
	void *is_there;
	int i;

	add_name(r, 0, "a", 1, false);
	settle(r);
	(void)was_feed_wanted(r);
	assert_int_equal(queue_push(&r->queue, &key, JOB_SCAN, NULL), 0);
	job = queue_take(&r->queue, WORKER_BACKGROUND, NULL);
	assert_int_equal(pthread_create(&feeder, NULL, feed, r), 0);
	for (i = 0; i < RESULTS; i++)
		post(r, new_result(1, 77));
	atomic_fetch_add(&r->last->shared, 1);
	queue_done(&r->queue, job, r->last, true);
	post(r, new_event(EVENT_PENDING, 1));
	settle(r);
	assert_int_equal(pthread_join(feeder, &is_there), 0);
	assert_null(is_there);
}

WITH_FIXTURE(test_what_is_not_known_is_looked_for)
{
	struct recorder *r = *state;
	struct file_record rec;

	post(r, new_result(1, 77));
	post(r, new_event(EVENT_PENDING, 2));
	add_name(r, 3, "a", 4, false);
	expect_said(r, "unknown 1");
	expect_said(r, "unknown 2");
	expect_said(r, "unknown 3");
	assert_int_equal(get_file(r, 1, &rec), -ENOENT);
	assert_int_equal(get_file(r, 2, &rec), -ENOENT);
	assert_int_equal(get_file(r, 4, &rec), -ENOENT);
}

WITH_FIXTURE(test_what_a_batch_asks_for_is_asked_within_it)
{
	struct recorder *r = *state;

	post(r, new_event(EVENT_PENDING, 2));
	assert_int_equal(events_settle(&r->events), 0);
	pthread_mutex_lock(&r->lock);
	assert_string_equal(r->said.data, "[\nunknown 2\n]\n");
	pthread_mutex_unlock(&r->lock);
}

WITH_FIXTURE(test_a_learned_directory_is_read)
{
	struct recorder *r = *state;
	struct event *ev = new_name(EVENT_NAME_ADDED, 0, "d", 5);

	ev->directory = ev->learned = true;
	ev->version = events_names_version(&r->events, &ROOT);
	post(r, ev);
	expect_said(r, "scan 5");
}

WITH_FIXTURE(test_a_missing_file_is_looked_for_where_it_was)
{
	struct recorder *r = *state;
	struct file_record rec;

	add_name(r, 0, "d", 5, true);
	add_name(r, 5, "a", 1, false);
	post(r, new_event(EVENT_MISSED, 1));
	expect_said(r, "scan 5");
	assert_int_equal(get_file(r, 1, &rec), -ENOENT);
}

WITH_FIXTURE(test_moves)
{
	struct recorder *r = *state;
	struct event *ev;

	add_name(r, 0, "d", 5, true);
	add_name(r, 0, "a", 1, false);
	post(r, new_move(0, "a", 5, "b"));
	expect_paths(r, 1, "d/b\n");
	/* Of what is not known, a file is entered and a directory is read. */
	ev = new_move(0, "x", 5, "y");
	ev->known = true;
	ev->key = key_of(2);
	post(r, ev);
	expect_paths(r, 2, "d/y\n");
	ev = new_move(0, "x", 5, "z");
	ev->known = ev->directory = true;
	ev->key = key_of(6);
	post(r, ev);
	expect_said(r, "scan 6");
	expect_paths(r, 6, "d/z\n");
	post(r, new_move(0, "x", 5, "z"));
	expect_said(r, "scan 5");
	/* To where nothing is known, a name is lost. */
	post(r, new_move(5, "b", 9, "b"));
	expect_said(r, "unknown 9");
	expect_paths(r, 1, "");
}

static struct event *new_known_move(uint64_t key, uint64_t from,
				    const char *name, uint64_t to,
				    const char *new_name_, bool directory)
{
	struct event *ev = new_move(from, name, to, new_name_);

	ev->known = true;
	ev->key = key_of(key);
	ev->directory = directory;
	return ev;
}

/* Nothing of it is dropped and hashed again. */
WITH_FIXTURE(test_a_move_that_the_scan_has_seen)
{
	struct recorder *r = *state;

	add_name(r, 0, "d", 5, true);
	add_name(r, 5, "a", 1, false);
	add_name(r, 0, "b", 2, false);
	post(r, new_known_move(5, 0, "c", 0, "d", true));
	expect_paths(r, 1, "d/a\n");
	expect_paths(r, 5, "d\n");
	assert_false(has_said(r, "scan 5"));
}

/* What the catalog has by that name is not what moved. */
WITH_FIXTURE(test_a_move_that_contradicts_the_catalog)
{
	struct recorder *r = *state;

	add_name(r, 0, "d", 5, true);
	add_name(r, 5, "a", 1, false);
	add_name(r, 0, "e", 6, true);
	post(r, new_known_move(7, 0, "d", 6, "f", true));
	expect_said(r, "scan 0");
	expect_said(r, "scan 7");
	expect_paths(r, 7, "e/f\n");
	expect_paths(r, 1, "d/a\n");
	/* Two names of a file: of a link, or one that is gone. */
	add_name(r, 6, "b", 1, false);
	post(r, new_known_move(1, 5, "a", 6, "b", false));
	expect_said(r, "scan 5");
}

static struct event *new_exchange(uint64_t key, const char *name,
				  const char *new_name_)
{
	struct event *ev = new_known_move(key, 0, name, 0, new_name_, false);

	ev->exchange = true;
	return ev;
}

WITH_FIXTURE(test_an_exchange)
{
	struct recorder *r = *state;

	add_name(r, 0, "a", 1, false);
	add_name(r, 0, "b", 2, false);
	post(r, new_exchange(1, "a", "b"));
	expect_paths(r, 1, "b\n");
	expect_paths(r, 2, "a\n");
	assert_false(has_said(r, "scan 0"));
	/* The scan has seen it already: it is not done again. */
	post(r, new_exchange(1, "a", "b"));
	expect_said(r, "scan 0");
	expect_paths(r, 1, "b\n");
	expect_paths(r, 2, "a\n");
}

/* The scan has seen one end of it, so the file that was there has no name. */
WITH_FIXTURE(test_an_exchange_that_was_seen_in_part)
{
	struct recorder *r = *state;

	add_name(r, 0, "a", 2, false);
	add_name(r, 0, "b", 2, false);
	post(r, new_exchange(1, "a", "b"));
	expect_said(r, "scan 0");
}

WITH_FIXTURE(test_a_moved_directory_is_read_for_what_is_excluded)
{
	struct recorder *r = *state;
	struct event *ev = new_move(0, "d", 0, "e");

	r->source.rules.exclude_count = 1;
	add_name(r, 0, "d", 5, true);
	ev->known = ev->directory = true;
	ev->key = key_of(5);
	post(r, ev);
	expect_said(r, "below 5");
}

WITH_FIXTURE(test_an_impossible_event_holds_up_no_other)
{
	struct recorder *r = *state;

	add_name(r, 0, "d", 5, true);
	post(r, new_move(0, "d", 5, "itself"));
	add_name(r, 0, "a", 1, false);
	expect_said(r, "tree");
	expect_paths(r, 1, "a\n");
}

/* Directory 6 is in 5 as far as the catalog knows.  On disk it was moved to the
 * root, and then 5 into it, but the first of the two events was lost. */
static void lose_a_move(struct recorder *r)
{
	add_name(r, 0, "d", 5, true);
	add_name(r, 5, "e", 6, true);
	add_name(r, 6, "f", 1, false);
	settle(r);
}

WITH_FIXTURE(test_a_directory_is_never_below_itself)
{
	struct recorder *r = *state;

	lose_a_move(r);
	post(r, new_move(0, "d", 6, "d"));
	expect_said(r, "tree");
	expect_paths(r, 1, "d/e/f\n");
	add_name(r, 6, "d", 5, true);
	expect_said(r, "tree");
	expect_paths(r, 1, "d/e/f\n");
}

WITH_FIXTURE(test_a_metadata_change_keeps_the_digests)
{
	struct recorder *r = *state;
	struct event *ev = new_event(EVENT_METADATA, 1);
	struct file_record rec;

	add_name(r, 0, "a", 1, false);
	post(r, new_result(1, 77));
	ev->before = ev->identity = identity_of(77);
	ev->identity.ctime_ns = 5;
	post(r, ev);
	settle(r);
	assert_int_equal(get_file(r, 1, &rec), 0);
	assert_int_equal(rec.state, FILE_FRESH);
	assert_true(file_identity_equal(&rec.identity,
					&(struct file_identity){ 77, 77, 5 }));
}

/* ---- what was read from disk ---- */

static struct source_listing *new_listing(struct recorder *r, const char *names)
{
	struct source_listing *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->directory = ROOT;
	l->version = events_names_version(&r->events, &ROOT);
	for (; *names; names++) {
		char name[2] = { *names, '\0' };
		struct source_entry entry = {
			.key = key_of((uint64_t)*names),
			.identity = identity_of(1),
			.directory = *names < 'a',
			.name = strdup(name),
		};

		assert_int_equal(source_listing_add(l, &entry), 0);
	}
	source_listing_sort(l);
	return l;
}

static int post_listing(struct recorder *r, struct source_listing *l)
{
	struct event *ev = event_new(EVENT_LISTING, NULL);

	assert_non_null(ev);
	ev->listing = l;
	return events_post(&r->events, ev);
}

/* As above, and the scan lists 6 before it lists the root. */
WITH_FIXTURE(test_a_listing_that_contradicts_names_is_used_all_the_same)
{
	struct recorder *r = *state;
	struct source_listing *l;
	struct file_record rec;

	add_name(r, 0, "d", 'D', true);
	add_name(r, 'D', "e", 'E', true);
	settle(r);
	l = new_listing(r, "DFgh");
	l->directory = key_of('E');
	l->version = events_names_version(&r->events, &l->directory);
	assert_int_equal(post_listing(r, l), 0);
	expect_said(r, "tree");
	expect_paths(r, 'g', "d/e/g\n");
	expect_paths(r, 'h', "d/e/h\n");
	assert_int_equal(get_file(r, 'F', &rec), 0);
	assert_int_equal(post_listing(r, new_listing(r, "E")), 0);
	l = new_listing(r, "DFgh");
	l->directory = key_of('E');
	l->version = events_names_version(&r->events, &l->directory);
	assert_int_equal(post_listing(r, l), 0);
	settle(r);
	expect_paths(r, 'g', "E/g\n");
	assert_int_equal(get_file(r, 'D', &rec), 0);
}

WITH_FIXTURE(test_a_listing_is_compared_with_the_catalog)
{
	struct recorder *r = *state;
	struct source_listing *l;
	struct file_record rec;

	assert_int_equal(post_listing(r, new_listing(r, "Dabc")), 0);
	settle(r);
	assert_true(was_feed_wanted(r));
	assert_int_equal(get_file(r, 'b', &rec), 0);
	assert_int_equal(rec.state, FILE_PENDING);
	l = new_listing(r, "DEac");
	l->shallow = true;
	assert_int_equal(post_listing(r, l), 0);
	expect_said(r, "scan 69");
	assert_int_equal(get_file(r, 'b', &rec), -ENOENT);
	assert_int_equal(get_file(r, 'c', &rec), 0);
}

WITH_FIXTURE(test_what_is_older_than_a_change_of_names_is_refused)
{
	struct recorder *r = *state;
	struct source_listing *l = new_listing(r, "ab");
	struct event *ev = new_name(EVENT_NAME_ADDED, 0, "a", 'a');

	ev->learned = true;
	ev->version = events_names_version(&r->events, &ROOT);
	events_names_changed(&r->events, &ROOT);
	post(r, new_name(EVENT_NAME_REMOVED, 0, "a", 'a'));
	assert_int_equal(post_listing(r, l), -ESTALE);
	assert_int_equal(l->count, 2); /* still the caller's */
	source_listing_free(l);
	assert_int_equal(events_post(&r->events, ev), -ESTALE);
}
