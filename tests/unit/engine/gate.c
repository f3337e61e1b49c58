/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"

#include "core/queue/gate.h"
#include "core/queue/throttle.h"
#include "tests/support/test.h"

/* Work in slices: who passes when. */

#define SECOND INT64_C(1000000000)
#define FAR_NS (INT64_C(1000000000) * SECOND)

static int waits;
static int64_t rest_ns; /* of the last one */
static int64_t free_ns; /* when the host may be disturbed */
static int64_t read_ns; /* when the next bytes may be read */
static size_t charged;
static struct gate *opened_meanwhile;

/* In place of the throttle. */
int64_t throttle_due_ns(struct throttle *t, int64_t *since_ns)
{
	(void)t;
	(void)since_ns;
	return free_ns;
}

int64_t throttle_read_due_ns(struct throttle *t)
{
	(void)t;
	return read_ns;
}

void throttle_charge_read(struct throttle *t, size_t bytes)
{
	(void)t;
	charged += bytes;
}

void throttle_wake(struct throttle *t)
{
	(void)t;
}

/* The gate calls it to wait for the host, and to rest. */
void throttle_sleep(struct throttle *t, const atomic_bool *open,
		    int64_t until_ns)
{
	(void)t;
	assert_false(atomic_load(open));
	waits++;
	rest_ns = until_ns - clock_now_ns();
	if (until_ns != FAR_NS)
		return;
	if (opened_meanwhile)
		gate_set(opened_meanwhile, true);
	free_ns = read_ns = 1;
}

/* What the kernel tells of the thread. */
static uint64_t waited_ns;
ssize_t read(int fd, void *text, size_t size)
{
	(void)fd;
	return snprintf(text, size, "1 %llu 1\n",
			(unsigned long long)waited_ns);
}

static void gate_make(struct gate *g)
{
	static struct throttle throttle;

	*g = (struct gate){ .throttle = &throttle };
	waited_ns = free_ns = read_ns = 1;
	gate_pass(g);
	waits = 0;
	opened_meanwhile = NULL;
}

/* A slice in which the thread waits that long for a processor. */
static void pass(struct gate *g, uint64_t wait_ns)
{
	g->slice_ns = 0;
	waited_ns += wait_ns;
	gate_pass(g);
	assert_true(g->slice_ns > 0);
}

TEST(test_an_idle_processor_is_used)
{
	struct gate g;

	gate_make(&g);
	pass(&g, 0);
	assert_int_equal(waits, 0);
}

TEST(test_a_busy_one_is_left_alone)
{
	struct gate g;

	gate_make(&g);
	pass(&g, 1000000);
	assert_int_equal(waits, 1);
	assert_in_range(rest_ns, 1, GATE_RESTS * 1000000);
	pass(&g, SECOND);
	assert_in_range(rest_ns, 1, GATE_REST_MS * 1000000);
	pass(&g, 0);
	assert_int_equal(waits, 2);
}

TEST(test_an_open_one_does_not_rest)
{
	struct gate g;

	gate_make(&g);
	gate_set(&g, true);
	waited_ns += SECOND;
	g.slice_ns = 0;
	gate_pass(&g);
	assert_int_equal(waits, 0);
	gate_set(&g, false);
	pass(&g, 0);
	assert_int_equal(waits, 1);
}

TEST(test_waits_until_the_host_may_be_disturbed)
{
	struct gate g;

	gate_make(&g);
	free_ns = FAR_NS;
	pass(&g, 1000000);
	assert_int_equal(waits, 2); /* and rests */
}

TEST(test_an_opened_one_does_not_wait_for_the_host)
{
	struct gate g;

	gate_make(&g);
	free_ns = FAR_NS;
	opened_meanwhile = &g;
	pass(&g, 1000000);
	assert_int_equal(waits, 1);
}

TEST(test_work_that_a_user_waits_for_does_not_rest)
{
	struct gate g;

	gate_make(&g);
	free_ns = 0;
	pass(&g, 1000000);
	assert_int_equal(waits, 0);
	free_ns = 1;
	pass(&g, 0);
	assert_int_equal(waits, 1);
}

/* A thread under SCHED_IDLE is left alone by the kernel. */
TEST(test_an_idle_thread_does_not_rest)
{
	struct gate g;

	gate_make(&g);
	g.is_idle = true;
	pass(&g, 1000000);
	assert_int_equal(waits, 0);
	free_ns = FAR_NS;
	pass(&g, 0);
	assert_int_equal(waits, 1);
}

TEST(test_bytes_are_waited_for_and_charged)
{
	struct gate g;

	gate_make(&g);
	read_ns = FAR_NS;
	gate_pass_read(&g);
	assert_int_equal(waits, 1);
	gate_charge_read(&g, 10);
	assert_int_equal(charged, 10);
	gate_set(&g, true);
	read_ns = FAR_NS;
	gate_pass_read(&g);
	gate_charge_read(&g, 10);
	assert_int_equal(waits, 1);
	assert_int_equal(charged, 10);
}
