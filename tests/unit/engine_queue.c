/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine_fixture.h"

#include <sched.h>
#include <stdatomic.h>

#include "core/queue/queue.h"

/* What is taken when, without workers.  Before queue_start() no time passes
 * for a queue. */

static const struct file_identity identity = { .size = 1 };

static struct file_key key_number(uint64_t inode)
{
	return (struct file_key){ .inode = inode };
}

static struct queue *queue_make(void)
{
	struct queue *q = calloc(1, sizeof(*q));

	assert_non_null(q);
	assert_int_equal(queue_init(q, 2), 0);
	return q;
}

static void queue_remove(struct queue *q)
{
	queue_stop(q);
	queue_release(q);
	free(q);
}

static void push(struct queue *q, uint64_t inode, enum job_level level)
{
	struct file_key key = key_number(inode);

	assert_int_equal(queue_push(q, &key, level, &identity), 0);
}

static void take(struct queue *q, bool background, uint64_t inode)
{
	struct job *job = queue_take(q, background);

	assert_non_null(job);
	assert_int_equal(job->key.inode, inode);
	queue_finish(q, job);
}

/* Keeps the size of what was found; 0: nothing. */
static void on_found(void *arg, int err, const struct result *found)
{
	struct file_digests answer = { 0 };

	if (found)
		answer.identity = found->identity;
	on_answer(arg, err, &answer);
}

static int park_request(struct queue *q, const struct file_key *key, uid_t uid,
			struct outcome *o)
{
	const struct parked_request parked = {
		.uid = uid, .deadline_ms = INT64_MAX, .done = on_found, .arg = o
	};

	return queue_park(q, key, &parked);
}

static void assert_counts(struct queue *q, size_t queued, size_t delayed)
{
	struct queue_counts counts;

	queue_counts(q, &counts);
	assert_int_equal(counts.queued, queued);
	assert_int_equal(counts.delayed, delayed);
}

static void test_closed_rests_first(void **state)
{
	struct queue *q = queue_make();

	(void)state;
	push(q, 1, JOB_CLOSED);
	push(q, 2, JOB_SCAN);
	assert_counts(q, 1, 1);
	take(q, true, 2);
	assert_int_equal(queue_start(q), 0);
	take(q, true, 1);
	assert_counts(q, 0, 0);
	queue_remove(q);
}

static void test_closed_before_scan_when_rested(void **state)
{
	struct queue_counts counts = { 0 };
	struct queue *q = queue_make();
	struct timespec pause = { 0, 1000000 };

	(void)state;
	push(q, 1, JOB_SCAN);
	push(q, 2, JOB_CLOSED);
	assert_int_equal(queue_start(q), 0);
	while (counts.queued < 2) {
		nanosleep(&pause, NULL);
		queue_counts(q, &counts);
	}
	take(q, true, 2);
	take(q, true, 1);
	queue_remove(q);
}

static void test_who_waits_does_not_wait_for_the_rest(void **state)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue *q = queue_make();

	(void)state;
	push(q, 1, JOB_CLOSED);
	assert_int_equal(park_request(q, &key, 0, &o), 0);
	assert_counts(q, 1, 0);
	take(q, false, 1);
	assert_int_equal(outcome_wait(&o), 0);
	queue_remove(q);
}

static void test_who_waits_has_a_delay_looked_at(void **state)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue *q = queue_make();

	(void)state;
	push(q, 1, JOB_SCAN);
	queue_delay(q, queue_take(q, true), DEADLINE_S * 1000, false);
	assert_counts(q, 0, 1);
	assert_int_equal(park_request(q, &key, 0, &o), 0);
	take(q, false, 1);
	assert_int_equal(outcome_wait(&o), 0);
	queue_remove(q);
}

static void test_who_joins_late_has_it_looked_at_again(void **state)
{
	struct outcome early = OUTCOME_INIT, late = OUTCOME_INIT;
	struct file_key key = key_number(1);
	struct queue *q = queue_make();
	struct job *job;

	(void)state;
	assert_int_equal(park_request(q, &key, 0, &early), 0);
	job = queue_take(q, false);
	(void)queue_identify(q, job, &identity);
	queue_give_up(q, job);
	assert_int_equal(outcome_wait(&early), 0);
	assert_counts(q, 0, 0);

	push(q, 1, JOB_SCAN);
	job = queue_take(q, true);
	(void)queue_identify(q, job, &identity);
	assert_int_equal(park_request(q, &key, 0, &late), 0);
	queue_give_up(q, job);
	assert_counts(q, 1, 0);
	take(q, false, 1);
	assert_int_equal(outcome_wait(&late), 0);
	queue_remove(q);
}

