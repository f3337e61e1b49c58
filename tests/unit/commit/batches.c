/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/commit/fixture.h"
#include "tests/support/index_count.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* When events are written, and what happens when they cannot be. */

/* ---- a catalog that cannot be written ---- */

static atomic_bool disk_full;

/* These stand before the C library's, with which LMDB writes. */
ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	if (!atomic_load(&disk_full))
		return syscall(SYS_pwrite64, fd, data, len, offset);
	errno = ENOSPC;
	return -1;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	if (!atomic_load(&disk_full))
		return syscall(SYS_writev, fd, parts, count);
	errno = ENOSPC;
	return -1;
}

static void wait_settled(struct recorder *r)
{
	struct event_counts counts;

	pthread_mutex_lock(&r->lock);
	for (events_counts(&r->events, &counts); counts.events || counts.error;
	     events_counts(&r->events, &counts))
		pthread_cond_wait(&r->more, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

enum { STUCK = 4096 }; /* so many results are kept */

#define WITH_FIXTURE(name) TEST_WITH(name, set_up, tear_down)

WITH_FIXTURE(test_results_are_kept_while_nothing_can_be_written)
{
	struct recorder *r = *state;
	struct event *ev = new_result(1, 77);
	struct result *result = ev->result;
	int i;

	add_name(r, 0, "a", 1, false);
	settle(r);
	(void)was_feed_wanted(r);
	atomic_store(&disk_full, true);
	for (i = 0; i < STUCK; i++)
		post(r, new_result(1, 1000 + (uint64_t)i));
	assert_int_equal(events_settle(&r->events), -ENOSPC);
	assert_int_equal(events_post(&r->events, ev), -ENOSPC);
	assert_int_equal(result->key.inode, 1); /* still the caller's */
	result_free(result);
	assert_false(is_committed(r));
	atomic_store(&disk_full, false);
	/* A busy machine would be left alone. */
	gate_set(&r->events.gate, true);
	wait_settled(r);
	gate_set(&r->events.gate, false);
	expect_committed(r);
	/* What was refused is hashed again. */
	assert_true(was_feed_wanted(r));
	assert_true(has_said(r, "tree"));
	assert_int_equal(r->lines, 2);
}

/* ---- more events than are written, in a host that is always busy ---- */

enum {
	MANY = 100000, /* of these none may be lost */
	TOO_MANY = 262144,
};

static bool gate_is_open(struct recorder *r)
{
	return atomic_load(&r->events.gate.open);
}

static size_t waiting(struct recorder *r)
{
	struct event_counts counts;

	events_counts(&r->events, &counts);
	return counts.events;
}

static void post_one(struct recorder *r)
{
	post(r, new_event(EVENT_FORGET, 1000001));
}

/* Nothing is left to be written, and what comes now may wait.  Each batch begins
 * with the question whether somebody waits for it. */
static void wait_closed(struct recorder *r)
{
	do {
		post_one(r);
		while (waiting(r))
			sched_yield();
	} while (gate_is_open(r));
}

WITH_FIXTURE(test_many_events_are_written_at_once)
{
	struct recorder *r = *state;
	struct catalog_txn *txn;
	int i;

	wait_closed(r);
	txn = begin_write(&r->f);
	post_one(r);
	assert_false(gate_is_open(r));
	for (i = 0; i < MANY; i++)
		post_one(r);
	assert_true(gate_is_open(r));
	catalog_abort(txn);
	assert_int_equal(events_settle(&r->events), 0);
	wait_closed(r);
}

static void assert_indexed(struct recorder *r, uint32_t content, uint64_t made)
{
	char text[64];
	struct digests d = digests_of(made, text, sizeof(text));
	static struct sketch sketch;
	struct index_query q = { .subject = subject_of_bytes(&sketch) };
	struct index_candidate found[8];
	size_t count, i;

	assert_int_equal(digests_sketch(&d, &sketch), 0);
	assert_int_equal(
		index_candidates(r->index, &q, false, found, 8, &count), 0);
	for (i = 0; i < count && found[i].content != content; i++)
		;
	assert_true(i < count);
}

/* So many that the index is told of all of them at once, then one more. */
WITH_FIXTURE(test_many_results_are_in_the_index)
{
	enum { RESULTS = 1000 };
	struct recorder *r = *state;
	struct catalog_txn *txn = begin_write(&r->f);
	char name[8];
	uint32_t i;

	for (i = 1; i <= RESULTS + 1; i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		post(r, new_name(EVENT_NAME_ADDED, 0, name, i));
		post(r, new_result(i, 1000 + i));
		if (i == RESULTS) {
			catalog_abort(txn);
			assert_int_equal(events_settle(&r->events), 0);
		}
	}
	assert_int_equal(events_settle(&r->events), 0);
	assert_int_equal(index_count(r->index), RESULTS + 1);
	for (i = 1; i <= RESULTS + 1; i++)
		assert_indexed(r, i, 1000 + i);
}

WITH_FIXTURE(test_too_many_events_become_a_scan)
{
	struct recorder *r = *state;
	struct catalog_txn *txn;
	struct event *ev;
	int i, err = 0;

	txn = begin_write(&r->f);
	for (i = 0; i <= TOO_MANY && !err; i++)
		err = events_post(&r->events, new_event(EVENT_FORGET, 1));
	assert_int_equal(err, -ENOBUFS);
	ev = new_result(1, 77);
	post(r, ev);
	catalog_abort(txn);
	expect_committed(r);
	while (!has_said(r, "tree"))
		sched_yield();
}

struct scan_thread {
	struct recorder *r;
	atomic_int thread;
	atomic_bool passed;
	size_t found; /* events when it passed */
};

static void *wait_room(void *arg)
{
	struct scan_thread *s = arg;

	atomic_store(&s->thread, (int)syscall(SYS_gettid));
	assert_true(events_wait_room(&s->r->events));
	s->found = waiting(s->r);
	atomic_store(&s->passed, true);
	return NULL;
}

static bool is_asleep(int thread)
{
	char path[64], state = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = thread ? fopen(path, "r") : NULL;
	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'S';
}

WITH_FIXTURE(test_the_scan_waits_for_room)
{
	struct recorder *r = *state;
	struct scan_thread s = { .r = r };
	struct catalog_txn *txn;
	pthread_t thread;
	int i;

	txn = begin_write(&r->f);
	for (i = 0; i < MANY; i++)
		post_one(r);
	assert_int_equal(pthread_create(&thread, NULL, wait_room, &s), 0);
	while (!atomic_load(&s.passed) && !is_asleep(atomic_load(&s.thread)))
		sched_yield();
	catalog_abort(txn);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_in_range(s.found, 0, MANY / 2);
}

/* ---- the end ---- */

WITH_FIXTURE(test_what_was_posted_is_written_at_the_end)
{
	struct recorder *r = *state;
	struct file_record rec;

	add_name(r, 0, "a", 1, false);
	events_unblock(&r->events);
	assert_int_equal(events_settle(&r->events), -ECANCELED);
	assert_false(events_wait_room(&r->events));
	commit_stop(&r->c);
	assert_int_equal(get_file(r, 1, &rec), 0);
	assert_int_equal(events_post(&r->events, new_event(EVENT_FORGET, 1)),
			 -ECANCELED);
}

/* As it is when the mount ends before its catalog was read. */
WITH_FIXTURE(test_a_catalog_that_was_never_opened_is_no_error)
{
	struct recorder *r = *state;

	catalog_admit(r->f.c, -ECANCELED);
	add_name(r, 0, "a", 1, false);
	events_unblock(&r->events);
	commit_stop(&r->c);
	assert_int_equal(r->lines, 0);
	catalog_admit(r->f.c, 0);
}
