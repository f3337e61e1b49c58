/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine_fixture.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "core/engine/engine_impl.h"

/* What is posted faster than it is written, in a host that is always busy. */

enum { MANY = 100000 }; /* of these none may be lost */

static void open_busy(struct fixture *f)
{
	fixture_make(f);
	f->options.host.had_requests = is_always_busy;
	fixture_open(f);
	assert_int_equal(commit_settle(&f->engine->commit), 0);
}

static void post_one(struct fixture *f)
{
	struct event *ev = calloc(1, sizeof(*ev));

	assert_non_null(ev);
	ev->kind = EVENT_FORGET;
	ev->key = (struct file_key){ .inode = 1000001, .generation = 1 };
	assert_int_equal(commit_post(&f->engine->commit, ev), 0);
}

static bool gate_is_open(const struct fixture *f)
{
	return atomic_load(&f->engine->commit.gate.open);
}

static size_t waiting(const struct fixture *f)
{
	struct commit_counts counts;

	commit_counts(&f->engine->commit, &counts);
	return counts.events;
}

/* Nothing is left to be written, and what comes now may wait.  Each batch begins
 * with the question whether somebody waits for it. */
static void wait_closed(struct fixture *f)
{
	time_t start = time(NULL);

	do {
		post_one(f);
		while (waiting(f)) {
			assert_true(time(NULL) - start < DEADLINE_S);
			sched_yield();
		}
	} while (gate_is_open(f));
}

static void test_many_events_are_written_at_once(void **state)
{
	struct catalog_txn *txn;
	struct fixture f;
	int i;

	(void)state;
	open_busy(&f);
	wait_closed(&f);
	assert_int_equal(catalog_write(f.engine->catalog, &txn), 0);
	post_one(&f);
	assert_false(gate_is_open(&f));
	for (i = 0; i < MANY; i++)
		post_one(&f);
	assert_true(gate_is_open(&f));
	catalog_abort(txn);
	assert_int_equal(commit_settle(&f.engine->commit), 0);
	wait_closed(&f);
	fixture_remove(&f);
}

/* ---- the scan ---- */

struct room_waiter {
	struct fixture *f;
	atomic_int thread;
	atomic_bool passed;
	size_t found; /* events when it passed */
};

static void *wait_room(void *arg)
{
	struct room_waiter *s = arg;

	atomic_store(&s->thread, (int)syscall(SYS_gettid));
	assert_true(commit_wait_room(&s->f->engine->commit));
	s->found = waiting(s->f);
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

static void test_the_scan_waits_for_room(void **state)
{
	struct room_waiter s = { 0 };
	struct catalog_txn *txn;
	struct fixture f;
	pthread_t thread;
	int i;

	(void)state;
	open_busy(&f);
	s.f = &f;
	assert_int_equal(catalog_write(f.engine->catalog, &txn), 0);
	for (i = 0; i < MANY; i++)
		post_one(&f);
	assert_int_equal(pthread_create(&thread, NULL, wait_room, &s), 0);
	while (!atomic_load(&s.passed) && !is_asleep(atomic_load(&s.thread)))
		sched_yield();
	catalog_abort(txn);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_in_range(s.found, 0, MANY / 2);
	fixture_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_events_are_written_at_once),
		cmocka_unit_test(test_the_scan_waits_for_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
