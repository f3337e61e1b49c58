/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Paused, nothing is read but what somebody waits for; and what is waited for
 * does not wait for its turn under a limit.
 */

#include "tests/unit/engine/fixture.h"

enum { FILES = 40, BYTES = 5000, LARGE = 300000, HUGE_SIZE = 12 << 20 };

/* Bytes a second: a large file takes minutes, which no test waits for. */
enum { CRAWL = 1000 };

static void name_of(int i, char out[16])
{
	(void)snprintf(out, 16, "file-%d", i);
}

static void make_files(struct fixture *f)
{
	char name[16], data[BYTES];
	int i;

	for (i = 0; i < FILES; i++) {
		name_of(i, name);
		make_text(data, sizeof(data), (uint64_t)i + 1);
		write_file(f, name, data, sizeof(data));
	}
}

static bool status_bool(struct fixture *f, const char *name)
{
	json_t *status;
	bool value;

	assert_int_equal(engine_status(f->engine, &status), 0);
	value = json_is_true(json_object_get(status, name));
	json_decref(status);
	return value;
}

static void wait_stalled(struct fixture *f)
{
	struct timespec pause = { 0, 2000000 };
	int polls;

	for (polls = 0; polls < DEADLINE_S * 500; polls++) {
		if (status_bool(f, "stalled"))
			return;
		assert_false(is_idle(f));
		nanosleep(&pause, NULL);
	}
	fail_msg("not stalled after %d s", DEADLINE_S);
}

static void assert_paused(struct fixture *f, const char *why)
{
	const char *have;
	json_t *status;

	assert_int_equal(engine_status(f->engine, &status), 0);
	have = json_string_value(json_object_get(status, "paused"));
	assert_int_equal(have != NULL, why != NULL);
	if (why)
		assert_string_equal(have, why);
	json_decref(status);
}

static enum digests_state state_of(struct fixture *f, const char *path)
{
	struct file_digests answer;
	enum digests_state state;
	int fd = open_file(f, path);

	assert_int_equal(engine_ask(f->engine, fd, DIGEST_ALL, &answer), 0);
	close(fd);
	state = answer.state;
	file_digests_release(&answer);
	return state;
}

/* An engine that is paused before there is anything to hash. */
static void open_paused(struct fixture *f)
{
	fixture_make(f);
	fixture_open(f);
	wait_idle(f);
	engine_pause(f->engine, true);
	make_files(f);
	engine_rescan(f->engine);
}

TEST(test_a_file_with_requests_is_hashed)
{
	struct file_digests answer;
	struct fixture f;
	char name[16];
	int i;

	open_paused(&f);
	for (i = 0; i < FILES; i += 2) {
		name_of(i, name);
		ask_fresh(&f, name, &answer);
		file_digests_release(&answer);
	}
	assert_int_equal(hashed_files(&f), FILES / 2);
	for (i = 1; i < FILES; i += 2) {
		name_of(i, name);
		assert_int_equal(state_of(&f, name), DIGESTS_PENDING);
	}
	fixture_remove(&f);
}

TEST(test_stalls_and_resumes)
{
	struct fixture f;

	open_paused(&f);
	wait_stalled(&f);
	assert_paused(&f, "asked");
	assert_int_equal(hashed_files(&f), 0);
	assert_int_equal(status_number(&f, "pending"), FILES);
	engine_pause(f.engine, false);
	wait_idle(&f);
	assert_paused(&f, NULL);
	assert_false(status_bool(&f, "stalled"));
	assert_int_equal(hashed_files(&f), FILES);
	fixture_remove(&f);
}

/* Nothing left to do is idle, paused or not: kin wait must see it. */
TEST(test_nothing_to_do_is_idle)
{
	struct fixture f;

	fixture_make(&f);
	make_files(&f);
	fixture_open(&f);
	wait_idle(&f);
	engine_pause(f.engine, true);
	engine_rescan(f.engine);
	wait_idle(&f);
	assert_false(status_bool(&f, "stalled"));
	fixture_remove(&f);
}

