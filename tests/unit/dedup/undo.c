/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/dedup/fixture.h"

#include <signal.h>
#include <sys/resource.h>

static char told[500];

static void tell(const char *path, const char *reason)
{
	(void)snprintf(told, sizeof(told), "%s: %s", path, reason);
}

static struct dedup_undo undo_with(bool force)
{
	struct dedup_undo u = { .force_metadata = force, .tell = tell };

	told[0] = '\0';
	assert_int_equal(dedup_undo(journal_path, &u), 0);
	return u;
}

static struct dedup_undo undo(void)
{
	return undo_with(false);
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
		step_rules.force_metadata = true;
		apply_plan(&p);
	}
	assert_int_equal(last_err, 0);
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

/* The disk is full before the end of the step is told. */
static void fill_disk(void)
{
	struct stat st;

	before_exchange = NULL;
	assert_int_equal(stat(journal_path, &st), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE,
				   &(struct rlimit){ (rlim_t)st.st_size + 4,
						     RLIM_INFINITY }),
			 0);
}

IN_TREE(test_behind_a_line_that_is_cut_no_step_is_noted)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };

	(void)signal(SIGXFSZ, SIG_IGN);
	before_exchange = fill_disk;
	dedup(DEDUP_HARDLINK);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(last_err, 0);
	assert_true(last.no_journal);
	assert_int_equal(undo().restored, 1);
	assert_true(stat_of("a").st_ino != stat_of("bb").st_ino);
}

IN_TREE(test_undo_takes_back)
{
	expect_undone(DEDUP_HARDLINK);
	expect_undone(DEDUP_REMOVE);
}

/* In 2445: more nanoseconds than a number has. */
IN_TREE(test_undo_restores_late_times)
{
	write_file("bb", text, 15000000000);
	expect_undone(DEDUP_HARDLINK);
}

static void expect_links_undone(enum dedup_method method)
{
	const char *const names[] = { "a", "bb", "c/e", "f" };
	struct dedup_plan p = { 0 };

	assert_int_equal(link(at("bb"), at("c/e")), 0);
	assert_int_equal(link(at("bb"), at("f")), 0);
	step_rules = (struct dedup_rules){ .method = method };
	plan_names(&p, &step_rules, names, 4);
	apply_plan(&p);
	assert_int_equal(last_err, 0);
	assert_int_equal(undo().restored, 1);
	assert_int_equal(stat_of("bb").st_nlink, 3);
	assert_int_equal(stat_of("c/e").st_ino, stat_of("bb").st_ino);
	assert_int_equal(stat_of("f").st_ino, stat_of("bb").st_ino);
	assert_int_equal(stat_of("a").st_nlink, 1);
	expect_text("f", text);
	expect_entries(5);
	/* A name that went again is a link of the others. */
	if (method == DEDUP_REMOVE) {
		assert_int_equal(unlink(at("f")), 0);
		assert_int_equal(undo().restored, 1);
		assert_int_equal(stat_of("f").st_ino, stat_of("bb").st_ino);
	}
	assert_int_equal(undo().nothing, 1);
}

IN_TREE(test_undo_restores_hard_links)
{
	expect_links_undone(DEDUP_HARDLINK);
	assert_int_equal(unlink(at("c/e")), 0);
	assert_int_equal(unlink(at("f")), 0);
	expect_links_undone(DEDUP_REMOVE);
}

/* The owner of the kept file writes to it when the copy is begun. */
static void write_to_kept(void)
{
	int fd = open(at("a"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	before_create = NULL;
	if (fd < 0)
		return; /* the lease keeps writers out */
	assert_int_equal(pwrite(fd, "EVIL", 4, 0), 4);
	close(fd);
}

IN_TREE(test_undo_keeps_writers_out)
{
	dedup(DEDUP_REMOVE);
	before_create = write_to_kept;
	assert_int_equal(undo().restored, 1);
	expect_text("bb", text);
}

IN_TREE(test_undo_verifies_what_it_writes)
{
	dedup(DEDUP_REMOVE);
	before_create = write_to_kept;
	has_no_leases = true;
	assert_int_equal(undo().failed, 1);
	assert_non_null(strstr(told, "changed"));
	assert_false(exists("bb"));
	expect_entries(2);
}

IN_TREE(test_undo_does_not_cross_users_unless_forced)
{
	if (geteuid())
		skip();
	assert_int_equal(chmod(at("a"), 04755), 0);
	assert_int_equal(chmod(at("bb"), 04755), 0);
	dedup(DEDUP_REMOVE);
	assert_int_equal(last_err, 0);
	assert_int_equal(chown(at("a"), 12345, 0), 0);
	assert_int_equal(undo().failed, 1);
	assert_non_null(strstr(told, "another owner"));
	assert_int_equal(chown(at("a"), 0, 0), 0);
	assert_int_equal(chmod(at("a"), 0775), 0);
	assert_int_equal(undo().failed, 1);
	assert_false(exists("bb"));
	expect_entries(2);
	assert_int_equal(undo_with(true).restored, 1);
	assert_int_equal(stat_of("bb").st_mode & 07777, 04755);
}

IN_TREE(test_undo_does_not_invent_content)
{
	dedup(DEDUP_REMOVE);
	write_file("a", "something else by now", 1000);
	assert_int_equal(undo().failed, 1);
	assert_non_null(strstr(told, "changed"));
	assert_false(exists("bb"));
}

IN_TREE(test_undo_does_not_replace_a_new_file)
{
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

IN_TREE(test_a_kill_at_any_change_loses_nothing)
{
	expect_survival(DEDUP_HARDLINK);
	expect_survival(DEDUP_REMOVE);
}

/* ---- journals ---- */

IN_TREE(test_a_journal_that_was_cut_is_read_as_far_as_it_goes)
{
	struct dedup_undo u = { .tell = tell };
	struct stat st;
	off_t len;
	int err;

	dedup(DEDUP_HARDLINK);
	assert_int_equal(stat(journal_path, &st), 0);
	for (len = st.st_size - 1; len >= 0; len--) {
		assert_int_equal(truncate(journal_path, len), 0);
		err = dedup_undo(journal_path, &u);
		assert_true(err == 0 || (err == -EINVAL && len < 30));
		assert_int_equal(u.failed, 0);
		expect_text("bb", text);
	}
}

static void expect_refused(const char *content)
{
	struct dedup_undo u = { .tell = tell };
	FILE *file = fopen(journal_path, "w");

	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(dedup_undo(journal_path, &u), -EINVAL);
	assert_int_equal(u.restored, 0);
}

IN_TREE(test_other_files_are_no_journals)
{
	expect_refused("");
	expect_refused("hello\n");
	expect_refused("{\"kin_dedup_journal\": 2}\n");
	expect_refused("{\"kin_dedup_journal\": 3}\n{\"step\": 1}\n");
	expect_refused("{\"kin_dedup_journal\": 3}\n"
		       "{\"step\": 1, \"method\": \"remove\", "
		       "\"names\": [{\"path\": \"/a\"}], "
		       "\"keep\": \"/b\", \"temporary\": \"../c\", "
		       "\"sha256\": \"00000000000000000000000000000000"
		       "00000000000000000000000000000000\", "
		       "\"attributes\": {}}\n");
}
