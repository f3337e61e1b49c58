/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/dedup/dedup.h"
#include "tests/unit/remove_tree.h"

/* ---- system calls that change something can be made to fail ---- */

static int calls_left = -1; /* the process ends before the call after these */
static void (*before_link)(void);
static void (*before_exchange)(void);

static void count_call(void)
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

static const char *at(const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void write_file(const char *name, const char *text, time_t mtime)
{
	const struct timespec times[2] = { { mtime, 1 }, { mtime, 1 } };
	FILE *file = fopen(at(name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(utimensat(AT_FDCWD, at(name), times, 0), 0);
}

static const char text[] = "the content of all three";

static int set_up(void **state)
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
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remove_tree(top);
	(void)unlink(journal_path);
	return 0;
}

static void expect_text(const char *name, const char *want)
{
	char found[100] = "";
	FILE *file = fopen(at(name), "r");

	assert_non_null(file);
	(void)!fgets(found, sizeof(found), file);
	fclose(file);
	assert_string_equal(found, want);
}

static struct stat stat_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(at(name), &st), 0);
	return st;
}

static bool exists(const char *name)
{
	return !access(at(name), F_OK);
}

static int count_entries(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *d;
	char path[400];
	int count = 0;

	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL) {
		(void)snprintf(path, sizeof(path), "%s/%s", directory,
			       d->d_name);
		if (d->d_type == DT_REG)
			count++;
		else if (d->d_type == DT_DIR && d->d_name[0] != '.')
			count += count_entries(path);
	}
	closedir(dir);
	return count;
}

/* Nothing is left beside the files. */
static void expect_entries(int count)
{
	assert_int_equal(count_entries(top), count);
}

/* ---- plans ---- */

static char skipped[1000];

static void note_skip(void *arg, const char *path, const char *reason)
{
	size_t len;

	(void)arg;
	(void)path;
	len = strlen(skipped);
	(void)snprintf(skipped + len, sizeof(skipped) - len, "%s;", reason);
}

static void plan_names(struct dedup_plan *p, const struct dedup_rules *rules,
		       const char *const *names, size_t count)
{
	const char *paths[8];
	const struct dedup_set set = { .paths = paths, .count = count };
	size_t i;

	skipped[0] = '\0';
	*p = (struct dedup_plan){ .skip = note_skip };
	for (i = 0; i < count; i++)
		paths[i] = at(names[i]);
	assert_int_equal(dedup_plan_add(p, rules, &set), 0);
}

static const char *const all[] = { "bb", "a", "c/d" };

static void expect_kept(const struct dedup_rules *rules, const char *keep)
{
	struct dedup_plan p;
	size_t i;

	plan_names(&p, rules, all, 3);
	assert_int_equal(p.step_count, 2);
	for (i = 0; i < 2; i++)
		assert_string_equal(p.files[p.steps[i].keep].path, at(keep));
	dedup_plan_release(&p);
}

static void test_the_rule_says_which_file_is_kept(void **state)
{
	(void)state;
	write_file("bb", text, 500);
	expect_kept(&(struct dedup_rules){ .keep = DEDUP_KEEP_OLDEST }, "bb");
	expect_kept(&(struct dedup_rules){ .keep = DEDUP_KEEP_NEWEST }, "c/d");
	expect_kept(&(struct dedup_rules){ .keep = DEDUP_KEEP_SHORTEST }, "a");
}

static void test_protected_files_are_kept_and_never_replaced(void **state)
{
	char directory[128];
	const char *const directories[] = { directory };
	const struct dedup_rules rules = { .directories = directories,
					   .directory_count = 1 };
	const char *const both[] = { "c/d", "c/e" };
	struct dedup_plan p;

	(void)state;
	(void)snprintf(directory, sizeof(directory), "%s", at("c"));
	expect_kept(&rules, "c/d");
	write_file("c/e", text, 1);
	plan_names(&p, &rules, both, 2);
	assert_int_equal(p.step_count, 0);
	dedup_plan_release(&p);
}

