/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

#include <fcntl.h>

#include "core/engine/engine_impl.h"

/* What is said to be finished while a file changes whenever it was read, and
 * while a tree is scanned once more. */

static struct fixture f;
static ino_t restless;
static time_t last;

/* Whoever asks whether the file is in use finds it changed afterwards. */
static enum source_use change(void *ctx, dev_t device, ino_t inode)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	int fd;

	(void)ctx;
	(void)device;
	if (inode == restless) {
		times[1].tv_sec = ++last;
		fd = open_file(&f, "log");
		assert_int_equal(utimensat(fd, "", times, AT_EMPTY_PATH), 0);
		close(fd);
	}
	return SOURCE_UNUSED;
}

static bool is_incomplete(void)
{
	bool only_pending;

	return search_is_incomplete(&f.engine->search.context, &only_pending);
}

TEST(test_what_never_settles_is_not_finished)
{
	struct timespec pause = { 0, 2000000 };
	struct stat st;
	int fd, polls;

	fixture_make(&f);
	write_text(&f, "log", 5000);
	write_text(&f, "still", 6000);
	fd = open_file(&f, "log");
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	restless = st.st_ino;
	f.options.host.use = change;
	fixture_open(&f);
	for (polls = 0; !status_number(&f, "unsteady"); polls++) {
		assert_true(polls < DEADLINE_S * 500);
		nanosleep(&pause, NULL);
	}
	assert_true(status_number(&f, "percent") < 100);
	assert_true(is_incomplete());
	fixture_remove(&f);
	restless = 0;
}

TEST(test_a_later_scan_leaves_groups_complete)
{
	fixture_make(&f);
	write_text(&f, "still", 6000);
	fixture_open(&f);
	wait_idle(&f);
	assert_false(is_incomplete());
	atomic_store(&f.engine->scan.running, true);
	assert_false(is_incomplete());
	atomic_store(&f.engine->scan.walks, 0);
	assert_true(is_incomplete());
	fixture_remove(&f);
}