/* ---- large files ---- */

static const struct file_identity large = { .size = QUEUE_LARGE };

static struct outcome outcomes[64];

/* Somebody waits for the file of that number. */
static void park(struct queue *q, uint64_t inode, uid_t uid)
{
	struct file_key key = key_number(inode);

	outcomes[inode] = (struct outcome)OUTCOME_INIT;
	assert_int_equal(park_request(q, &key, uid, &outcomes[inode]), 0);
}

/* What a worker does that sees how large the file is. */
static struct job *take_large(struct queue *q, bool background, uint64_t inode)
{
	struct job *job = queue_take(q, background);

	assert_non_null(job);
	assert_int_equal(job->key.inode, inode);
	(void)queue_identify(q, job, &large);
	return job;
}

static void test_large_files_leave_a_worker(void **state)
{
	struct queue *q = queue_make();
	struct job *jobs[3], *job;
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		park(q, 1 + (uint64_t)i, 10 + (uid_t)i);
	for (i = 0; i < 3; i++) {
		jobs[i] = take_large(q, false, 1 + (uint64_t)i);
		assert_true(queue_admit(q, jobs[i]));
	}
	job = take_large(q, false, 4);
	assert_false(queue_admit(q, job));
	queue_hand_over(q, job, NULL);
	assert_counts(q, 1, 0);

	/* Also for those whose large files are read. */
	park(q, 5, 10);
	take(q, false, 5);
	queue_finish(q, jobs[0]);
	job = take_large(q, false, 4);
	assert_true(queue_admit(q, job));
	queue_finish(q, job);
	queue_finish(q, jobs[1]);
	queue_finish(q, jobs[2]);
	queue_remove(q);
}

/* One user's large files leave a worker for those of another. */
static void test_large_files_of_one_user_leave_a_worker(void **state)
{
	struct queue *q = queue_make();
	struct job *jobs[3], *job;
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		park(q, 1 + (uint64_t)i, 10);
	for (i = 0; i < 2; i++) {
		jobs[i] = take_large(q, false, 1 + (uint64_t)i);
		assert_true(queue_admit(q, jobs[i]));
	}
	job = take_large(q, false, 3);
	assert_false(queue_admit(q, job));
	queue_hand_over(q, job, NULL);
	park(q, 4, 11);
	jobs[2] = take_large(q, false, 4);
	assert_true(queue_admit(q, jobs[2]));
	for (i = 0; i < 3; i++)
		queue_finish(q, jobs[i]);
	queue_remove(q);
}

static void test_large_files_leave_a_worker_in_the_background(void **state)
{
	struct queue *q = queue_make();
	struct job *jobs[2], *job;
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		push(q, 1 + (uint64_t)i, JOB_SCAN);
	for (i = 0; i < 2; i++) {
		jobs[i] = take_large(q, true, 1 + (uint64_t)i);
		assert_true(queue_admit(q, jobs[i]));
	}
	job = take_large(q, true, 3);
	assert_false(queue_admit(q, job));
	queue_hand_over(q, job, NULL);
	push(q, 4, JOB_SCAN);
	take(q, true, 4);
	queue_finish(q, jobs[0]);
	job = take_large(q, true, 3);
	assert_true(queue_admit(q, job));
	queue_finish(q, job);
	queue_finish(q, jobs[1]);
	queue_remove(q);
}

static struct kept *kept_make(uint64_t done)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	assert_non_null(kept);
	kept->done = done;
	return kept;
}

/* After its time a large file makes room for that of another user, and goes on
 * later from where it was. */
