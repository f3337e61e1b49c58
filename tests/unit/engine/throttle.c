/* SPDX-License-Identifier: Apache-2.0 */

/* The background asks before each piece of its work whether it is welcome. */

#include "tests/unit/engine/fixture.h"

#include <stdatomic.h>

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
