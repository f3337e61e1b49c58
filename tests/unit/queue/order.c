/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/queue/fixture.h"

#include <sched.h>
#include <stdatomic.h>

/* Which job is taken when, and which worker takes it. */

TEST(test_a_closed_file_coalesces_first)
{
	struct queue *q = queue_make();

	push(q, 1, JOB_CLOSED);
	push(q, 2, JOB_SCAN);
	assert_counts(q, 1, 1);
	take(q, true, 2);
	assert_int_equal(queue_start(q), 0);
	take(q, true, 1);
	assert_counts(q, 0, 0);
	queue_remove(q);
}

TEST(test_a_closed_file_comes_before_the_scan)
{
	struct queue_counts counts = { 0 };
	struct queue *q = queue_make();
	struct timespec pause = { 0, 1000000 };

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

TEST(test_a_request_ends_the_coalescing)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue *q = queue_make();

	push(q, 1, JOB_CLOSED);
	assert_int_equal(park_request(q, &key, 0, &o), 0);
	assert_counts(q, 1, 0);
	take(q, false, 1);
	assert_int_equal(outcome_wait(&o), 0);
	queue_remove(q);
}

TEST(test_a_request_ends_a_delay)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue *q = queue_make();

	push(q, 1, JOB_SCAN);
	queue_delay(q, queue_take(q, true, NULL), DEADLINE_S * 1000, false);
	assert_counts(q, 0, 1);
	assert_int_equal(park_request(q, &key, 0, &o), 0);
	take(q, false, 1);
	assert_int_equal(outcome_wait(&o), 0);
	queue_remove(q);
}

TEST(test_a_request_that_is_given_up_is_gone)
{
	struct file_key key = key_number(1);
	struct outcome o = OUTCOME_INIT;
	struct queue_ticket ticket;
	struct parked_request parked = { .deadline_ms = INT64_MAX,
					 .ticket = &ticket,
					 .done = on_found,
					 .arg = &o };
	struct queue_counts counts;
	struct queue *q = queue_make();

	queue_ticket_init(&ticket);
	assert_int_equal(queue_park(q, &key, &parked), 0);
	atomic_store(&ticket.given_up, true);
	queue_give_up_waiting(q, ticket.number);
	assert_int_equal(outcome_wait(&o), -EINTR);
	queue_counts(q, &counts);
	assert_int_equal(counts.waiting, 0);
	assert_int_equal(q->quota.used, 0);

	/* Once more is nothing, and it is not parked again. */
	queue_give_up_waiting(q, ticket.number);
	assert_int_equal(queue_park(q, &key, &parked), -EINTR);
	take(q, true, 1);
	queue_remove(q);
}

static struct queue_ticket *demand(struct queue *q, struct outcome *o)
{
	static struct queue_ticket ticket;
	const struct file_key key = key_number(1);

	*o = (struct outcome)OUTCOME_INIT;
	o->parked = (struct parked_request){ .demanded = 1,
					     .deadline_ms = INT64_MAX,
					     .ticket = &ticket,
					     .done = on_found,
					     .arg = o };
	queue_ticket_init(&ticket);
	assert_int_equal(queue_park(q, &key, &o->parked), 0);
	return &ticket;
}

/* Beside the job of the file, and only as long as a request waits. */
TEST(test_a_digest_on_demand_has_a_job_of_its_own)
{
	struct queue *q = queue_make();
	struct outcome o;
	struct job *job;

	push(q, 1, JOB_SCAN);
	queue_give_up_waiting(q, demand(q, &o)->number);
	assert_int_equal(outcome_wait(&o), -EINTR);
	assert_counts(q, 1, 0);

	(void)demand(q, &o);
	job = queue_take(q, WORKER_SERVING, NULL);
	assert_int_equal(job->demanded, 1);
	assert_int_equal(queue_order(q, job, INT64_MAX), QUEUE_GO_ON);
	finish(q, job);
	assert_int_equal(outcome_wait(&o), 0);

	take(q, WORKER_BACKGROUND, 1);
	queue_remove(q);
}

