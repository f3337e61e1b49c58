/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/queue/fixture.h"

/* Jobs of large files: they leave workers to others, and take turns. */

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
	struct job *job = queue_take(q, background, &(bool){ false });

	assert_non_null(job);
	assert_int_equal(job->key.inode, inode);
	(void)queue_identify(q, job, &large);
	return job;
}

TEST(test_large_files_leave_a_worker)
{
	struct queue *q = queue_make();
	struct job *jobs[3], *job;
	int i;

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
TEST(test_large_files_of_one_user_leave_a_worker)
{
	struct queue *q = queue_make();
	struct job *jobs[3], *job;
	int i;

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

TEST(test_large_files_leave_a_worker_in_the_background)
{
	struct queue *q = queue_make();
	struct job *jobs[2], *job;
	int i;

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
TEST(test_large_files_take_turns)
{
	struct queue *q = queue_make();
	struct job *first, *second;

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
TEST(test_what_is_kept_is_bounded)
{
	struct queue *q = queue_make();
	struct job *job, *first;
	struct kept *kept;
	uint64_t i;

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

TEST(test_a_job_without_requests_gives_up_its_worker)
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