static void test_hard_links_and_other_sizes_are_left_alone(void **state)
{
	const struct dedup_rules rules = { .keep = DEDUP_KEEP_OLDEST };
	const char *const names[] = { "a", "link", "bb", "longer", "c", "no" };
	struct dedup_plan p;

	(void)state;
	assert_int_equal(link(at("a"), at("link")), 0);
	write_file("longer", "another size, and so another content", 1);
	plan_names(&p, &rules, names, 6);
	assert_int_equal(p.step_count, 1);
	assert_string_equal(p.files[p.steps[0].replace].path, at("bb"));
	assert_non_null(strstr(skipped, "another size"));
	assert_non_null(strstr(skipped, "not a regular file"));
	assert_non_null(strstr(skipped, "No such file"));
	dedup_plan_release(&p);
}

static void test_bytes_count_once_all_names_of_a_copy_go(void **state)
{
	const struct dedup_rules rules = { .keep = DEDUP_KEEP_OLDEST };
	const char *const some[] = { "a", "bb" };
	const char *const names[] = { "a", "bb", "link" };
	struct dedup_plan p;

	(void)state;
	assert_int_equal(link(at("bb"), at("link")), 0);
	plan_names(&p, &rules, some, 2);
	assert_int_equal(p.bytes, 0);
	dedup_plan_release(&p);
	plan_names(&p, &rules, names, 3);
	assert_int_equal(p.bytes, stat_of("bb").st_blocks * 512);
	dedup_plan_release(&p);
}

/* ---- steps ---- */

static struct dedup_options options;
static struct dedup_result last;

static void apply_plan(struct dedup_plan *p)
{
	struct dedup_journal *j = NULL;
	size_t i;

	(void)unlink(journal_path);
	assert_int_equal(dedup_journal_create(journal_path, &j), 0);
	for (i = 0; i < p->step_count; i++) {
		last = (struct dedup_result){ 0 };
		dedup_apply(p, &p->steps[i], &options, j, &last);
	}
	dedup_journal_free(j);
	dedup_plan_release(p);
}

/* bb is to be replaced, a is kept. */
static void make_plan(struct dedup_plan *p, enum dedup_method method)
{
	const struct dedup_rules rules = { .method = method };
	const char *const names[] = { "a", "bb" };

	options = (struct dedup_options){ .method = method };
	plan_names(p, &rules, names, 2);
	assert_int_equal(p->step_count, 1);
}

static void dedup(enum dedup_method method)
{
	struct dedup_plan p;

	make_plan(&p, method);
	apply_plan(&p);
}

static void expect_skipped(const char *reason)
{
	assert_int_equal(last.outcome, DEDUP_SKIPPED);
	if (!strstr(last.reason, reason))
		fail_msg("want \"%s\", have \"%s\"", reason, last.reason);
	expect_text("a", text);
	assert_true(stat_of("a").st_ino != stat_of("bb").st_ino);
	expect_entries(3);
}

static void test_a_copy_becomes_a_hard_link(void **state)
{
	(void)state;
	dedup(DEDUP_HARDLINK);
	assert_int_equal(last.outcome, DEDUP_DONE);
	assert_int_equal(stat_of("bb").st_ino, stat_of("a").st_ino);
	expect_text("bb", text);
	expect_entries(3);
}

static void test_a_copy_is_removed(void **state)
{
	(void)state;
	dedup(DEDUP_REMOVE);
	assert_int_equal(last.outcome, DEDUP_DONE);
	assert_false(exists("bb"));
	expect_text("a", text);
	expect_entries(2);
}

static void test_other_content_is_found_out(void **state)
{
	struct dedup_plan p;

	(void)state;
	write_file("bb", "THE content of all three", 2000);
	make_plan(&p, DEDUP_REMOVE);
	apply_plan(&p);
	expect_skipped("contents differ");
}

