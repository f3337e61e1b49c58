/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/queue/fixture.h"

/* What requests are answered with, and results on their way to the catalog. */

static struct result *make_result(uint64_t inode, uint64_t size)
{
	struct result *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->key = key_number(inode);
	r->identity.size = size;
	r->error = EIO;
	return r;
}

static bool has_result(struct queue *q, uint64_t inode, uint64_t size)
{
	const struct file_identity id = { .size = size };
	struct file_key key = key_number(inode);
	struct result *found = queue_find_result(q, &key, &id);

	result_free(found);
	return found != NULL;
}

/* As a worker does. */
static void end_job(struct queue *q, struct job *job, struct result *r,
		    int (*post)(void *arg, struct result *r), void *arg)
{
	bool is_posted;

	atomic_fetch_add(&r->shared, 1);
	is_posted = !post(arg, r);
	if (!is_posted)
		result_free(r);
	queue_done(q, job, r, is_posted);
}

static struct result *posted;

static int keep_posted(void *arg, struct result *r)
{
	(void)arg;
	posted = r;
	return 0;
}

TEST(test_a_result_is_there_until_it_is_committed)
{
	struct queue *q = queue_make();

	push(q, 1, JOB_SCAN);
	end_job(q, queue_take(q, true, NULL), make_result(1, 1), keep_posted,
		q);
	assert_true(has_result(q, 1, 1));
	assert_false(has_result(q, 1, 2));
	queue_committed(q, posted);
	assert_false(has_result(q, 1, 1));
	result_free(posted);
	queue_remove(q);
}

/* A worker ends between the moment at which a caller finds no result and that
 * at which it parks its request. */
TEST(test_a_result_that_comes_before_the_request_answers_it)
{
	const struct file_identity seen = { .size = 1 }, other = { .size = 2 };
	struct outcome o = OUTCOME_INIT, later = OUTCOME_INIT;
	struct file_key key = key_number(1);
	struct parked_request parked = { .identity = &seen,
					 .deadline_ms = INT64_MAX,
					 .done = on_found,
					 .arg = &o };
	struct queue *q = queue_make();

	push(q, 1, JOB_SCAN);
	end_job(q, queue_take(q, true, NULL), make_result(1, 1), keep_posted,
		q);
	assert_int_equal(queue_park(q, &key, &parked), 0);
	assert_counts(q, 0, 0);
	assert_int_equal(outcome_wait(&o), 0);
	assert_int_equal(o.answer.identity.size, 1);
	assert_true(has_result(q, 1, 1));

	/* That of another state of the file does not. */
	parked.identity = &other;
	parked.arg = &later;
	assert_int_equal(queue_park(q, &key, &parked), 0);
	assert_counts(q, 1, 0);
	queue_committed(q, posted);
	result_free(posted);
	take(q, false, 1);
	assert_int_equal(outcome_wait(&later), 0);
	queue_remove(q);
}

static int commit_at_once(void *arg, struct result *r)
{
	queue_committed(arg, r);
	result_free(r);
	return 0;
}

TEST(test_a_result_may_be_committed_while_it_is_posted)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue_counts counts;
	struct queue *q = queue_make();

	assert_int_equal(park_request(q, &key, 0, &o), 0);
	end_job(q, queue_take(q, false, NULL), make_result(1, 1),
		commit_at_once, q);
	assert_int_equal(outcome_wait(&o), 0);
	assert_int_equal(o.answer.identity.size, 1);
	queue_counts(q, &counts);
	assert_int_equal(counts.running, 0);
	queue_remove(q);
}

/* The file gets another identity; that would block if the queue were locked. */
static int change_and_keep(void *arg, struct result *r)
{
	const struct file_identity id = { .size = 2 };

	assert_int_equal(queue_push(arg, &r->key, JOB_SCAN, &id), 0);
	posted = r;
	return 0;
}

TEST(test_a_file_that_changes_while_it_is_posted_runs_again)
{
	struct queue *q = queue_make();

	push(q, 1, JOB_SCAN);
	end_job(q, queue_take(q, true, NULL), make_result(1, 1),
		change_and_keep, q);
	assert_false(has_result(q, 1, 1));
	assert_counts(q, 1, 0);
	queue_committed(q, posted);
	result_free(posted);
	take(q, true, 1);
	queue_remove(q);
}