/* What was pending when the engine ended is found again after all. */
TEST(test_pending_survives)
{
	struct fixture f;

	open_paused(&f);
	wait_stalled(&f);
	fixture_close(&f);
	fixture_open(&f);
	wait_idle(&f);
	assert_int_equal(hashed_files(&f), FILES);
	fixture_remove(&f);
}

/* ---- a limit ---- */

/* Both threads of the background are in the middle of a file. */
static void wait_crawling(struct fixture *f)
{
	struct timespec pause = { 0, 2000000 };
	int polls;

	for (polls = 0; polls < DEADLINE_S * 500; polls++) {
		if (status_number(f, "hashing") == 2)
			return;
		nanosleep(&pause, NULL);
	}
	fail_msg("not hashing after %d s", DEADLINE_S);
}

static void open_crawling(struct fixture *f, size_t len)
{
	fixture_make(f);
	f->options.rate = CRAWL;
	write_text(f, "a", len);
	write_text(f, "b", len + 1);
	write_text(f, "c", len + 2);
	fixture_open(f);
	wait_crawling(f);
}

static void ask(struct fixture *f, const char *path)
{
	struct file_digests answer;

	ask_fresh(f, path, &answer);
	file_digests_release(&answer);
}

/* Also those the background is in the middle of. */
TEST(test_a_file_with_requests_has_no_limit)
{
	struct fixture f;

	open_crawling(&f, LARGE);
	assert_int_equal(hashed_files(&f), 0);
	ask(&f, "a");
	ask(&f, "b");
	ask(&f, "c");
	wait_idle(&f);
	assert_int_equal(hashed_files(&f), 3);
	fixture_remove(&f);
}

/* Enough is left to be given to a thread that is not in the background. */
TEST(test_a_large_file_with_requests_is_handed_over)
{
	struct fixture f;

	open_crawling(&f, HUGE_SIZE);
	ask(&f, "a");
	ask(&f, "b");
	ask(&f, "c");
	wait_idle(&f);
	fixture_remove(&f);
}

TEST(test_a_pause_ends_a_slow_read)
{
	struct fixture f;

	open_crawling(&f, LARGE);
	engine_pause(f.engine, true);
	wait_stalled(&f);
	assert_int_equal(status_number(&f, "hashing"), 0);
	assert_int_equal(hashed_files(&f), 0);
	fixture_remove(&f);
}

TEST(test_a_stop_ends_a_slow_read)
{
	struct timespec before, after;
	struct fixture f;

	open_crawling(&f, LARGE);
	clock_gettime(CLOCK_MONOTONIC, &before);
	fixture_close(&f);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < DEADLINE_S);
	fixture_remove(&f);
}

static bool is_open(const char *name)
{
	char link[64], path[512];
	bool open = false;
	ssize_t len;
	int fd;

	for (fd = 0; fd < 1024; fd++) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, path, sizeof(path) - 1);
		path[len > 0 ? len : 0] = '\0';
		open = open || (len > 0 && strstr(path, name));
	}
	return open;
}

/* Some of a file was read. */
static bool is_begun(struct fixture *f)
{
	json_t *status;
	bool begun;

	assert_int_equal(engine_status(f->engine, &status), 0);
	begun = json_integer_value(json_object_get(
			json_object_get(status, "progress"), "done")) > 0;
	json_decref(status);
	return begun;
}

/* It may be deleted meanwhile, or its filesystem unmounted.  Afterwards the
 * worker goes on. */
TEST(test_a_pause_closes_a_large_file)
{
	struct timespec pause = { 0, 2000000 };
	struct fixture f;

	fixture_make(&f);
	f.options.rate = CRAWL;
	write_text(&f, "a-large-file", QUEUE_LARGE + 1);
	fixture_open(&f);
	while (!is_begun(&f))
		nanosleep(&pause, NULL);
	engine_pause(f.engine, true);
	wait_stalled(&f);
	assert_int_equal(status_number(&f, "hashing"), 0);
	assert_true(is_begun(&f));
	assert_false(is_open("a-large-file"));
	engine_pause(f.engine, false);
	while (!is_open("a-large-file"))
		nanosleep(&pause, NULL);
	ask(&f, "a-large-file");
	assert_int_equal(hashed_files(&f), 1);
	fixture_remove(&f);
}