static void test_large_files_take_turns(void **state)
{
	struct queue *q = queue_make();
	struct job *first, *second;

	(void)state;
	q->slice_ms = 0;
	park(q, 1, 10);
	first = take_large(q, false, 1);
	assert_int_equal(queue_recall(q, first), QUEUE_GO_ON);
	park(q, 2, 10);
	second = take_large(q, false, 2);
	queue_hand_over(q, second, NULL);
	assert_int_equal(queue_recall(q, first), QUEUE_GO_ON);
	park(q, 3, 11);
	second = take_large(q, false, 3);
	queue_hand_over(q, second, NULL);
	assert_int_equal(queue_recall(q, first), QUEUE_TURN_OVER);
	queue_hand_over(q, first, kept_make(12345));
	assert_counts(q, 3, 0);
	queue_finish(q, take_large(q, false, 2));
	queue_finish(q, take_large(q, false, 3));
	first = take_large(q, false, 1);
	assert_non_null(first->kept);
	assert_int_equal(first->kept->done, 12345);
	kept_free(first->kept);
	first->kept = NULL;
	queue_finish(q, first);
	queue_remove(q);
}

/* A slice ends only where the work can be kept; what nobody waits for gives
 * way. */
static void test_what_is_kept_is_bounded(void **state)
{
	struct queue *q = queue_make();
	struct job *job, *first;
	struct kept *kept;
	uint64_t i;

	(void)state;
	q->slice_ms = 0;
	for (i = 0; i < QUEUE_KEPT_MAX; i++) {
		push(q, 1 + i, JOB_SCAN);
		job = take_large(q, true, 1 + i);
		park(q, 1 + i, 10);
		queue_hand_over(q, job, kept_make(1 + i));
	}
	push(q, 20, JOB_SCAN);
	job = take_large(q, true, 20);
	queue_hand_over(q, job, kept_make(20));
	job = take_large(q, true, 20);
	assert_null(job->kept);
	queue_finish(q, job);

	park(q, 30, 11);
	first = take_large(q, false, 30);
	job = take_large(q, false, 1);
	assert_int_equal(queue_recall(q, first), QUEUE_TURN_OVER);
	kept = job->kept;
	job->kept = NULL;
	queue_hand_over(q, job, kept);
	assert_int_equal(queue_recall(q, first), QUEUE_GO_ON);
	queue_finish(q, first);
	queue_remove(q);
}

/* ---- giving up ---- */

static void test_who_gives_up_is_gone(void **state)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue_ticket ticket;
	const struct parked_request parked = { .deadline_ms = INT64_MAX,
					       .ticket = &ticket,
					       .done = on_found,
					       .arg = &o };
	struct queue_counts counts;
	struct queue *q = queue_make();

	(void)state;
	queue_ticket_init(&ticket);
	assert_int_equal(queue_park(q, &key, &parked), 0);
	atomic_store(&ticket.given_up, true);
	queue_give_up_waiting(q, ticket.number);
	assert_int_equal(outcome_wait(&o), -EINTR);
	queue_counts(q, &counts);
	assert_int_equal(counts.waiting, 0);
	assert_int_equal(q->share.used, 0);

	/* Once more is nothing, and it is not parked again. */
	queue_give_up_waiting(q, ticket.number);
	assert_int_equal(queue_park(q, &key, &parked), -EINTR);
	take(q, true, 1);
	queue_remove(q);
}

static void test_a_job_that_nobody_waits_for_gives_up_its_worker(void **state)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue_ticket ticket;
	const struct parked_request parked = { .deadline_ms = INT64_MAX,
					       .ticket = &ticket,
					       .done = on_found,
					       .arg = &o };
	struct queue *q = queue_make();
	struct job *job;

	(void)state;
	queue_ticket_init(&ticket);
	assert_int_equal(queue_park(q, &key, &parked), 0);
	job = take_large(q, false, 1);
	assert_int_equal(queue_recall(q, job), QUEUE_GO_ON);
	queue_give_up_waiting(q, ticket.number);
	assert_int_equal(outcome_wait(&o), -EINTR);
	assert_int_equal(queue_recall(q, job), QUEUE_ABANDONED);
	queue_hand_over(q, job, kept_make(7));
	job = take_large(q, true, 1);
	assert_non_null(job->kept);
	queue_finish(q, job);
	queue_remove(q);
}

/* Takers of each kind that sleep, and jobs that come one by one: each is
 * taken, by the right kind, whichever thread was woken for it. */
