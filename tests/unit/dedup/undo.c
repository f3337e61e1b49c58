/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/dedup/fixture.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(test_undo_takes_back),
		IN_TREE(test_undo_does_not_invent_content),
		IN_TREE(test_undo_does_not_replace_a_new_file),
		IN_TREE(test_a_kill_at_any_change_loses_nothing),
		IN_TREE(test_a_journal_that_was_cut_is_read_as_far_as_it_goes),
		IN_TREE(test_other_files_are_no_journals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
