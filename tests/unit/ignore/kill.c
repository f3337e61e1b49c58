/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/ignore/ignore.h"
#include "tests/support/remove_tree.h"

/*
 * A program that writes the file of ignored pairs ends at its n-th system call,
 * for every n; with a write, half of the bytes are written first.  Whatever the
 * moment: the file has the old pairs or the old ones and the new one, and the
 * next program can write.
 */

/* ---- the moment ---- */

static long calls_left = -1; /* -1: no end */

static bool is_last_call(void)
{
	return calls_left >= 0 && calls_left-- == 0;
}

static void count_call(void)
{
	if (is_last_call())
		_exit(1);
}

ssize_t write(int fd, const void *data, size_t len)
{
	if (!is_last_call())
		return syscall(SYS_write, fd, data, len);
	(void)syscall(SYS_write, fd, data, len / 2);
	_exit(1);
}

int fsync(int fd)
{
	count_call();
	return (int)syscall(SYS_fsync, fd);
}

int unlinkat(int fd, const char *name, int flags)
{
	count_call();
	return (int)syscall(SYS_unlinkat, fd, name, flags);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	count_call();
	return (int)syscall(SYS_renameat, from_fd, from, to_fd, to);
}

/* ---- the file ---- */

enum { OLD_PAIRS = 100 };

static struct ignore_content content_of(uint64_t number)
{
	struct ignore_content c = { .size = number };

	memcpy(c.xxh128, &number, sizeof(number));
	return c;
}

static void add(struct ignore_set *set, uint64_t number)
{
	struct ignore_content a = content_of(number), b = content_of(0);

	assert_int_equal(ignore_set_add(set, &a, &b, "a b"), 1);
}

static bool has(const struct ignore_set *set, uint64_t number)
{
	struct ignore_content a = content_of(number), b = content_of(0);

	return ignore_set_has(set, &a, &b);
}

static void write_old(int directory)
{
	struct ignore_set set = { 0 };
	uint64_t i;

	for (i = 1; i <= OLD_PAIRS; i++)
		add(&set, i);
	assert_int_equal(ignore_save(directory, &set), 0);
	ignore_set_release(&set);
}

static int add_one(const char *path)
{
	struct ignore_set set;
	int directory = open(path, O_RDONLY), err = ignore_lock(directory);

	if (!err)
		err = ignore_load(directory, &set, NULL);
	if (err)
		return err;
	add(&set, OLD_PAIRS + 1);
	err = ignore_save(directory, &set);
	ignore_set_release(&set);
	(void)close(directory);
	return err;
}

/* Whether the program came to its end. */
static bool add_one_until(const char *path, long calls)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		calls_left = calls;
		_exit(add_one(path) ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 0;
}

static void assert_old_or_new(int directory, bool ended)
{
	struct ignore_set set;
	uint64_t i;

	assert_int_equal(ignore_load(directory, &set, NULL), 0);
	assert_int_equal(set.damaged, 0);
	for (i = 1; i <= OLD_PAIRS; i++)
		assert_true(has(&set, i));
	if (ended)
		assert_true(has(&set, OLD_PAIRS + 1));
	ignore_set_release(&set);
}

TEST(test_a_kill_leaves_the_old_or_the_new_file)
{
	int directory = open(*state, O_RDONLY);
	bool ended = false;
	long calls;

	for (calls = 0; !ended; calls++) {
		write_old(directory);
		ended = add_one_until(*state, calls);
		assert_old_or_new(directory, ended);
	}
	assert_true(calls > 4); /* unlink, write, sync, rename, sync */
	(void)close(directory);
}

static int make_directory(void **state)
{
	static char path[] = "/tmp/kinfs-unit-XXXXXX";

	*state = mkdtemp(path);
	assert_non_null(*state);
	return 0;
}

static int remove_directory(void **state)
{
	remove_tree(*state);
	return 0;
}

int main(void)
{
	return test_run(make_directory, remove_directory);
}