enum { TAKERS = 3, JOBS = 2000 };

struct takers {
	struct queue *q;
	bool background;
	atomic_int taken;
};

static void *take_all(void *arg)
{
	struct takers *t = arg;
	struct job *job;

	while ((job = queue_take(t->q, t->background))) {
		assert_int_equal(job->key.inode % 2 == 0, t->background);
		queue_finish(t->q, job);
		atomic_fetch_add(&t->taken, 1);
	}
	return NULL;
}

static void test_every_job_wakes_somebody(void **state)
{
	struct queue *q = queue_make();
	struct takers kinds[2] = { { q, false, 0 }, { q, true, 0 } };
	static struct outcome waits[JOBS / 2];
	pthread_t threads[2 * TAKERS];
	int i;

	(void)state;
	assert_int_equal(queue_start(q), 0);
	for (i = 0; i < 2 * TAKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_all,
						&kinds[i % 2]),
				 0);
	for (i = 0; i < JOBS; i++) {
		struct file_key key = key_number((uint64_t)i);

		if (i % 2 == 0) {
			push(q, key.inode, i % 4 ? JOB_SCAN : JOB_CLOSED);
			continue;
		}
		waits[i / 2] = (struct outcome)OUTCOME_INIT;
		assert_int_equal(park_request(q, &key, 0, &waits[i / 2]), 0);
	}
	for (i = 0; i < JOBS / 2; i++)
		assert_int_equal(outcome_wait(&waits[i]), 0);
	while (atomic_load(&kinds[1].taken) < JOBS / 2)
		sched_yield();
	queue_stop(q);
	for (i = 0; i < 2 * TAKERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&kinds[0].taken), JOBS / 2);
	queue_remove(q);
}

/* ---- results ---- */

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
	struct digests digests = { 0 };
	enum queue_view view;
	int error;

	assert_int_equal(queue_look(q, &key, &id, &view, &error, &digests), 0);
	return view == QUEUE_RESULT;
}

static struct result *posted;

static int keep_posted(void *arg, struct result *r)
{
	(void)arg;
	posted = r;
	return 0;
}

static void test_a_result_is_there_until_it_is_committed(void **state)
{
	struct queue *q = queue_make();

	(void)state;
	push(q, 1, JOB_SCAN);
	queue_done(q, queue_take(q, true), make_result(1, 1), keep_posted, q);
	assert_true(has_result(q, 1, 1));
	assert_false(has_result(q, 1, 2));
	queue_committed(q, posted);
	assert_false(has_result(q, 1, 1));
	result_free(posted);
	queue_remove(q);
}

/* A worker ends between the moment at which a caller finds no result and that
 * at which it parks its request. */
