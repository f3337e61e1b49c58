/* SPDX-License-Identifier: Apache-2.0 */

/* What is read slowly, under a limit, is let go by a pause. */

#include "tests/unit/engine/fixture.h"

enum { LARGE = 300000 };

/* Bytes a second: a large file takes minutes, which no test waits for. */
enum { CRAWL = 1000 };

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
	struct file_digests answer;
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
	ask_fresh(&f, "a-large-file", &answer);
	file_digests_release(&answer);
	assert_int_equal(hashed_files(&f), 1);
	fixture_remove(&f);
}