static int refuse(void *arg, struct result *r)
{
	(void)arg;
	(void)r;
	return -ENOSPC;
}

TEST(test_a_result_that_cannot_be_posted_is_answered_and_gone)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue *q = queue_make();

	assert_int_equal(park_request(q, &key, 0, &o), 0);
	end_job(q, queue_take(q, false, NULL), make_result(1, 1), refuse, q);
	assert_int_equal(outcome_wait(&o), 0);
	assert_int_equal(o.answer.identity.size, 1);
	assert_false(has_result(q, 1, 1));
	queue_remove(q);
}

TEST(test_only_the_result_of_the_last_run_is_an_answer)
{
	const struct file_identity changed = { .size = 2 };
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue *q = queue_make();
	struct job *job;

	assert_int_equal(park_request(q, &key, 0, &o), 0);
	job = queue_take(q, false, NULL);
	queue_identify(q, job, &identity);
	assert_int_equal(queue_push(q, &key, JOB_CLOSED, &changed), 0);
	end_job(q, job, make_result(1, 1), refuse, q);
	assert_int_equal(o.calls, 0);
	end_job(q, queue_take(q, false, NULL), make_result(1, 2), refuse, q);
	assert_int_equal(outcome_wait(&o), 0);
	assert_int_equal(o.answer.identity.size, 2);
	queue_remove(q);
}

TEST(test_a_file_is_doubted_until_it_was_hashed)
{
	struct file_key key = key_number(1);
	struct queue *q = queue_make();

	assert_false(queue_doubts_file(q, &key));
	push(q, 1, JOB_SCAN);
	assert_false(queue_doubts_file(q, &key));
	assert_int_equal(queue_push_changed(q, &key, &identity), 0);
	assert_true(queue_doubts_file(q, &key));
	assert_int_equal(queue_start(q), 0);
	end_job(q, queue_take(q, true, NULL), make_result(1, 1), refuse, q);
	assert_false(queue_doubts_file(q, &key));
	queue_remove(q);
}

/* Results that are not committed fill the queue; then there is room for files
 * of the pending list. */
TEST(test_what_is_committed_makes_room)
{
	enum { FULL = QUEUE_MAX / 2 };
	const struct file_key more = key_number(FULL + 1);
	struct result **results = calloc(FULL, sizeof(struct result *));
	struct queue *q = queue_make();
	int i;

	assert_non_null(results);
	for (i = 0; i < FULL; i++) {
		push(q, (uint64_t)i + 1, JOB_SCAN);
		end_job(q, queue_take(q, WORKER_BACKGROUND, NULL),
			make_result((uint64_t)i + 1, 1), keep_posted, q);
		results[i] = posted;
	}
	assert_int_equal(queue_push(q, &more, JOB_SCAN, NULL), -ENOBUFS);
	for (i = 0; i < FULL; i++) {
		queue_committed(q, results[i]);
		result_free(results[i]);
	}
	assert_int_equal(queue_push(q, &more, JOB_SCAN, NULL), 0);
	free(results);
	queue_remove(q);
}

/* Wherever its job is: nobody takes a job any more. */
TEST(test_every_wait_ends_when_the_queue_stops)
{
	static const uint32_t demanded[] = { 0, QUEUE_TEXT, 1 };
	struct outcome outcomes[2][3];
	struct file_key key = key_number(1);
	struct queue *q = queue_make();
	struct job *job;
	int i, j;

	for (i = 0; i < 2; i++)
		for (j = 0; j < 3; j++) {
			struct outcome *o = &outcomes[i][j];

			*o = (struct outcome)OUTCOME_INIT;
			o->parked = (struct parked_request){
				.demanded = demanded[j],
				.deadline_ms = INT64_MAX,
				.done = on_found,
				.arg = o
			};
			key.inode = (uint64_t)i + 1;
			assert_int_equal(queue_park(q, &key, &o->parked), 0);
		}
	job = queue_take(q, WORKER_SERVING, NULL);
	queue_delay(q, queue_take(q, WORKER_TEXT, NULL), DEADLINE_S * 1000,
		    false);
	queue_stop(q);
	for (i = 0; i < 2; i++)
		for (j = 0; j < 3; j++)
			assert_int_equal(outcome_wait(&outcomes[i][j]),
					 -ECANCELED);
	assert_int_equal(queue_park(q, &key, &outcomes[0][0].parked),
			 -ECANCELED);
	finish(q, job);
	assert_int_equal(q->quota.used, 0);
	queue_remove(q);
}