static void test_a_result_that_comes_before_the_request_answers_it(void **state)
{
	const struct file_identity seen = { .size = 1 }, other = { .size = 2 };
	struct outcome o = OUTCOME_INIT, later = OUTCOME_INIT;
	struct file_key key = key_number(1);
	struct parked_request parked = { .identity = &seen,
					 .deadline_ms = INT64_MAX,
					 .done = on_found,
					 .arg = &o };
	struct queue *q = queue_make();

	(void)state;
	push(q, 1, JOB_SCAN);
	queue_done(q, queue_take(q, true), make_result(1, 1), keep_posted, q);
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

static void test_a_result_may_be_committed_while_it_is_posted(void **state)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue_counts counts;
	struct queue *q = queue_make();

	(void)state;
	assert_int_equal(park_request(q, &key, 0, &o), 0);
	queue_done(q, queue_take(q, false), make_result(1, 1), commit_at_once,
		   q);
	assert_int_equal(outcome_wait(&o), 0);
	assert_int_equal(o.answer.identity.size, 1);
	queue_counts(q, &counts);
	assert_int_equal(counts.done, 0);
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

static void test_a_file_that_changes_while_it_is_posted_runs_again(void **state)
{
	struct queue *q = queue_make();

	(void)state;
	push(q, 1, JOB_SCAN);
	queue_done(q, queue_take(q, true), make_result(1, 1), change_and_keep,
		   q);
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

static void test_a_result_that_nobody_takes_is_answered_and_gone(void **state)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue *q = queue_make();

	(void)state;
	assert_int_equal(park_request(q, &key, 0, &o), 0);
	queue_done(q, queue_take(q, false), make_result(1, 1), refuse, q);
	assert_int_equal(outcome_wait(&o), 0);
	assert_int_equal(o.answer.identity.size, 1);
	assert_false(has_result(q, 1, 1));
	queue_remove(q);
}

static void test_only_the_result_of_the_last_run_is_an_answer(void **state)
{
	const struct file_identity changed = { .size = 2 };
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue *q = queue_make();
	struct job *job;

	(void)state;
	assert_int_equal(park_request(q, &key, 0, &o), 0);
	job = queue_take(q, false);
	(void)queue_identify(q, job, &identity);
	assert_int_equal(queue_push(q, &key, JOB_CLOSED, &changed), 0);
	queue_done(q, job, make_result(1, 1), refuse, q);
	assert_int_equal(o.calls, 0);
	queue_done(q, queue_take(q, false), make_result(1, 2), refuse, q);
	assert_int_equal(outcome_wait(&o), 0);
	assert_int_equal(o.answer.identity.size, 2);
	queue_remove(q);
}

static void test_what_is_known_is_an_answer(void **state)
{
	struct result *known = make_result(1, 1);
	struct file_key key = key_number(1);
	struct outcome with = OUTCOME_INIT, without = OUTCOME_INIT;
	struct queue *q = queue_make();

	(void)state;
	assert_int_equal(park_request(q, &key, 0, &with), 0);
	queue_finish_known(q, queue_take(q, false), known);
	assert_int_equal(outcome_wait(&with), 0);
	assert_int_equal(with.answer.identity.size, 1);
	assert_int_equal(park_request(q, &key, 0, &without), 0);
	queue_finish(q, queue_take(q, false));
	assert_int_equal(outcome_wait(&without), 0);
	assert_int_equal(without.answer.identity.size, 0);
	result_free(known);
	queue_remove(q);
}

static void test_a_file_is_doubted_until_it_was_hashed(void **state)
{
	struct file_key key = key_number(1);
	struct queue *q = queue_make();

	(void)state;
	assert_false(queue_doubts_file(q, &key));
	push(q, 1, JOB_SCAN);
	assert_false(queue_doubts_file(q, &key));
	assert_int_equal(queue_push_changed(q, &key, &identity), 0);
	assert_true(queue_doubts_file(q, &key));
	assert_int_equal(queue_start(q), 0);
	queue_done(q, queue_take(q, true), make_result(1, 1), refuse, q);
	assert_false(queue_doubts_file(q, &key));
	queue_remove(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closed_rests_first),
		cmocka_unit_test(test_closed_before_scan_when_rested),
		cmocka_unit_test(test_who_waits_does_not_wait_for_the_rest),
		cmocka_unit_test(test_who_waits_has_a_delay_looked_at),
		cmocka_unit_test(test_who_joins_late_has_it_looked_at_again),
		cmocka_unit_test(test_large_files_leave_a_worker),
		cmocka_unit_test(test_large_files_of_one_user_leave_a_worker),
		cmocka_unit_test(
			test_large_files_leave_a_worker_in_the_background),
		cmocka_unit_test(test_large_files_take_turns),
		cmocka_unit_test(test_what_is_kept_is_bounded),
		cmocka_unit_test(test_who_gives_up_is_gone),
		cmocka_unit_test(
			test_a_job_that_nobody_waits_for_gives_up_its_worker),
		cmocka_unit_test(test_every_job_wakes_somebody),
		cmocka_unit_test(test_a_result_is_there_until_it_is_committed),
		cmocka_unit_test(
			test_a_result_that_comes_before_the_request_answers_it),
		cmocka_unit_test(
			test_a_result_may_be_committed_while_it_is_posted),
		cmocka_unit_test(
			test_a_file_that_changes_while_it_is_posted_runs_again),
		cmocka_unit_test(
			test_a_result_that_nobody_takes_is_answered_and_gone),
		cmocka_unit_test(
			test_only_the_result_of_the_last_run_is_an_answer),
		cmocka_unit_test(test_what_is_known_is_an_answer),
		cmocka_unit_test(test_a_file_is_doubted_until_it_was_hashed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
