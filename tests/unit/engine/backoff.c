/* SPDX-License-Identifier: Apache-2.0 */

/*
 * When the background rests for those who work in the host, with a made-up
 * clock; and that it asks before each piece of its work.
 */

#include "tests/unit/engine/fixture.h"

#include <stdatomic.h>

#include "core/queue/throttle.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

enum { WORKERS = 4, QUIET = BACKOFF_QUIET_MS };

static const int64_t START = 7 * SECOND;

TEST(test_free_without_requests)
{
	struct backoff b;

	backoff_init(&b, WORKERS, START);
	assert_false(backoff_is_busy(&b, START));
	assert_true(backoff_due_ns(&b, START) <= START);
}

/* Has nothing left of its share. */
static void init_spent(struct backoff *b)
{
	int i;

	backoff_init(b, WORKERS, START);
	backoff_poll(b, true, START);
	for (i = 0; i < 100; i++)
		backoff_pay(b, START - SECOND, START);
}

TEST(test_waits_until_it_is_quiet)
{
	struct backoff b;

	init_spent(&b);
	assert_true(backoff_is_busy(&b, START));
	assert_int_equal(backoff_due_ns(&b, START), START + QUIET * MS);
	backoff_poll(&b, true, START + 3 * MS);
	assert_int_equal(backoff_due_ns(&b, START + QUIET * MS),
			 START + (3 + QUIET) * MS);
	assert_false(backoff_is_busy(&b, START + (3 + QUIET) * MS));
}

TEST(test_hurry_ends_waits)
{
	int64_t later = START + BACKOFF_HURRY_MS * MS;
	struct backoff b;

	init_spent(&b);
	backoff_hurry(&b, START);
	assert_false(backoff_is_busy(&b, START));
	assert_true(backoff_due_ns(&b, START) <= START);
	backoff_poll(&b, true, later);
	assert_true(backoff_is_busy(&b, later));
	assert_true(backoff_due_ns(&b, later) > later);
}

TEST(test_what_is_done_is_no_hurry)
{
	struct backoff b;

	init_spent(&b);
	backoff_hurry(&b, START);
	backoff_calm(&b, START + MS);
	backoff_poll(&b, true, START + MS);
	assert_true(backoff_is_busy(&b, START + MS));
	backoff_calm(&b, START + 2 * MS);
	assert_true(backoff_is_busy(&b, START + 2 * MS));
}

/* Works whenever it may, in such pieces, while a request comes so often; for
 * how long it worked. */
static int64_t greedy(struct backoff *b, int64_t duration, int64_t piece,
		      int64_t often)
{
	int64_t now = START, next = START, worked = 0;

	while (now < START + duration) {
		int64_t due;

		backoff_poll(b, now >= next, now);
		if (now >= next)
			next = now + often;
		due = backoff_due_ns(b, now);
		if (due > now) {
			now = next <= now || due < next ? due : next;
		} else {
			now += piece;
			worked += piece;
			backoff_pay(b, now - piece, now);
		}
	}
	return worked;
}

/* One worker alone may take what is meant for all. */
TEST(test_share_of_a_busy_host)
{
	static const int64_t pieces[] = { MS / 10, MS, 9 * MS };
	int64_t share = 10 * SECOND / 100 * BACKOFF_PERCENT * WORKERS;
	size_t i;

	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct backoff b;
		int64_t worked;

		backoff_init(&b, WORKERS, START);
		worked = greedy(&b, 10 * SECOND, pieces[i], 0);
		assert_true(worked >= share);
		assert_true(worked <= share + share / 50);
	}
}

/* What else there is when requests come and go; and all of it when none came
 * for long enough. */
TEST(test_share_of_a_host_that_was_busy)
{
	int64_t share = 10 * SECOND / 100 * BACKOFF_LATELY_PERCENT * WORKERS;
	struct backoff b;
	int64_t worked;

	backoff_init(&b, WORKERS, START);
	worked = greedy(&b, 10 * SECOND, MS, SECOND);
	assert_in_range(worked, share * 9 / 10, share + share / 50);
	backoff_init(&b, WORKERS, START);
	worked = greedy(&b, 10 * SECOND, MS, 60 * SECOND);
	share = BACKOFF_LATELY_MS * MS / 100 * BACKOFF_LATELY_PERCENT * WORKERS;
	assert_in_range(worked, 7 * SECOND + share * 9 / 10,
			7 * SECOND + share + share / 50);
}

