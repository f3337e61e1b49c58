/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine_fixture.h"

#include <sched.h>
#include <time.h>

#include "core/engine/gate.h"

/* Work in slices: who passes when. */

static _Thread_local bool watched;
static int asked;

/* Stands before the C library's, which the gate calls to wait for its turn.
 * The thread that grants turns may get no processor. */
static bool starved;
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	asked += watched;
	if (starved) {
		errno = ETIMEDOUT;
		return -1;
	}
	(void)clock;
	(void)until;
	while (sem_wait(sem))
		;
	return 0;
}

static void gate_make(struct gate *g, bool (*busy)(void *arg), void *arg)
{
	memset(g, 0, sizeof(*g));
	g->busy = busy;
	g->arg = arg;
	assert_int_equal(gate_init(g), 0);
	assert_int_equal(gate_start(g), 0);
	watched = true;
	starved = false;
	asked = 0;
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
	gate_make(&g, NULL, NULL);
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
	gate_make(&g, NULL, NULL);
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
	gate_make(&g, NULL, NULL);
	starved = true;
	gate_pass(&g, &slice);
	assert_true(slice > 0);
	gate_remove(&g);
}

static bool note_busy(void *arg)
{
	atomic_store((atomic_bool *)arg, true);
	return true;
}

static void test_nothing_is_granted_while_the_host_is_busy(void **state)
{
	atomic_bool looked = false;
	int64_t slice = 0;
	struct gate g;
	int granted;

	(void)state;
	gate_make(&g, note_busy, &looked);
	starved = true;
	gate_pass(&g, &slice);
	while (!atomic_load(&looked))
		sched_yield();
	gate_stop(&g);
	assert_int_equal(sem_getvalue(&g.granted, &granted), 0);
	assert_int_equal(granted, 1); /* by gate_stop() itself */
	gate_release(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_slice_is_asked_for),
		cmocka_unit_test(test_an_open_one_is_not_asked),
		cmocka_unit_test(test_work_goes_on_without_a_processor),
		cmocka_unit_test(
			test_nothing_is_granted_while_the_host_is_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
