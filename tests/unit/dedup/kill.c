/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/act/dedup/dedup.h"

/*
 * A process that replaces copies, or takes that back, ends at a random system
 * call of those that change something, also in the middle of what it writes.
 * Whatever the moment: every path that was not to go has its content, undo
 * gives every path a file of its own as before, and no temporary name stays.
 */
enum { ROUNDS = 200, SETS = 6, COPIES = 3, FILES = SETS * COPIES };

/* The second copy of each set has two names more. */
enum { LINKS = 2 };

/* ---- the moment ---- */

static long *calls; /* shared with the child: made so far */
static long calls_most = -1;

static bool is_last_call(void)
{
	return calls_most >= 0 && ++*calls > calls_most;
}

static void count_call(void)
{
	if (is_last_call())
		_exit(0);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	count_call();
	return (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to,
	      unsigned flags)
{
	count_call();
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int unlinkat(int fd, const char *name, int flags)
{
	count_call();
	return (int)syscall(SYS_unlinkat, fd, name, flags);
}

int fchmod(int fd, mode_t mode)
{
	count_call();
	return (int)syscall(SYS_fchmod, fd, mode);
}

/* Half of it is written when the end comes. */
ssize_t write(int fd, const void *data, size_t len)
{
	if (!is_last_call())
		return syscall(SYS_write, fd, data, len);
	(void)syscall(SYS_write, fd, data, len / 2);
	_exit(0);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	if (!is_last_call())
		return syscall(SYS_pwrite64, fd, data, len, at);
	(void)syscall(SYS_pwrite64, fd, data, len / 2, at);
	_exit(0);
}

/* A process that ends loses nothing that it wrote: no need to wait for the
 * disk. */
int fdatasync(int fd)
{
	(void)fd;
	count_call();
	return 0;
}

int fsync(int fd)
{
	(void)fd;
	count_call();
	return 0;
}

/* ---- random numbers ---- */

static uint64_t seed = 20260;

/* below: not 0. */
static uint64_t draw(uint64_t below)
{
	if (!below)
		return 0;
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* ---- the tree: SETS contents in COPIES files each ---- */

static char top[64], journal_path[80];

static const char *path_of(int file)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%d/%d", top, file % COPIES,
		       file / COPIES);
	return path;
}

static const char *link_of(int set, int number)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%d/link%d", top, number,
		       set);
	return path;
}

static size_t size_of(int file)
{
	return 1 + (size_t)(file / COPIES) * 1777;
}

static void fill(int file, char *out)
{
	size_t i;

	for (i = 0; i < size_of(file); i++)
		out[i] = (char)(i * 31 + (size_t)(file / COPIES) * 7);
}

static time_t mtime_of(int file)
{
	return 1000000 + file;
}