/* ---- files that were closed ---- */

static void close_file(struct queue *q, uint64_t inode, uint64_t size)
{
	const struct file_identity id = { .size = size };
	struct file_key key = key_number(inode);

	assert_int_equal(queue_push(q, &key, JOB_CLOSED, &id), 0);
}

static size_t count_closed(struct queue *q, uint64_t until)
{
	struct file_key keys[8];
	uint64_t after = 0;

	return queue_list_closed(q, &after, until, keys, 8);
}

static int park_closed(struct queue *q, uint64_t inode, uint64_t until,
		       struct outcome *o)
{
	struct file_key key = key_number(inode);

	*o = (struct outcome)OUTCOME_INIT;
	o->parked = (struct parked_request){ .closed_until = until,
					     .deadline_ms = INT64_MAX,
					     .done = on_found,
					     .arg = o };
	return queue_park(q, &key, &o->parked);
}

/* Flush and release are one closing; those after a query began are none of its
 * business. */
TEST(test_what_was_closed_before_a_query)
{
	struct queue *q = queue_make();
	struct outcome o;
	uint64_t began;

	push(q, 1, JOB_SCAN);
	close_file(q, 2, 1);
	began = queue_closings(q);
	close_file(q, 2, 1);
	close_file(q, 3, 1);
	assert_int_equal(count_closed(q, began), 1);
	assert_int_equal(park_closed(q, 1, began, &o), -ENOENT);
	assert_int_equal(park_closed(q, 3, began, &o), -ENOENT);
	assert_int_equal(park_closed(q, 2, began, &o), 0);
	take(q, WORKER_SERVING, 2); /* does not coalesce any more */
	assert_int_equal(outcome_wait(&o), 0);
	assert_int_equal(count_closed(q, began), 0);
	queue_remove(q);
}

/* Also while it is hashed. */
TEST(test_a_file_that_is_written_all_the_time_holds_no_query_up)
{
	struct queue *q = queue_make();
	struct outcome o[2];
	struct job *job;

	close_file(q, 1, 1);
	assert_int_equal(park_closed(q, 1, queue_closings(q), &o[0]), 0);
	close_file(q, 1, 2);
	assert_int_equal(outcome_wait(&o[0]), 0);
	assert_int_equal(park_closed(q, 1, queue_closings(q), &o[1]), 0);
	job = queue_take(q, WORKER_SERVING, NULL);
	queue_identify(q, job, &identity);
	close_file(q, 1, 3);
	assert_int_equal(outcome_wait(&o[1]), 0);
	finish(q, job);
	assert_int_equal(count_closed(q, queue_closings(q)), 1);
	queue_remove(q);
}

TEST(test_one_query_waits_in_vain_for_a_file)
{
	struct queue *q = queue_make();
	struct outcome o;

	close_file(q, 1, 1);
	assert_int_equal(queue_start(q), 0);
	assert_int_equal(park_closed(q, 1, queue_closings(q), &o), 0);
	pthread_mutex_lock(&q->lock);
	o.parked.deadline_ms = 0;
	pthread_mutex_unlock(&q->lock);
	queue_wake_timer(q);
	assert_int_equal(outcome_wait(&o), -ETIMEDOUT);
	assert_int_equal(park_closed(q, 1, queue_closings(q), &o), -ETIMEDOUT);
	close_file(q, 1, 2);
	assert_int_equal(park_closed(q, 1, queue_closings(q), &o), 0);
	queue_stop(q);
	assert_int_equal(outcome_wait(&o), -ECANCELED);
	queue_remove(q);
}