TEST(test_a_running_one_without_requests_is_dropped)
{
	struct queue *q = queue_make();
	struct queue_ticket *ticket;
	struct outcome o;
	struct job *job;

	ticket = demand(q, &o);
	job = queue_take(q, WORKER_SERVING, NULL);
	queue_give_up_waiting(q, ticket->number);
	assert_int_equal(outcome_wait(&o), -EINTR);
	assert_int_equal(queue_order(q, job, 1), QUEUE_HAND_OVER);
	queue_hand_over(q, job);
	assert_int_equal(q->jobs, 0);
	queue_remove(q);
}

static struct outcome *park_text(struct queue *q, uint64_t inode, uid_t uid,
				 struct outcome *o)
{
	struct file_key key = key_number(inode);

	*o = (struct outcome)OUTCOME_INIT;
	o->parked = (struct parked_request){ .demanded = QUEUE_TEXT,
					     .uid = uid,
					     .deadline_ms = INT64_MAX,
					     .done = on_found,
					     .arg = o };
	assert_int_equal(queue_park(q, &key, &o->parked), 0);
	return o;
}

TEST(test_a_text_with_a_request_does_not_wait_for_others)
{
	struct queue *q = queue_make();
	struct outcome o;
	struct job *job;

	queue_want(q, QUEUE_TEXT, 0);
	assert_int_equal(queue_start(q), 0);
	job = queue_take(q, WORKER_TEXT, NULL);
	assert_int_equal(job->key.inode, 0);
	park_text(q, 1, 0, &o);
	push(q, 2, JOB_SCAN); /* is hashed before other texts are made */
	take(q, WORKER_TEXT, 1);
	assert_int_equal(outcome_wait(&o), 0);
	queue_delay(q, job, 0, false);
	take(q, WORKER_BACKGROUND, 2);
	take(q, WORKER_TEXT, 0);
	queue_remove(q);
}

TEST(test_slow_texts_of_a_user_keep_no_other_user_waiting)
{
	struct queue *q = queue_make();
	struct outcome o[4];
	struct job *jobs[2];
	size_t i;

	for (i = 0; i < 3; i++)
		park_text(q, i + 1, 1, &o[i]);
	for (i = 0; i < 2; i++)
		jobs[i] = queue_take(q, WORKER_TEXT, NULL);
	park_text(q, 4, 2, &o[3]);
	take(q, WORKER_TEXT, 4);
	assert_int_equal(outcome_wait(&o[3]), 0);
	for (i = 0; i < 2; i++)
		finish(q, jobs[i]);
	take(q, WORKER_TEXT, 3);
	queue_remove(q);
}

/* Idle workers may get no processor for minutes: while a user waits for the
 * background, it is done by workers of normal priority. */
TEST(test_in_a_hurry_jobs_of_the_scan_are_served)
{
	int64_t later = clock_now_ms() + INT64_C(1000) * DEADLINE_S;
	struct file_key key = key_number(4);
	struct queue *q = queue_make();
	struct outcome o = OUTCOME_INIT;
	struct job *first, *second;

	push(q, 1, JOB_SCAN);
	push(q, 2, JOB_SCAN);
	push(q, 3, JOB_SCAN);
	queue_hurry(q, later);
	first = queue_take(q, false, NULL);
	second = queue_take(q, false, NULL);
	assert_int_equal(queue_order(q, second, INT64_MAX), QUEUE_GO_ON);
	assert_int_equal(second->key.inode, 2);

	/* Two are at such jobs; the others are for requests. */
	assert_int_equal(park_request(q, &key, 0, &o), 0);
	take(q, false, 4);
	finish(q, first);
	take(q, false, 3);

	finish(q, second);
	queue_remove(q);
}