static void test_a_file_that_changed_since_the_plan_stays(void **state)
{
	struct dedup_plan p;

	(void)state;
	make_plan(&p, DEDUP_HARDLINK);
	write_file("bb", text, 2001);
	apply_plan(&p);
	expect_skipped("it has changed");
	make_plan(&p, DEDUP_REMOVE);
	write_file("a", text, 1001);
	apply_plan(&p);
	expect_skipped("the file that is kept has changed");
}

static void test_the_last_copy_is_never_removed(void **state)
{
	struct dedup_plan p;

	(void)state;
	make_plan(&p, DEDUP_REMOVE);
	assert_int_equal(unlink(at("a")), 0);
	apply_plan(&p);
	assert_int_equal(last.outcome, DEDUP_SKIPPED);
	expect_text("bb", text);
}

static void test_metadata_must_be_equal_or_forced(void **state)
{
	struct dedup_plan p;

	(void)state;
	assert_int_equal(chmod(at("bb"), 0600), 0);
	assert_int_equal(chmod(at("a"), 0640), 0);
	dedup(DEDUP_HARDLINK);
	expect_skipped("modes differ");
	assert_int_equal(chmod(at("a"), 0600), 0);
	assert_int_equal(setxattr(at("bb"), "user.note", "x", 1, 0), 0);
	dedup(DEDUP_HARDLINK);
	expect_skipped("attributes differ");
	make_plan(&p, DEDUP_HARDLINK);
	options.force_metadata = true;
	apply_plan(&p);
	assert_int_equal(last.outcome, DEDUP_DONE);
}

