/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/queue/fixture.h"

/* Jobs of large files, which have workers of their own. */

static const struct file_identity large = { .size = QUEUE_LARGE };

enum { MUCH = QUEUE_LARGE, FILES = 64 };
static struct outcome outcomes[FILES];

/* A request waits for the file of that number. */
static void park(struct queue *q, uint64_t inode, uid_t uid)
{
	struct file_key key = key_number(inode);

	outcomes[inode] = (struct outcome)OUTCOME_INIT;
	assert_int_equal(park_request(q, &key, uid, &outcomes[inode]), 0);
}

static struct job *take_kind(struct queue *q, enum worker_kind kind,
			     uint64_t inode, struct gate *gate)
{
	struct job *job = queue_take(q, kind, gate);

	assert_non_null(job);
	assert_int_equal(job->key.inode, inode);
	return job;
}

/* A worker does this when it sees how large the file is. */
static void find_large(struct queue *q, enum worker_kind kind, uint64_t inode)
{
	struct job *job = take_kind(q, kind, inode, NULL);

	queue_identify(q, job, &large);
	queue_hand_over(q, job);
}

static struct job *take_large(struct queue *q, uint64_t inode)
{
	return take_kind(q, WORKER_LARGE, inode, NULL);
}

TEST(test_a_large_file_is_for_its_own_workers)
{
	struct queue *q = queue_make();

	park(q, 1, 10);
	push(q, 2, JOB_SCAN);
	find_large(q, WORKER_SERVING, 1);
	find_large(q, WORKER_BACKGROUND, 2);
	assert_counts(q, 2, 0);
	park(q, 3, 10);
	take(q, WORKER_SERVING, 3);
	push(q, 4, JOB_SCAN);
	take(q, WORKER_BACKGROUND, 4);
	finish(q, take_large(q, 1));
	finish(q, take_large(q, 2));
	queue_remove(q);
}

/* One user's large files leave workers for those of others. */
TEST(test_large_files_of_one_user_leave_workers)
{
	struct queue *q = queue_make();
	struct job *jobs[3];
	int i;

	for (i = 1; i <= 4; i++)
		park(q, (uint64_t)i, 10 + (uid_t)(i == 4));
	for (i = 0; i < 4; i++) {
		/* In the order of their turns. */
		static const uint64_t order[] = { 1, 4, 2, 3 };

		find_large(q, WORKER_SERVING, order[i]);
	}
	jobs[0] = take_large(q, 1);
	jobs[1] = take_large(q, 4);
	park(q, 5, 12);
	find_large(q, WORKER_SERVING, 5);
	jobs[2] = take_large(q, 5);
	finish(q, jobs[0]);
	finish(q, jobs[1]);
	finish(q, take_large(q, 2));
	finish(q, jobs[2]);
	finish(q, take_large(q, 3));
	queue_remove(q);
}

/* Its worker waits at the gate while no request waits. */
TEST(test_a_request_opens_the_gate)
{
	struct gate gate = { 0 };
	struct queue_ticket ticket;
	struct outcome o = OUTCOME_INIT;
	struct file_key key = key_number(1);
	struct parked_request parked = { .deadline_ms = INT64_MAX,
					 .ticket = &ticket,
					 .done = on_found,
					 .arg = &o };
	struct queue *q = queue_make();
	struct job *job;

	queue_ticket_init(&ticket);
	push(q, 1, JOB_SCAN);
	find_large(q, WORKER_BACKGROUND, 1);
	job = take_kind(q, WORKER_LARGE, 1, &gate);
	assert_false(atomic_load(&gate.open));
	assert_int_equal(queue_park(q, &key, &parked), 0);
	assert_true(atomic_load(&gate.open));
	assert_int_equal(queue_order(q, job, MUCH), QUEUE_GO_ON);
	queue_give_up_waiting(q, ticket.number);
	assert_int_equal(outcome_wait(&o), -EINTR);
	assert_false(atomic_load(&gate.open));
	assert_int_equal(queue_order(q, job, MUCH), QUEUE_GO_ON);
	finish(q, job);
	queue_remove(q);
}

/* A job begun for requests that are gone is one of the background, as far as that
 * has room. */
TEST(test_a_job_without_requests_gives_up_its_worker)
{
	struct queue_ticket ticket;
	struct outcome o = OUTCOME_INIT;
	struct file_key key = key_number(4);
	struct parked_request parked = { .deadline_ms = INT64_MAX,
					 .ticket = &ticket,
					 .done = on_found,
					 .arg = &o };
	struct queue *q = queue_make();
	struct job *jobs[3];
	uint64_t i;

	for (i = 1; i <= 2; i++) {
		push(q, i, JOB_SCAN);
		find_large(q, WORKER_BACKGROUND, i);
		jobs[i] = take_large(q, i);
	}
	push(q, 3, JOB_SCAN);
	find_large(q, WORKER_BACKGROUND, 3);
	queue_ticket_init(&ticket);
	assert_int_equal(queue_park(q, &key, &parked), 0);
	find_large(q, WORKER_SERVING, 4);
	jobs[0] = take_large(q, 4);
	assert_int_equal(queue_order(q, jobs[1], MUCH), QUEUE_GO_ON);
	queue_give_up_waiting(q, ticket.number);
	assert_int_equal(outcome_wait(&o), -EINTR);
	/* Those that may have been read for hours are not begun anew. */
	assert_int_equal(queue_order(q, jobs[1], MUCH), QUEUE_GO_ON);
	assert_int_equal(queue_order(q, jobs[0], MUCH), QUEUE_HAND_OVER);
	finish(q, jobs[1]);
	assert_int_equal(queue_order(q, jobs[0], MUCH), QUEUE_GO_ON);
	finish(q, jobs[0]);
	finish(q, take_large(q, 3));
	finish(q, jobs[2]);
	queue_remove(q);
}

TEST(test_a_pause_suspends_it)
{
	struct gate gate = { 0 };
	struct queue *q = queue_make();
	struct job *job;

	push(q, 1, JOB_SCAN);
	find_large(q, WORKER_BACKGROUND, 1);
	job = take_kind(q, WORKER_LARGE, 1, &gate);
	queue_pause(q, true);
	assert_true(atomic_load(&gate.open)); /* the worker is to look */
	assert_int_equal(queue_order(q, job, MUCH), QUEUE_SUSPEND);
	assert_false(atomic_load(&gate.open));
	park(q, 1, 10);
	assert_int_equal(queue_order(q, job, MUCH), QUEUE_GO_ON);
	queue_sit_out_pause(q, job); /* not while a request waits */
	finish(q, job);
	queue_remove(q);
}

TEST(test_how_much_is_read_of_the_files_at_hand)
{
	struct queue *q = queue_make();
	struct queue_counts counts;
	struct job *job;

	push(q, 1, JOB_SCAN);
	job = take_kind(q, WORKER_BACKGROUND, 1, NULL);
	queue_identify(q, job, &large);
	queue_note_left(q, job, MUCH - 1000);
	queue_counts(q, &counts);
	assert_int_equal(counts.size, MUCH);
	assert_int_equal(counts.done, 1000);
	finish(q, job);
	queue_counts(q, &counts);
	assert_int_equal(counts.size, 0);
	assert_int_equal(counts.done, 0);
	queue_remove(q);
}