static void make_file(int file)
{
	const struct timespec times[2] = { { mtime_of(file), 5 },
					   { mtime_of(file), 5 } };
	char content[SETS * 1777];
	int fd = open(path_of(file), O_WRONLY | O_CREAT | O_TRUNC, 0640);

	fill(file, content);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, size_of(file)), size_of(file));
	assert_int_equal(fsetxattr(fd, "user.note", "n", 1, 0), 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static void make_tree(void)
{
	char command[600];
	int i;

	(void)snprintf(command, sizeof(command),
		       "rm -rf '%s' '%s' && mkdir -p '%s'/0 '%s'/1 '%s'/2", top,
		       journal_path, top, top, top);
	/* NOLINTNEXTLINE(cert-env33-c): a command of this test */
	assert_int_equal(system(command), 0);
	for (i = 0; i < FILES; i++)
		make_file(i);
	for (i = 0; i < SETS * LINKS; i++)
		assert_int_equal(link(path_of(i / LINKS * COPIES + 1),
				      link_of(i / LINKS, i % LINKS)),
				 0);
}

static bool has_content_at(int file, const char *path)
{
	char want[SETS * 1777], have[SETS * 1777 + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	fill(file, want);
	n = read(fd, have, sizeof(have));
	close(fd);
	return n == (ssize_t)size_of(file) && !memcmp(want, have, (size_t)n);
}

static bool has_content(int file)
{
	return has_content_at(file, path_of(file));
}

static int count_temporaries(void)
{
	char path[128];
	struct dirent *d;
	int i, count = 0;

	for (i = 0; i < COPIES; i++) {
		DIR *dir;

		(void)snprintf(path, sizeof(path), "%s/%d", top, i);
		dir = opendir(path);
		assert_non_null(dir);
		while ((d = readdir(dir)) != NULL)
			count += d->d_name[0] == '.' && d->d_name[1] == 'k';
		closedir(dir);
	}
	return count;
}

/* ---- what is done, and ends somewhere ---- */

static enum dedup_method method;

static void apply(void)
{
	struct dedup_plan p = { .rules = { .method = method,
					   .force_metadata = true,
					   .apply = true } };
	FILE *j = NULL;
	struct dedup_result r;
	struct found_file files[COPIES + LINKS] = { 0 };
	struct found_member member = { .files = files,
				       .file_count = COPIES + LINKS };
	const struct found_group group = { .members = &member, .count = 1 };
	const char *names[COPIES + LINKS];
	char paths[COPIES + LINKS][128];
	size_t i;
	int set, copy;

	for (set = 0; set < SETS; set++) {
		for (copy = 0; copy < COPIES + LINKS; copy++) {
			(void)snprintf(paths[copy], sizeof(paths[0]), "%s",
				       copy < COPIES ?
					       path_of(set * COPIES + copy) :
					       link_of(set, copy - COPIES));
			names[copy] = paths[copy];
			files[copy].names = &names[copy];
			files[copy].name_count = 1;
		}
		(void)dedup_plan_add(&p, NULL, &group);
	}
	if (dedup_journal_create(journal_path, &j))
		_exit(2);
	for (i = 0; i < p.file_count; i++) {
		if (!p.files[i]->keep)
			continue;
		if (dedup_apply(&p.rules, p.files[i], j, &r))
			_exit(3);
	}
	(void)fclose(j);
}

static void tell(const char *path, const char *reason)
{
	print_error("%s: %s\n", path, reason);
}

static void take_back(void)
{
	struct dedup_undo u = { .tell = tell };

	if (dedup_undo(journal_path, &u) || u.failed)
		_exit(4);
}

/* Makes at most so many calls; how many it made. */
static long run(void (*what)(void), long most)
{
	int status;
	pid_t pid;

	*calls = 0;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		calls_most = most;
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	return *calls;
}

/* ---- what must be so ---- */

/* The first copy of each set is the oldest one, and kept. */
static bool may_be_gone(int file)
{
	return method == DEDUP_REMOVE && file % COPIES != 0;
}

static void expect_links(long moment, bool restored)
{
	struct stat st, first;
	int i;

	for (i = 0; i < SETS * LINKS; i++) {
		const char *path = link_of(i / LINKS, i % LINKS);
		int file = i / LINKS * COPIES + 1;

		if (!restored && may_be_gone(file) && access(path, F_OK))
			continue;
		if (!has_content_at(file, path))
			fail_msg("%s has not its content after %ld calls", path,
				 moment);
		if (!restored)
			continue;
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(stat(path_of(file), &first), 0);
		assert_int_equal(st.st_ino, first.st_ino);
	}
}

static void expect_contents(long moment)
{
	int i;

	for (i = 0; i < FILES; i++)
		if (!has_content(i) &&
		    !(may_be_gone(i) && access(path_of(i), F_OK)))
			fail_msg("%s has not its content after %ld calls",
				 path_of(i), moment);
	expect_links(moment, false);
}

static void expect_as_before(long moment)
{
	struct stat st, first;
	char value;
	int i;

	for (i = 0; i < FILES; i++) {
		if (!has_content(i))
			fail_msg("%s is not restored after %ld calls",
				 path_of(i), moment);
		assert_int_equal(stat(path_of(i), &st), 0);
		assert_int_equal(stat(path_of(i - i % COPIES), &first), 0);
		assert_int_equal(st.st_nlink, i % COPIES == 1 ? 1 + LINKS : 1);
		assert_int_equal(st.st_mode & 07777, 0640);
		assert_int_equal(st.st_mtim.tv_sec, mtime_of(i));
		assert_int_equal(st.st_mtim.tv_nsec, 5);
		assert_int_equal(getxattr(path_of(i), "user.note", &value, 1),
				 1);
	}
	expect_links(moment, true);
	assert_int_equal(count_temporaries(), 0);
}

static bool is_journal(void)
{
	struct stat st;

	/* The first line may be cut: nothing was begun. */
	return !stat(journal_path, &st) && st.st_size >= 24;
}

static void kill_once(long all_calls)
{
	long moment = (long)draw((uint64_t)all_calls);

	make_tree();
	(void)run(apply, moment);
	expect_contents(moment);
	if (!is_journal()) {
		expect_as_before(moment);
		return;
	}
	if (draw(2)) {
		(void)run(take_back, (long)draw(60));
		expect_contents(moment);
	}
	(void)run(take_back, 1000000);
	expect_as_before(moment);
}

static void kill_often(enum dedup_method how)
{
	long all_calls;
	int i;

	method = how;
	make_tree();
	all_calls = run(apply, 1000000);
	assert_true(all_calls > 50);
	expect_contents(all_calls);
	for (i = 0; i < ROUNDS / 2; i++)
		kill_once(all_calls);
}

static int set_up(void **state);
static int tear_down(void **state);
#define WITH_FIXTURE(name) TEST_WITH(name, set_up, tear_down)

WITH_FIXTURE(test_hard_links_survive_a_kill)
{
	kill_often(DEDUP_HARDLINK);
}

WITH_FIXTURE(test_removal_survives_a_kill)
{
	kill_often(DEDUP_REMOVE);
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(top, sizeof(top), "/var/tmp/kinfs-kill-XXXXXX");
	assert_non_null(mkdtemp(top));
	(void)snprintf(journal_path, sizeof(journal_path), "%s.journal", top);
	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(calls != MAP_FAILED);
	return 0;
}

static int tear_down(void **state)
{
	char command[200];

	(void)state;
	(void)munmap(calls, sizeof(*calls));
	(void)snprintf(command, sizeof(command), "rm -rf '%s' '%s'", top,
		       journal_path);
	/* NOLINTNEXTLINE(cert-env33-c): a command of this test */
	return system(command);
}