static void test_a_file_open_for_writing_stays(void **state)
{
	int fd = open(at("bb"), O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	dedup(DEDUP_HARDLINK);
	expect_skipped("open for writing");
	close(fd);
}

static void test_a_file_in_another_run_stays(void **state)
{
	int fd = open(at("bb"), O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(flock(fd, LOCK_SH), 0);
	dedup(DEDUP_REMOVE);
	expect_skipped("busy");
	close(fd);
}

/* As a program does that keeps the times as they were. */
static void swap_file(void)
{
	before_link = NULL;
	assert_int_equal(rename(at("bb"), at("c/old")), 0);
	write_file("bb", "other", 2000);
	assert_int_equal(unlink(at("c/old")), 0);
}

static void test_a_file_that_is_replaced_meanwhile_stays(void **state)
{
	(void)state;
	before_link = swap_file;
	dedup(DEDUP_HARDLINK);
	expect_skipped("it has changed");
	expect_text("bb", "other");
}

/* Another user owns the directory and would have us change files elsewhere. */
static void swap_directory(void)
{
	before_link = NULL;
	assert_int_equal(rename(at("c"), at("old")), 0);
	assert_int_equal(mkdir(at("victim"), 0700), 0);
	write_file("victim/d", text, 3000);
	assert_int_equal(symlink("victim", at("c")), 0);
}

static void plan_copy_in_directory(struct dedup_plan *p)
{
	const struct dedup_rules rules = { .method = DEDUP_HARDLINK };
	const char *const names[] = { "a", "c/d" };

	options = (struct dedup_options){ .method = DEDUP_HARDLINK };
	plan_names(p, &rules, names, 2);
	assert_int_equal(p->step_count, 1);
}

static void test_a_directory_that_becomes_a_link_is_not_followed(void **state)
{
	struct dedup_plan p;

	(void)state;
	plan_copy_in_directory(&p);
	swap_directory();
	apply_plan(&p);
	assert_int_equal(last.outcome, DEDUP_SKIPPED);
	assert_non_null(strstr(last.reason, "symbolic link"));
	assert_true(stat_of("victim/d").st_ino != stat_of("a").st_ino);
}

/* The step goes on in the directory that was opened. */
static void test_a_directory_that_is_swapped_in_between_is_left(void **state)
{
	struct dedup_plan p;

	(void)state;
	plan_copy_in_directory(&p);
	before_link = swap_directory;
	apply_plan(&p);
	assert_int_equal(stat_of("victim/d").st_nlink, 1);
	assert_int_equal(stat_of("old/d").st_ino, stat_of("a").st_ino);
	expect_text("old/d", text);
	expect_text("victim/d", text);
}

/* In place of the link that was made beside. */
static void swap_link(void)
{
	char name[40];
	struct dirent *d;
	DIR *dir = opendir(top);

	before_exchange = NULL;
	while ((d = readdir(dir)) != NULL)
		if (!strncmp(d->d_name, ".kin", 4)) {
			(void)snprintf(name, sizeof(name), "%.39s", d->d_name);
			assert_int_equal(unlink(at(name)), 0);
			write_file(name, "put in its place", 9);
		}
	closedir(dir);
}

static void test_a_link_that_is_swapped_is_not_used(void **state)
{
	(void)state;
	before_exchange = swap_link;
	dedup(DEDUP_HARDLINK);
	assert_int_equal(last.outcome, DEDUP_SKIPPED);
	expect_text("a", text);
	expect_text("bb", text);
}

static void test_a_journal_is_not_put_where_anybody_may_replace_it(void **state)
{
	struct dedup_journal *j = NULL;

	(void)state;
	assert_int_equal(chmod(at("c"), 0777), 0);
	assert_int_equal(dedup_journal_create(at("c/j"), &j), -EPERM);
	assert_int_equal(chmod(at("c"), 01777), 0);
	assert_int_equal(dedup_journal_create(at("c/j"), &j), 0);
	dedup_journal_free(j);
}

static void test_without_a_journal_nothing_is_done(void **state)
{
	struct dedup_journal *j;

	(void)state;
	assert_int_equal(dedup_journal_create("/dev/full", &j), -EEXIST);
	assert_int_equal(dedup_journal_create(at("missing/journal"), &j),
			 -ENOENT);
}

/* ---- undo ---- */

static char told[500];

static void tell(void *arg, const char *path, const char *reason)
{
	(void)arg;
	(void)snprintf(told, sizeof(told), "%s: %s", path, reason);
}

static struct dedup_undo_counts undo(void)
{
	struct dedup_undo_counts counts;

	told[0] = '\0';
	assert_int_equal(dedup_undo(journal_path, tell, NULL, &counts), 0);
	return counts;
}

static void expect_undone(enum dedup_method method)
{
	struct stat before, after;
	char value[10] = "";

	assert_int_equal(chmod(at("bb"), 0640), 0);
	assert_int_equal(setxattr(at("bb"), "user.note", "x", 1, 0), 0);
	before = stat_of("bb");
	{
		struct dedup_plan p;

		make_plan(&p, method);
		options.force_metadata = true;
		apply_plan(&p);
	}
	assert_int_equal(last.outcome, DEDUP_DONE);
	assert_int_equal(undo().restored, 1);
	after = stat_of("bb");
	expect_text("bb", text);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	assert_int_equal(getxattr(at("bb"), "user.note", value, 10), 1);
	assert_true(after.st_ino != stat_of("a").st_ino);
	expect_entries(3);
	assert_int_equal(undo().nothing, 1);
	assert_string_equal(told, "");
}

static void test_undo_takes_back(void **state)
{
	(void)state;
	expect_undone(DEDUP_HARDLINK);
	expect_undone(DEDUP_REMOVE);
}

static void test_undo_does_not_invent_content(void **state)
{
	(void)state;
	dedup(DEDUP_REMOVE);
	write_file("a", "something else by now", 1000);
	assert_int_equal(undo().failed, 1);
	assert_non_null(strstr(told, "changed"));
	assert_false(exists("bb"));
}

static void test_undo_does_not_replace_a_new_file(void **state)
{
	(void)state;
	dedup(DEDUP_REMOVE);
	write_file("bb", "a new one of that name", 1);
	assert_int_equal(undo().failed, 1);
	expect_text("bb", "a new one of that name");
}

/* The process ends before its nth change of anything; false when it made
 * them all. */
static bool dies_before_change(enum dedup_method method, int n)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		struct dedup_plan p;

		make_plan(&p, method);
		calls_left = n;
		apply_plan(&p);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 0;
}

static void expect_survival(enum dedup_method method)
{
	bool died = true;
	int n;

	for (n = 0; died; n++) {
		died = dies_before_change(method, n);
		expect_text("a", text);
		if (method == DEDUP_HARDLINK)
			expect_text("bb", text);
		if (!access(journal_path, F_OK))
			assert_int_equal(undo().failed, 0);
		expect_text("a", text);
		expect_text("bb", text);
		assert_true(stat_of("a").st_ino != stat_of("bb").st_ino);
		expect_entries(3);
		(void)unlink(journal_path);
	}
	assert_true(n > 3);
}

static void test_a_kill_at_any_change_loses_nothing(void **state)
{
	(void)state;
	expect_survival(DEDUP_HARDLINK);
	expect_survival(DEDUP_REMOVE);
}

/* ---- journals ---- */

static void test_a_journal_that_was_cut_is_read_as_far_as_it_goes(void **state)
{
	struct dedup_undo_counts counts;
	struct stat st;
	off_t len;
	int err;

	(void)state;
	dedup(DEDUP_HARDLINK);
	assert_int_equal(stat(journal_path, &st), 0);
	for (len = st.st_size - 1; len >= 0; len--) {
		assert_int_equal(truncate(journal_path, len), 0);
		err = dedup_undo(journal_path, tell, NULL, &counts);
		assert_true(err == 0 || (err == -EINVAL && len < 30));
		assert_int_equal(counts.failed, 0);
		expect_text("bb", text);
	}
}

static void expect_refused(const char *content)
{
	struct dedup_undo_counts counts;
	FILE *file = fopen(journal_path, "w");

	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(dedup_undo(journal_path, tell, NULL, &counts),
			 -EINVAL);
	assert_int_equal(counts.restored, 0);
}

static void test_other_files_are_no_journals(void **state)
{
	(void)state;
	expect_refused("");
	expect_refused("hello\n");
	expect_refused("{\"kin_dedup_journal\": 2}\n");
	expect_refused("{\"kin_dedup_journal\": 1}\n{\"step\": 1}\n");
	expect_refused(
		"{\"kin_dedup_journal\": 1}\n"
		"{\"step\": 1, \"method\": \"remove\", \"path\": \"/a\", "
		"\"keep\": \"/b\", \"temporary\": \"../c\", "
		"\"xxh128\": \"00000000000000000000000000000000\", "
		"\"attributes\": {}}\n");
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(test_the_rule_says_which_file_is_kept),
		IN_TREE(test_protected_files_are_kept_and_never_replaced),
		IN_TREE(test_hard_links_and_other_sizes_are_left_alone),
		IN_TREE(test_bytes_count_once_all_names_of_a_copy_go),
		IN_TREE(test_a_copy_becomes_a_hard_link),
		IN_TREE(test_a_copy_is_removed),
		IN_TREE(test_other_content_is_found_out),
		IN_TREE(test_a_file_that_changed_since_the_plan_stays),
		IN_TREE(test_the_last_copy_is_never_removed),
		IN_TREE(test_metadata_must_be_equal_or_forced),
		IN_TREE(test_a_file_open_for_writing_stays),
		IN_TREE(test_a_file_in_another_run_stays),
		IN_TREE(test_a_file_that_is_replaced_meanwhile_stays),
		IN_TREE(test_a_directory_that_becomes_a_link_is_not_followed),
		IN_TREE(test_a_directory_that_is_swapped_in_between_is_left),
		IN_TREE(test_a_link_that_is_swapped_is_not_used),
		IN_TREE(test_a_journal_is_not_put_where_anybody_may_replace_it),
		IN_TREE(test_without_a_journal_nothing_is_done),
		IN_TREE(test_undo_takes_back),
		IN_TREE(test_undo_does_not_invent_content),
		IN_TREE(test_undo_does_not_replace_a_new_file),
		IN_TREE(test_a_kill_at_any_change_loses_nothing),
		IN_TREE(test_a_journal_that_was_cut_is_read_as_far_as_it_goes),
		IN_TREE(test_other_files_are_no_journals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
