/* SPDX-License-Identifier: Apache-2.0 */

/* When the background works beside those who use the host, with a made-up
 * clock: who passes a gate, and when. */

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "core/queue/throttle.h"
#include "tests/support/test.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

enum { WORKERS = 4, MB = 1000000 };

static int64_t now_ns;
static int64_t next_ns;   /* of the next request */
static int64_t often_ns;  /* between two */
static int64_t waited_ns; /* for a processor, as the kernel tells */
static int sleeps;
static struct gate gate, *opened_meanwhile;
static struct throttle throttle;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	out->tv_sec = now_ns / SECOND;
	out->tv_nsec = now_ns % SECOND;
	return 0;
}

/* A sleep ends in time, or a moment later with the next request. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
			   const struct timespec *until)
{
	(void)cond;
	(void)lock;
	sleeps++;
	now_ns = until->tv_sec * SECOND + until->tv_nsec;
	if (opened_meanwhile)
		atomic_store(&opened_meanwhile->open, true);
	return 0;
}

ssize_t read(int fd, void *text, size_t size)
{
	(void)fd;
	return snprintf(text, size, "1 %lld 1\n", (long long)waited_ns);
}

static bool had_requests(void *ctx)
{
	bool had = now_ns >= next_ns;

	(void)ctx;
	if (had)
		next_ns = now_ns + often_ns;
	return had;
}

/* The host is quiet at first, since a minute ago. */
static void start(uint64_t rate)
{
	now_ns = 3600 * SECOND;
	next_ns = INT64_MAX;
	often_ns = 0;
	waited_ns = 1;
	opened_meanwhile = NULL;
	throttle = (struct throttle){ .workers = WORKERS,
				      .rate = rate,
				      .had_requests = had_requests };
	assert_int_equal(throttle_init(&throttle), 0);
	now_ns += 60 * SECOND;
	gate = (struct gate){ .throttle = &throttle, .is_idle = true };
	sleeps = 0;
}

/* Requests come so often from now on. */
static void requests_come(int64_t often)
{
	next_ns = now_ns;
	often_ns = often;
}

/* Works whenever it may, in such pieces; for how long it worked. */
static int64_t greedy(int64_t duration, int64_t piece)
{
	int64_t end = now_ns + duration, worked = 0;

	while (gate_pass(&gate), now_ns < end) {
		now_ns += piece;
		worked += piece;
	}
	return worked;
}

TEST(test_no_limit_without_requests)
{
	start(0);
	assert_int_equal(greedy(SECOND, MS), SECOND);
	assert_int_equal(sleeps, 0);
}

/* One worker alone may take what is meant for all. */
TEST(test_quota_beside_a_busy_host)
{
	static const int64_t pieces[] = { MS / 10, MS, 9 * MS };
	int64_t quota = 10 * SECOND / 100 * THROTTLE_BUSY_PERCENT * WORKERS;
	size_t i;

	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		start(0);
		requests_come(0);
		(void)greedy(2 * SECOND, pieces[i]); /* alone at first */
		assert_in_range(greedy(10 * SECOND, pieces[i]),
				quota - quota / 50, quota + quota / 50);
	}
}

/* What else there is when requests come and go; and all of it when none came
 * for long enough. */
TEST(test_quota_beside_a_host_that_was_busy)
{
	int64_t quota = 10 * SECOND / 100 * THROTTLE_LATELY_PERCENT * WORKERS;

	start(0);
	requests_come(SECOND);
	assert_in_range(greedy(10 * SECOND, MS), quota * 9 / 10,
			quota + quota / 50);
	start(0);
	requests_come(60 * SECOND);
	quota = THROTTLE_LATELY_MS * MS / 100 * THROTTLE_LATELY_PERCENT *
		WORKERS;
	assert_in_range(greedy(10 * SECOND, MS), 7 * SECOND + quota * 9 / 10,
			7 * SECOND + quota + quota / 20);
}

/* Hours without a request give no right to a long disturbance. */
TEST(test_saves_little)
{
	int64_t quota = SECOND / 100 * THROTTLE_BUSY_PERCENT * WORKERS;

	start(0);
	requests_come(0);
	assert_true(greedy(2 * SECOND, MS) <= quota + quota / 5);
}

/* How long the next piece of work has to wait. */
static int64_t next_wait(void)
{
	int64_t begin = now_ns;

	throttle.work_ns = now_ns; /* what was done before is paid off */
	gate_pass(&gate);
	return now_ns - begin;
}

/* Who comes after a pause has the host alone for as long as the pause was. */
static void assert_alone(int64_t pause, int64_t alone)
{
	start(0);
	requests_come(0);
	(void)greedy(2 * SECOND, MS);
	next_ns = INT64_MAX;
	(void)greedy(THROTTLE_QUIET_MS * MS + pause, MS);
	requests_come(0);
	assert_in_range(next_wait(), alone - MS, alone + 2 * MS);
}