/* An hour without a request gives no right to a long disturbance. */
TEST(test_saves_little)
{
	int64_t share = SECOND / 100 * BACKOFF_PERCENT * WORKERS;
	struct backoff b;

	backoff_init(&b, WORKERS, START - 3600 * SECOND);
	assert_true(greedy(&b, SECOND, MS, 0) <= share + share / 5);
}

/* Who comes after a rest has the host alone, for as long as it was quiet. */
static void assert_alone(int64_t quiet, int64_t alone)
{
	struct backoff b;
	int64_t now = START + quiet;

	backoff_init(&b, WORKERS, START - 60 * SECOND);
	backoff_poll(&b, true, START - SECOND);
	backoff_poll(&b, false, START);
	backoff_poll(&b, false, START + quiet / 2);
	backoff_poll(&b, true, now);
	for (; alone >= MS; alone -= MS) {
		assert_true(backoff_due_ns(&b, now) > now);
		now += MS;
		backoff_poll(&b, true, now);
	}
	assert_true(backoff_due_ns(&b, now) <= now);
}

TEST(test_requests_after_a_pause_stop_the_background)
{
	int64_t most = BACKOFF_ALONE_MS * MS;

	assert_alone(100 * most, most);
	assert_alone(most / 2, most / 2);
	assert_alone(MS, MS);
}

TEST(test_remembers_for_a_while_that_it_was_busy)
{
	const int64_t lately = BACKOFF_LATELY_MS * MS;
	struct backoff b;

	backoff_init(&b, WORKERS, START);
	assert_false(backoff_was_busy(&b, START));
	backoff_poll(&b, true, START);
	assert_true(backoff_was_busy(&b, START));
	backoff_poll(&b, false, START + lately / 2);
	assert_true(backoff_was_busy(&b, START + lately - 1));
	assert_false(backoff_was_busy(&b, START + lately));
	backoff_hurry(&b, START);
	assert_false(backoff_was_busy(&b, START + 1));
}

/* A thread that got no processor did not work. */
TEST(test_long_piece_counts_as_a_short_one)
{
	struct backoff longer, shorter;

	init_spent(&longer);
	shorter = longer;
	backoff_pay(&longer, START - 60 * SECOND, START);
	backoff_pay(&shorter, START - BACKOFF_PIECE_MS * MS, START);
	assert_memory_equal(&longer, &shorter, sizeof(shorter));
	assert_true(backoff_due_ns(&longer, START) > START);
}

/* ---- the engine ---- */

enum {
	FILES = 200,
	FEW = 10,
	BYTES = 500,
	LARGE = 16 << 20,
	CHUNK = 256 << 10
};

static atomic_int looks;

static bool is_quiet(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&looks, 1);
	return false;
}

static void make_files(struct fixture *f, int count)
{
	char name[16];
	int i;

	for (i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "file-%d", i);
		write_text(f, name, BYTES + (size_t)i);
	}
}

static void open_quiet(struct fixture *f)
{
	atomic_store(&looks, 0);
	f->options.host.had_requests = is_quiet;
	fixture_open(f);
}

/* A worker looks before each file; the scan looks every millisecond. */
TEST(test_looks_before_each_file)
{
	struct fixture f;

	fixture_make(&f);
	make_files(&f, FILES);
	open_quiet(&f);
	wait_idle(&f);
	assert_int_equal(hashed_files(&f), FILES);
	assert_true(atomic_load(&looks) >= FILES);
	fixture_remove(&f);
}

TEST(test_looks_within_a_file)
{
	struct fixture f;

	fixture_make(&f);
	write_text(&f, "large", LARGE);
	open_quiet(&f);
	wait_idle(&f);
	assert_true(atomic_load(&looks) >= LARGE / CHUNK);
	fixture_remove(&f);
}

TEST(test_a_file_with_requests_is_not_throttled)
{
	struct file_digests answer;
	struct fixture f;
	int before;

	fixture_make(&f);
	open_quiet(&f);
	wait_idle(&f);
	engine_pause(f.engine, true);
	before = atomic_load(&looks);
	write_text(&f, "large", LARGE);
	ask_fresh(&f, "large", &answer);
	file_digests_release(&answer);
	assert_true(atomic_load(&looks) - before < LARGE / CHUNK / 2);
	fixture_remove(&f);
}

TEST(test_busy_host_is_hashed_after_all)
{
	struct fixture f;

	fixture_make(&f);
	make_files(&f, FEW);
	f.options.host.had_requests = is_always_busy;
	fixture_open(&f);
	wait_idle(&f);
	assert_int_equal(hashed_files(&f), FEW);
	fixture_remove(&f);
}
