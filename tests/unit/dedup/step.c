/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/dedup/fixture.h"

static void expect_skipped(const char *reason)
{
	assert_int_equal(last_err, -ECANCELED);
	if (!strstr(last.reason, reason))
		fail_msg("want \"%s\", have \"%s\"", reason, last.reason);
	expect_text("a", text);
	assert_true(stat_of("a").st_ino != stat_of("bb").st_ino);
	expect_entries(3);
}

IN_TREE(test_other_content_is_found_out)
{
	struct dedup_plan p;

	write_file("bb", "THE content of all three", 2000);
	make_plan(&p, DEDUP_REMOVE);
	apply_plan(&p);
	expect_skipped("contents differ");
}

IN_TREE(test_a_file_that_changed_since_the_plan_stays)
{
	struct dedup_plan p;

	make_plan(&p, DEDUP_HARDLINK);
	write_file("bb", text, 2001);
	apply_plan(&p);
	expect_skipped("it has changed");
	make_plan(&p, DEDUP_REMOVE);
	write_file("a", text, 1001);
	apply_plan(&p);
	expect_skipped("the file that is kept: it has changed");
}

IN_TREE(test_the_last_copy_is_never_removed)
{
	struct dedup_plan p;

	make_plan(&p, DEDUP_REMOVE);
	assert_int_equal(unlink(at("a")), 0);
	apply_plan(&p);
	assert_int_equal(last_err, -ECANCELED);
	expect_text("bb", text);
}

IN_TREE(test_metadata_must_be_equal_or_forced)
{
	struct dedup_plan p;

	assert_int_equal(chmod(at("bb"), 0600), 0);
	assert_int_equal(chmod(at("a"), 0640), 0);
	dedup(DEDUP_HARDLINK);
	expect_skipped("modes differ");
	assert_int_equal(chmod(at("a"), 0600), 0);
	assert_int_equal(setxattr(at("bb"), "user.note", "x", 1, 0), 0);
	dedup(DEDUP_HARDLINK);
	expect_skipped("attributes differ");
	make_plan(&p, DEDUP_HARDLINK);
	step_rules.force_metadata = true;
	apply_plan(&p);
	assert_int_equal(last_err, 0);
}

/* bb and c/e are one file, which has a third name if that is wanted. */
static void plan_links(struct dedup_plan *p, enum dedup_method method,
		       bool third)
{
	const char *const names[] = { "a", "bb", "c/e" };

	assert_int_equal(link(at("bb"), at("c/e")), 0);
	if (third)
		assert_int_equal(link(at("bb"), at("third")), 0);
	step_rules = (struct dedup_rules){ .method = method };
	*p = (struct dedup_plan){ 0 };
	plan_names(p, &step_rules, names, 3);
	assert_int_equal(step_count(p), 1);
}

static void expect_both_names(const char *reason)
{
	if (!strstr(last.reason, reason))
		fail_msg("want \"%s\", have \"%s\"", reason, last.reason);
	assert_int_equal(stat_of("c/e").st_ino, stat_of("bb").st_ino);
	expect_text("bb", text);
	assert_int_equal(stat_of("a").st_nlink, 1);
}

IN_TREE(test_a_copy_with_another_name_stays)
{
	struct dedup_plan p;

	plan_links(&p, DEDUP_HARDLINK, true);
	apply_plan(&p);
	expect_both_names("1 other name ");
	assert_int_equal(unlink(at("third")), 0);
	assert_int_equal(unlink(at("c/e")), 0);
	plan_links(&p, DEDUP_REMOVE, true);
	apply_plan(&p);
	expect_both_names("1 other name ");
	expect_entries(5);
}

IN_TREE(test_a_copy_stays_when_the_kept_file_has_all_its_links)
{
	struct dedup_plan p;

	plan_links(&p, DEDUP_HARDLINK, false);
	links_left = 1; /* of the two that bb needs */
	apply_plan(&p);
	assert_int_equal(last_err, -ECANCELED);
	expect_both_names("Too many links");
	expect_entries(4);
}

/* As by two bind mounts: the link count says that both names are listed. */
IN_TREE(test_a_name_that_is_listed_twice_stays)
{
	const char *const names[] = { "a", "bb", "bb" };
	struct dedup_plan p = { 0 };

	assert_int_equal(link(at("bb"), at("c/e")), 0);
	step_rules = (struct dedup_rules){ .method = DEDUP_HARDLINK };
	plan_names(&p, &step_rules, names, 3);
	apply_plan(&p);
	assert_int_equal(last_err, -ECANCELED);
	expect_both_names("it has changed");
	expect_entries(4);
}

/* ---- what the plan says ---- */

static void make_other_mode(void)
{
	assert_int_equal(chmod(at("bb"), 0600), 0);
	assert_int_equal(chmod(at("a"), 0640), 0);
}

static void make_other_content(void)
{
	write_file("bb", "THE content of all three", 2000);
}

static void make_other_attribute(void)
{
	assert_int_equal(setxattr(at("bb"), "user.note", "x", 1, 0), 0);
}