TEST(test_requests_after_a_pause_stop_the_background)
{
	const int64_t most = THROTTLE_ALONE_MS * MS;

	assert_alone(100 * most, most);
	assert_alone(most / 2, most / 2);
	assert_alone(20 * MS, 20 * MS);
}

TEST(test_a_hurry_ends_waits)
{
	start(0);
	requests_come(0);
	throttle_hurry(&throttle, (now_ns + SECOND) / MS);
	assert_int_equal(greedy(SECOND, MS), SECOND);
	assert_int_equal(sleeps, 0);
	assert_true(greedy(SECOND, MS) < SECOND / 2);
	throttle_hurry(&throttle, (now_ns + SECOND) / MS);
	throttle_hurry(&throttle, 0); /* what is done is no hurry */
	assert_true(greedy(SECOND, MS) < SECOND / 2);
}

/* A thread that got no processor did not work. */
TEST(test_a_long_piece_counts_as_a_short_one)
{
	int64_t cost = THROTTLE_PIECE_MS * MS * 100 /
		       (THROTTLE_BUSY_PERCENT * WORKERS);

	start(0);
	requests_come(0);
	(void)greedy(2 * SECOND, MS);
	now_ns += 60 * SECOND;
	assert_in_range(next_wait(), cost, cost + MS);
}

/* ---- a limit of bytes ---- */

/* Reads whenever that is allowed; what it got. */
static uint64_t read_all(int64_t duration, size_t piece)
{
	int64_t end = now_ns + duration;
	uint64_t taken = 0;

	while (gate_pass_read(&gate), now_ns < end) {
		gate_charge_read(&gate, piece);
		taken += piece;
	}
	return taken;
}

TEST(test_rate)
{
	static const uint64_t rates[] = { MB, 3 * MB, 20 * MB, 1000 * MB };
	static const size_t pieces[] = { 4096, 5000, 262144, 1 << 20 };
	size_t i, k;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		for (k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++) {
			uint64_t least = 10 * rates[i], taken;

			start(rates[i]);
			taken = read_all(10 * SECOND, pieces[k]);
			assert_true(taken >= least - least / 100);
			assert_true(taken <=
				    least + rates[i] / 10 + 2 * pieces[k]);
		}
}

TEST(test_small_reads_are_charged_as_a_page)
{
	start(MB);
	assert_true(read_all(10 * SECOND, 1) < 10 * MB / 4096 * 11 / 10);
}

TEST(test_reads_that_a_request_waits_for_are_not_limited)
{
	int i;

	start(1);
	gate_set(&gate, true);
	for (i = 0; i < 1000; i++) {
		gate_pass_read(&gate);
		gate_charge_read(&gate, 1 << 20);
	}
	gate_set(&gate, false);
	gate_pass_read(&gate);
	assert_int_equal(sleeps, 0);
}

/* ---- slices ---- */

/* As another program computes: waits that long for a processor in a slice.
 * Returns how long the thread rested. */
static int64_t rests(int64_t wait_ns)
{
	int64_t begin = now_ns;

	gate.slice_ns = 0;
	waited_ns += wait_ns;
	gate_pass(&gate);
	return now_ns - begin;
}

static void start_slices(void)
{
	start(0);
	gate.is_idle = false;
	(void)rests(0);
	sleeps = 0;
}

TEST(test_a_busy_processor_is_left_alone)
{
	start_slices();
	assert_int_equal(rests(0), 0);
	assert_int_equal(rests(MS), GATE_RESTS * MS);
	assert_int_equal(rests(SECOND), GATE_REST_MS * MS);
	assert_int_equal(rests(0), 0);
}

/* A thread under SCHED_IDLE is left alone by the kernel. */
TEST(test_an_idle_thread_does_not_rest)
{
	start_slices();
	gate.is_idle = true;
	assert_int_equal(rests(SECOND), 0);
}

TEST(test_work_that_a_user_waits_for_does_not_rest)
{
	start_slices();
	throttle_hurry(&throttle, now_ns / MS + 1);
	assert_int_equal(rests(SECOND), 0);
	gate_set(&gate, true);
	requests_come(0);
	assert_int_equal(rests(SECOND), 0);
}

TEST(test_a_thread_that_waits_goes_on_when_its_gate_is_opened)
{
	start_slices();
	requests_come(0);
	opened_meanwhile = &gate;
	(void)rests(SECOND);
	assert_int_equal(sleeps, 1);
	throttle_stop(&throttle);
	gate_set(&gate, false);
	assert_int_equal(rests(SECOND), 0); /* nor does it at the end */
}
