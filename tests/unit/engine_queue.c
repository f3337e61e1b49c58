/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine_fixture.h"

#include <sched.h>
#include <stdatomic.h>

#include "core/engine/queue.h"

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
	assert_int_equal(queue_wait(q, &key, 0, INT64_MAX, on_done, &o), 0);
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
	assert_int_equal(queue_wait(q, &key, 0, INT64_MAX, on_done, &o), 0);
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
	assert_int_equal(queue_wait(q, &key, 0, INT64_MAX, on_done, &early), 0);
	job = queue_take(q, false);
	(void)queue_identify(q, job, &identity);
	queue_give_up(q, job);
	assert_int_equal(outcome_wait(&early), 0);
	assert_counts(q, 0, 0);

	push(q, 1, JOB_SCAN);
	job = queue_take(q, true);
	(void)queue_identify(q, job, &identity);
	assert_int_equal(queue_wait(q, &key, 0, INT64_MAX, on_done, &late), 0);
	queue_give_up(q, job);
	assert_counts(q, 1, 0);
	take(q, false, 1);
	assert_int_equal(outcome_wait(&late), 0);
	queue_remove(q);
}

/* Takers of each kind that sleep, and jobs that come one by one: each is
 * taken, by the right kind, whoever was woken for it. */
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
	struct outcome outcomes[JOBS / 2];
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
		outcomes[i / 2] = (struct outcome)OUTCOME_INIT;
		assert_int_equal(queue_wait(q, &key, 0, INT64_MAX, on_done,
					    &outcomes[i / 2]),
				 0);
	}
	for (i = 0; i < JOBS / 2; i++)
		assert_int_equal(outcome_wait(&outcomes[i]), 0);
	while (atomic_load(&kinds[1].taken) < JOBS / 2)
		sched_yield();
	queue_stop(q);
	for (i = 0; i < 2 * TAKERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&kinds[0].taken), JOBS / 2);
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
		cmocka_unit_test(test_every_job_wakes_somebody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
