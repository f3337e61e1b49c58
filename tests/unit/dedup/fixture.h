/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_DEDUP_FIXTURE_H
#define TESTS_UNIT_DEDUP_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/act/dedup/dedup.h"
#include "tests/support/remove_tree.h"
#include "tests/support/test.h"

/* ---- system calls that change something can be made to fail ---- */

static int calls_left = -1; /* the process ends before the call after these */
static void (*before_link)(void);
static void (*before_exchange)(void);
static void (*before_create)(void);
static int links_left = -1; /* linkat() fails after these: EMLINK */

static inline void count_call(void)
{
	if (calls_left == 0)
		_exit(0);
	if (calls_left > 0)
		calls_left--;
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	count_call();
	if (before_link)
		before_link();
	if (!links_left) {
		errno = EMLINK;
		return -1;
	}
	links_left -= links_left > 0;
	return (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to,
	      unsigned flags)
{
	count_call();
	if (before_exchange)
		before_exchange();
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int openat(int fd, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode = 0;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	if (flags & O_CREAT && before_create)
		before_create();
	return (int)syscall(SYS_openat, fd, name, flags, mode);
}

/* As on a filesystem that has no leases. */
static bool has_no_leases;

int fcntl(int fd, int command, ...)
{
	va_list args;
	long value;

	va_start(args, command);
	value = va_arg(args, long);
	va_end(args);
	if (command == F_SETLEASE && has_no_leases) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_fcntl, fd, command, value);
}

int unlinkat(int fd, const char *name, int flags)
{
	count_call();
	return (int)syscall(SYS_unlinkat, fd, name, flags);
}

int fdatasync(int fd)
{
	count_call();
	return (int)syscall(SYS_fdatasync, fd);
}

/* ---- a directory with files a (old), bb (newer) and c/d (newest) ---- */

static char top[64];
static char journal_path[80];

static inline const char *at(const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static inline void write_file(const char *name, const char *text, time_t mtime)
{
	const struct timespec times[2] = { { mtime, 1 }, { mtime, 1 } };
	FILE *file = fopen(at(name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(utimensat(AT_FDCWD, at(name), times, 0), 0);
}

static const char text[] = "the content of all three";

static inline int set_up(void **state)
{
	(void)state;
	(void)snprintf(top, sizeof(top), "/var/tmp/kinfs-dedup-XXXXXX");
	assert_non_null(mkdtemp(top));
	(void)snprintf(journal_path, sizeof(journal_path), "%s.journal", top);
	assert_int_equal(mkdir(at("c"), 0700), 0);
	write_file("a", text, 1000);
	write_file("bb", text, 2000);
	write_file("c/d", text, 3000);
	calls_left = -1;
	before_link = NULL;
	before_exchange = NULL;
	before_create = NULL;
	has_no_leases = false;
	links_left = -1;
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	remove_tree(top);
	(void)unlink(journal_path);
	return 0;
}

static inline void expect_text(const char *name, const char *want)
{
	char found[100] = "";
	FILE *file = fopen(at(name), "r");

	assert_non_null(file);
	(void)!fgets(found, sizeof(found), file);
	fclose(file);
	assert_string_equal(found, want);
}

static inline struct stat stat_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(at(name), &st), 0);
	return st;
}

static inline bool exists(const char *name)
{
	return !access(at(name), F_OK);
}

static inline int count_entries(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *d;
	char path[400];
	int count = 0;

	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL) {
		assert_in_range(snprintf(path, sizeof(path), "%s/%s", directory,
					 d->d_name),
				1, sizeof(path) - 1);
		if (d->d_type == DT_REG)
			count++;
		else if (d->d_type == DT_DIR && d->d_name[0] != '.')
			count += count_entries(path);
	}
	closedir(dir);
	return count;
}

/* Nothing is left beside the files. */
static inline void expect_entries(int count)
{
	assert_int_equal(count_entries(top), count);
}

/* ---- plans ---- */

static char skipped[1000];

static inline void note_skip(const char *path, const char *reason)
{
	size_t len;

	(void)path;
	len = strlen(skipped);
	(void)snprintf(skipped + len, sizeof(skipped) - len, "%s;", reason);
}

static inline void plan_names(struct dedup_plan *p,
			      const struct dedup_rules *by,
			      const char *const *names, size_t count)
{
	struct found_file files[8] = { 0 };
	struct found_member member = { .files = files, .file_count = count };
	const struct found_group group = { .members = &member, .count = 1 };
	size_t i;

	skipped[0] = '\0';
	p->skip = note_skip;
	p->rules = *by;
	for (i = 0; i < count; i++)
		files[i] =
			(struct found_file){ .names = (const char **)&names[i],
					     .name_count = 1 };
	assert_int_equal(dedup_plan_add(p, top, &group), 0);
}

/* A plan is freed by the end of the process, from where it was left. */
static inline void leave_plan(struct dedup_plan *p)
{
	static struct dedup_plan left[100];
	static size_t count;

	assert_true(count < sizeof(left) / sizeof(left[0]));
	left[count++] = *p;
	*p = (struct dedup_plan){ .skip = p->skip };
}

/* Of the files that are to be made of others, the one of that number. */
static inline struct dedup_file *step_of(const struct dedup_plan *p,
					 size_t number)
{
	size_t i;

	for (i = 0; i < p->file_count; i++)
		if (p->files[i]->keep && !number--)
			return p->files[i];
	return NULL;
}

static inline size_t step_count(const struct dedup_plan *p)
{
	size_t count = 0;

	while (step_of(p, count))
		count++;
	return count;
}

static inline int take_step(struct dedup_plan *p, size_t number, FILE *j,
			    struct dedup_result *out)
{
	p->rules.apply = j;
	return dedup_apply(&p->rules, step_of(p, number), j, out);
}

static const char *const all[] = { "bb", "a", "c/d" };

/* ---- steps ---- */

static struct dedup_rules step_rules;
static struct dedup_result last;
static int last_err;

static inline void apply_plan(struct dedup_plan *p)
{
	FILE *j = NULL;
	size_t i;

	(void)unlink(journal_path);
	assert_int_equal(dedup_journal_create(journal_path, &j), 0);
	p->rules = step_rules;
	for (i = 0; i < step_count(p); i++)
		last_err = take_step(p, i, j, &last);
	(void)fclose(j);
	leave_plan(p);
}

/* bb is to be replaced, a is kept. */
static inline void make_plan(struct dedup_plan *p, enum dedup_method method)
{
	const char *const names[] = { "a", "bb" };

	step_rules = (struct dedup_rules){ .method = method };
	*p = (struct dedup_plan){ 0 };
	plan_names(p, &step_rules, names, 2);
	assert_int_equal(step_count(p), 1);
}

static inline void dedup(enum dedup_method method)
{
	struct dedup_plan p;

	make_plan(&p, method);
	apply_plan(&p);
}

#define IN_TREE(name) TEST_WITH(name, set_up, tear_down)

#endif