/* The worker has read the record before the file was pending. */
TEST(test_a_pending_file_is_looked_at_again)
{
	struct queue *q = queue_make();
	struct file_key key = key_number(1);
	struct job *job;

	push(q, 1, JOB_SCAN);
	job = queue_take(q, WORKER_BACKGROUND, NULL);
	queue_identify(q, job, &identity);
	assert_int_equal(queue_push(q, &key, JOB_SCAN, NULL), 0);
	finish(q, job);
	assert_counts(q, 1, 0);

	/* Once, also if it is gone. */
	job = queue_take(q, WORKER_BACKGROUND, NULL);
	push(q, 1, JOB_SCAN); /* as it was */
	finish(q, job);
	assert_counts(q, 0, 0);
	queue_remove(q);
}

TEST(test_in_a_hurry_an_idle_worker_hands_over)
{
	int64_t later = clock_now_ms() + INT64_C(1000) * DEADLINE_S;
	struct queue *q = queue_make();
	struct job *job;

	push(q, 1, JOB_SCAN);
	job = queue_take(q, true, NULL);
	assert_int_equal(queue_order(q, job, INT64_MAX), QUEUE_GO_ON);
	queue_hurry(q, later);
	assert_int_equal(queue_order(q, job, HAND_OVER_BYTES), QUEUE_GO_ON);
	assert_int_equal(queue_order(q, job, INT64_MAX), QUEUE_HAND_OVER);
	queue_hand_over(q, job);
	take(q, false, 1);

	/* Nor does it take another one before the hurry is over. */
	assert_int_equal(queue_start(q), 0);
	push(q, 2, JOB_SCAN);
	queue_hurry(q, clock_now_ms() + 1);
	take(q, true, 2);
	assert_true(clock_now_ms() < later);
	queue_remove(q);
}

TEST(test_in_a_hurry_a_served_worker_feeds)
{
	struct queue_counts counts;
	struct queue *q = queue_make();
	struct job *job;

	queue_want(q, QUEUE_FEED, 0);
	queue_hurry(q, clock_now_ms() + INT64_C(1000) * DEADLINE_S);
	job = queue_take(q, WORKER_SERVING, NULL);
	assert_int_equal(job->demanded, QUEUE_FEED);
	queue_counts(q, &counts);
	assert_true(counts.feeding);
	finish(q, job);
	queue_counts(q, &counts);
	assert_false(counts.feeding);
	queue_remove(q);
}

/* Else it would not be known whether something is left. */
TEST(test_in_a_pause_the_queue_is_fed)
{
	struct queue *q = queue_make();
	struct job *job;

	queue_pause(q, true);
	push(q, 1, JOB_SCAN);
	queue_want(q, QUEUE_FEED, 0);
	job = queue_take(q, WORKER_BACKGROUND, NULL);
	assert_int_equal(job->demanded, QUEUE_FEED);
	finish(q, job);
	queue_pause(q, false);
	take(q, WORKER_BACKGROUND, 1);
	queue_remove(q);
}

/* When the hurry is over meanwhile, workers of the background go on. */
TEST(test_the_background_feeds_after_a_hurry)
{
	struct queue *q = queue_make();
	struct crew *background = &q->workers[WORKER_BACKGROUND];
	struct job *job;

	background->most = 1;
	queue_hurry(q, clock_now_ms() + INT64_C(1000) * DEADLINE_S);
	queue_want(q, QUEUE_FEED, 0);
	job = queue_take(q, WORKER_SERVING, NULL);
	assert_int_equal(job->demanded, QUEUE_FEED);
	queue_hurry(q, 0);
	atomic_store(&background->wanted, false);
	queue_hand_over(q, job);
	assert_true(atomic_load(&background->wanted));
	background->most = 0;
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

	while ((job = queue_take(t->q, t->background, NULL))) {
		assert_int_equal(job->key.inode % 2 == 0, t->background);
		finish(t->q, job);
		atomic_fetch_add(&t->taken, 1);
	}
	return NULL;
}

TEST(test_every_job_wakes_a_worker)
{
	struct queue *q = queue_make();
	struct takers kinds[2] = { { q, false, 0 }, { q, true, 0 } };
	static struct outcome waits[JOBS / 2];
	pthread_t threads[2 * TAKERS];
	int i;

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
