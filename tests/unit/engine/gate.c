/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

#include <time.h>

#include "core/queue/gate.h"

/* Work in slices: who passes when. */

#define SECOND INT64_C(1000000000)
#define FAR_NS (INT64_C(1000000000) * SECOND)

static _Thread_local bool watched;
static int asked, rests;
static int64_t free_ns; /* when the host may be disturbed */
static struct gate *opened_meanwhile;

static int64_t host_due_ns(void *arg)
{
	(void)arg;
	return free_ns;
}

/* Stands before the C library's, which the gate calls to wait for the host and
 * for its turn.  The thread that grants turns may get no processor. */
static bool starved;
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	bool for_host = until->tv_sec == FAR_NS / SECOND;

	asked += watched;
	if (for_host && opened_meanwhile) {
		gate_set(opened_meanwhile, true);
		opened_meanwhile = NULL;
	} else if (for_host || starved) {
		rests += for_host;
		free_ns = 1;
		errno = ETIMEDOUT;
		return -1;
	}
	(void)clock;
	while (sem_wait(sem))
		;
	return 0;
}

static void gate_make(struct gate *g, int64_t (*due_ns)(void *arg))
{
	memset(g, 0, sizeof(*g));
	g->due_ns = due_ns;
	assert_int_equal(gate_init(g), 0);
	assert_int_equal(gate_start(g), 0);
	watched = true;
	starved = false;
	asked = rests = 0;
	opened_meanwhile = NULL;
}

static void gate_remove(struct gate *g)
{
	gate_stop(g);
	gate_release(g);
}

static void test_each_slice_is_asked_for(void **state)
{
	int64_t slice = 0;
	struct gate g;
	int i;

	(void)state;
	gate_make(&g, NULL);
	for (i = 1; i <= 100; i++) {
		slice -= GATE_SLICE_MS * INT64_C(1000000);
		gate_pass(&g, &slice);
		assert_int_equal(asked, i);
	}
	gate_remove(&g);
}

static void test_an_open_one_is_not_asked(void **state)
{
	int64_t slice = 0;
	struct gate g;

	(void)state;
	gate_make(&g, NULL);
	gate_set(&g, true);
	gate_pass(&g, &slice);
	assert_int_equal(asked, 0);
	gate_set(&g, false);
	gate_pass(&g, &slice);
	assert_int_equal(asked, 1);
	gate_remove(&g);
}

static void test_work_goes_on_without_a_processor(void **state)
{
	int64_t slice = 0;
	struct gate g;

	(void)state;
	gate_make(&g, NULL);
	starved = true;
	gate_pass(&g, &slice);
	assert_true(slice > 0);
	gate_remove(&g);
}

static void test_waits_until_the_host_may_be_disturbed(void **state)
{
	int64_t slice = 0;
	struct gate g;

	(void)state;
	gate_make(&g, host_due_ns);
	free_ns = FAR_NS;
	gate_pass(&g, &slice);
	assert_int_equal(rests, 1);
	assert_int_equal(asked, 2); /* and for its turn */
	gate_remove(&g);
}

static void test_an_opened_one_does_not_wait_for_the_host(void **state)
{
	int64_t slice = 0;
	struct gate g;

	(void)state;
	gate_make(&g, host_due_ns);
	free_ns = FAR_NS;
	opened_meanwhile = &g;
	gate_pass(&g, &slice);
	assert_int_equal(asked, 1);
	gate_remove(&g);
}

static void test_work_that_a_user_waits_for_is_not_asked(void **state)
{
	int64_t slice = 0;
	struct gate g;

	(void)state;
	gate_make(&g, host_due_ns);
	free_ns = 0;
	gate_pass(&g, &slice);
	assert_int_equal(asked, 0);
	free_ns = 1;
	slice = 0;
	gate_pass(&g, &slice);
	assert_int_equal(asked, 1);
	gate_remove(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_slice_is_asked_for),
		cmocka_unit_test(test_an_open_one_is_not_asked),
		cmocka_unit_test(test_work_goes_on_without_a_processor),
		cmocka_unit_test(test_waits_until_the_host_may_be_disturbed),
		cmocka_unit_test(test_an_opened_one_does_not_wait_for_the_host),
		cmocka_unit_test(test_work_that_a_user_waits_for_is_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
