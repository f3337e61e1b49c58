/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
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
static struct gate *opened_meanwhile;

/* In place of the throttle. */
int64_t throttle_due_ns(struct throttle *t, int64_t *since_ns)
{
	(void)t;
	(void)since_ns;
	return free_ns;
}

/* These stand before the C library's.  The gate calls the first to wait for the
 * host, and to rest. */
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	bool for_host = until->tv_sec == FAR_NS / SECOND;

	(void)sem;
	(void)clock;
	waits++;
	rest_ns = until->tv_sec * SECOND + until->tv_nsec - clock_now_ns();
	if (for_host && opened_meanwhile)
		gate_set(opened_meanwhile, true);
	else if (for_host)
		free_ns = 1;
	errno = ETIMEDOUT;
	return opened_meanwhile ? 0 : -1;
}

/* What the kernel tells of the thread. */
static uint64_t waited_ns;
ssize_t read(int fd, void *text, size_t size)
{
	(void)fd;
	return snprintf(text, size, "1 %llu 1\n",
			(unsigned long long)waited_ns);
}

static void gate_make(struct gate *g, bool has_host)
{
	static struct throttle throttle;

	memset(g, 0, sizeof(*g));
	assert_int_equal(gate_init(g, NULL), 0);
	waited_ns = 1;
	gate_pass(g);
	g->throttle = has_host ? &throttle : NULL;
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

	gate_make(&g, false);
	pass(&g, 0);
	assert_int_equal(waits, 0);
	gate_release(&g);
}

TEST(test_a_busy_one_is_left_alone)
{
	struct gate g;

	gate_make(&g, false);
	pass(&g, 1000000);
	assert_int_equal(waits, 1);
	assert_in_range(rest_ns, 1, GATE_RESTS * 1000000);
	pass(&g, SECOND);
	assert_in_range(rest_ns, 1, GATE_REST_MS * 1000000);
	pass(&g, 0);
	assert_int_equal(waits, 2);
	gate_release(&g);
}

TEST(test_an_open_one_does_not_rest)
{
	struct gate g;

	gate_make(&g, false);
	gate_set(&g, true);
	waited_ns += SECOND;
	g.slice_ns = 0;
	gate_pass(&g);
	assert_int_equal(waits, 0);
	gate_set(&g, false);
	pass(&g, 0);
	assert_int_equal(waits, 1);
	gate_release(&g);
}

TEST(test_waits_until_the_host_may_be_disturbed)
{
	struct gate g;

	gate_make(&g, true);
	free_ns = FAR_NS;
	pass(&g, 1000000);
	assert_int_equal(waits, 2); /* and rests */
	gate_release(&g);
}

TEST(test_an_opened_one_does_not_wait_for_the_host)
{
	struct gate g;

	gate_make(&g, true);
	free_ns = FAR_NS;
	opened_meanwhile = &g;
	pass(&g, 1000000);
	assert_int_equal(waits, 1);
	gate_release(&g);
}

TEST(test_work_that_a_user_waits_for_does_not_rest)
{
	struct gate g;

	gate_make(&g, true);
	free_ns = 0;
	pass(&g, 1000000);
	assert_int_equal(waits, 0);
	free_ns = 1;
	pass(&g, 0);
	assert_int_equal(waits, 1);
	gate_release(&g);
}