static void make_other_name(void)
{
	assert_int_equal(link(at("bb"), at("third")), 0);
}

IN_TREE(test_the_plan_has_the_reasons_of_the_deed)
{
	static void (*const make[])(
		void) = { make_other_mode, make_other_content,
			  make_other_attribute, make_other_name };
	struct dedup_result planned;
	struct dedup_plan p;
	size_t i;

	for (i = 0; i < sizeof(make) / sizeof(make[0]); i++) {
		make[i]();
		make_plan(&p, DEDUP_HARDLINK);
		assert_int_equal(take_step(&p, 0, NULL, &planned), -ECANCELED);
		apply_plan(&p);
		assert_string_equal(planned.reason, last.reason);
		assert_int_equal(tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
	}
	make_plan(&p, DEDUP_HARDLINK);
	assert_int_equal(take_step(&p, 0, NULL, &planned), 0);
	leave_plan(&p);
	expect_entries(3);
	assert_int_equal(stat_of("a").st_nlink, 1);
}

/* ---- other users ---- */

static void remove_bb(bool force)
{
	struct dedup_plan p;

	make_plan(&p, DEDUP_REMOVE);
	step_rules.force_metadata = force;
	apply_plan(&p);
}

IN_TREE(test_removal_does_not_cross_users_unless_forced)
{
	if (geteuid())
		skip();
	assert_int_equal(chown(at("a"), 12345, 12345), 0);
	remove_bb(false);
	expect_skipped("owners differ");
	assert_int_equal(chown(at("a"), 0, 0), 0);
	assert_int_equal(chmod(at("a"), 0755), 0);
	assert_int_equal(chmod(at("bb"), 04755), 0);
	remove_bb(false);
	expect_skipped("set-ID");
	remove_bb(true);
	assert_int_equal(last_err, 0);
	assert_false(exists("bb"));
}

IN_TREE(test_a_file_in_another_run_stays)
{
	int fd = open(at("bb"), O_RDONLY | O_CLOEXEC);

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

IN_TREE(test_a_file_that_is_replaced_meanwhile_stays)
{
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
	const char *const names[] = { "a", "c/d" };

	step_rules = (struct dedup_rules){ .method = DEDUP_HARDLINK };
	*p = (struct dedup_plan){ 0 };
	plan_names(p, &step_rules, names, 2);
	assert_int_equal(step_count(p), 1);
}

IN_TREE(test_a_directory_that_becomes_a_link_is_not_followed)
{
	struct dedup_plan p;

	plan_copy_in_directory(&p);
	swap_directory();
	apply_plan(&p);
	assert_int_equal(last_err, -ECANCELED);
	assert_non_null(strstr(last.reason, "symbolic link"));
	assert_true(stat_of("victim/d").st_ino != stat_of("a").st_ino);
}

/* The step goes on in the directory that was opened. */
IN_TREE(test_a_directory_that_is_swapped_in_between_is_left)
{
	struct dedup_plan p;

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

IN_TREE(test_a_link_that_is_swapped_is_not_used)
{
	before_exchange = swap_link;
	dedup(DEDUP_HARDLINK);
	assert_int_equal(last_err, -ECANCELED);
	expect_text("a", text);
	expect_text("bb", text);
}

static void remove_kept(void)
{
	before_exchange = NULL;
	assert_int_equal(unlink(at("a")), 0);
}

IN_TREE(test_a_copy_stays_when_the_kept_file_goes_meanwhile)
{
	before_exchange = remove_kept;
	dedup(DEDUP_REMOVE);
	assert_int_equal(last_err, -ECANCELED);
	assert_non_null(strstr(last.reason, "it has changed"));
	expect_text("bb", text);
	expect_entries(2);
}

IN_TREE(test_a_journal_is_not_put_where_anybody_may_replace_it)
{
	FILE *j = NULL;

	assert_int_equal(chmod(at("c"), 0777), 0);
	assert_int_equal(dedup_journal_create(at("c/j"), &j), -EPERM);
	if (!geteuid()) {
		assert_int_equal(chmod(at("c"), 0755), 0);
		assert_int_equal(chown(at("c"), 12345, 0), 0);
		assert_int_equal(dedup_journal_create(at("c/j"), &j), -EPERM);
		assert_int_equal(chown(at("c"), 0, 12345), 0);
		assert_int_equal(chmod(at("c"), 0775), 0);
		assert_int_equal(dedup_journal_create(at("c/j"), &j), -EPERM);
	}
	assert_int_equal(chmod(at("c"), 01777), 0);
	assert_int_equal(dedup_journal_create(at("c/j"), &j), 0);
	(void)fclose(j);
}

IN_TREE(test_without_a_journal_nothing_is_done)
{
	FILE *j;

	assert_int_equal(dedup_journal_create("/dev/full", &j), -EEXIST);
	assert_int_equal(dedup_journal_create(at("missing/journal"), &j),
			 -ENOENT);
}
