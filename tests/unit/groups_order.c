/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/act/groups/groups.h"
#include "core/base/array.h"

/* Which member of a group is the newest, and by what. */

enum { MOST = 6 };

/* A member for each path: the first one was changed last. */
static struct found_group make(const char *const *paths)
{
	struct found_group g = { 0 };
	size_t i;

	for (i = 0; i < MOST && paths[i]; i++) {
		struct found_file f = { .mtime_ns = 1000 - (int64_t)i };
		struct found_member m = { .score = i ? 80 : 100, .size = i };

		assert_int_equal(array_add_string(&f.names, &f.name_count,
						  strdup(paths[i])),
				 0);
		assert_int_equal(found_member_add(&m, &f), 0);
		assert_int_equal(found_group_add(&g, &m), 0);
	}
	return g;
}

static void add_copy(struct found_group *g, size_t member, const char *path,
		     int64_t mtime_ns)
{
	struct found_file f = { .mtime_ns = mtime_ns };

	assert_int_equal(
		array_add_string(&f.names, &f.name_count, strdup(path)), 0);
	assert_int_equal(found_member_add(&g->members[member], &f), 0);
}

static void expect(struct found_group *g, enum found_order by,
		   const char *const *paths)
{
	enum found_order got;
	size_t i;

	assert_int_equal(found_group_order(g, &got), 0);
	for (i = 0; i < g->count; i++)
		assert_string_equal(g->members[i].files->names[0], paths[i]);
	assert_int_equal(got, by);
	found_group_release(g);
}

TEST(test_a_member_has_a_file)
{
	json_t *line = json_pack("{s:[{s:[]}]}", "members", "files");
	struct groups g = { 0 };

	assert_int_equal(groups_take_line(&g, line), -EINVAL);
	groups_close(&g);
	json_decref(line);
}

/* From old to new; the time of change says the opposite. */
static const char *const by_name[][MOST] = {
	{ "thesis.doc", "thesis_v2.doc", "thesis_v10.doc" },
	{ "a/thesis v1.9.doc", "b/Thesis-V1.10.docx", "c/thesis (v1.10.1)" },
	{ "v09.txt", "v10.txt" },
	{ "report_old.txt", "report draft.txt", "report.txt", "report_v2.txt",
	  "report_final.txt", "report final v2.txt" },
	{ "final.pdf", "final (1).pdf", "final (2).pdf", "final_final.pdf" },
	{ "report_v2.txt", "report_v2_final.txt", "report_v3.txt" },
	{ "report.txt.bak", "report.txt" },
	{ "report.txt~", "report.txt" },
	{ "report.txt", "Copy of report.txt", "report - Copy (2).txt" },
	{ "report.txt", "report copy.txt", "report copy 2.txt" },
	{ "DRAFT - plan.odt", "plan.odt", "FINAL plan.odt" },
	{ "plan_2024-03-01.odt", "plan_2024-03-02.odt", "plan 20240310.odt",
	  "plan 1.4.2024.odt", "plan_2025.01.01.odt" },
	{ "2024-03-01 plan v2.odt", "2024-03-02 plan v1.odt" },
	{ "plan_2024-03-01_0930.odt", "plan_2024-03-01_1530.odt" },
	{ "budget 2023.xls", "budget 2024.xls" },
	{ "curl-8.9.1.tar.gz", "curl-8.10.0-rc1.tar.gz", "curl-8.10.0.tar.gz" },
	{ "curl-8.9.1/src/main.c", "curl-8.10.0/src/main.c" },
	{ "backup/2024-03-01/plan.txt", "backup/2024-04-01/plan.txt" },
	{ "thesis.txt", "thesis2.txt", "thesis3.txt" },
	{ "Bericht Entwurf.odt", "Bericht.odt", "Bericht - Kopie.odt",
	  "Bericht Fassung 2.odt", "Bericht_Endfassung.odt" },
	{ "rapport brouillon.odt", "rapport.odt", "rapport version 2.odt",
	  "rapport_définitif.odt" },
	{ "Отчёт черновик.doc", "Отчёт — копия.doc", "ОТЧЁТ версия 2.doc",
	  "Отчёт ФИНАЛ.doc" },
	{ "報告書_下書き.docx", "報告書.docx", "報告書 - コピー.docx",
	  "報告書_最終版.docx" },
	{ "דוח טיוטה.doc", "דוח.doc", "דוח גרסה 2.doc", "דוח סופי.doc" },
};

/* These names do not tell which is newer. */
static const char *const by_time[][MOST] = {
	{ "report.txt", "letter_v2.txt" },         /* other things */
	{ "a/report.txt", "b/report.txt" },        /* equal */
	{ "report.txt", "report.md" },             /* only the form differs */
	{ "report.txt", "report_2024-03-01.txt" }, /* which one is kept up? */
	{ "utf16.c", "utf8.c" },                   /* numbers of the names */
	{ "kin.1", "kin.8" },                      /* sections */
	{ "syslog", "syslog.1", "syslog.2" },      /* the greater are older */
	{ "film_4k.mkv", "film_8k.mkv" },
	{ "song.mp3", "song.mp4" },
	{ "a.7z", "a.zip" },
	{ "finally.txt", "final.txt" }, /* another word */
	{ "r.c", "v.c" },
	{ "2024-13-01.txt", "2024-01-01.txt" }, /* no date, and a date */
};

TEST(test_the_name_tells_the_newest)
{
	const char *paths[MOST];
	struct found_group g;
	size_t i, k, n;

	for (i = 0; i < sizeof(by_name) / sizeof(by_name[0]); i++) {
		g = make(by_name[i]);
		n = g.count;
		for (k = 0; k < n; k++)
			paths[k] = by_name[i][n - 1 - k];
		expect(&g, FOUND_BY_NAME, paths);
	}
}

TEST(test_other_names_leave_it_to_the_time)
{
	struct found_group g;
	size_t i;

	for (i = 0; i < sizeof(by_time) / sizeof(by_time[0]); i++) {
		g = make(by_time[i]);
		expect(&g, FOUND_BY_MTIME, by_time[i]);
	}
}

TEST(test_a_content_is_as_new_as_its_newest_name)
{
	static const char *const paths[] = { "plan.txt", "plan_v2.txt", NULL };
	static const char *const wanted[] = { "plan.txt", "plan_v2.txt" };
	struct found_group g = make(paths);

	add_copy(&g, 0, "archive/plan_v3.txt", 1);
	expect(&g, FOUND_BY_NAME, wanted);
}

TEST(test_a_content_is_as_old_as_its_oldest_copy)
{
	static const char *const paths[] = { "a", "b", NULL };
	static const char *const wanted[] = { "b", "a" };
	struct found_group g = make(paths);

	add_copy(&g, 0, "c", 1);
	expect(&g, FOUND_BY_MTIME, wanted);
}

TEST(test_one_other_name_takes_the_word_of_all)
{
	static const char *const paths[] = { "plan_v1", "plan_v2", "x", NULL };
	struct found_group g = make(paths);

	expect(&g, FOUND_BY_MTIME, paths);
}

TEST(test_names_that_are_equal_leave_two_to_the_time)
{
	static const char *const paths[] = { "a/plan_v1", "b/plan_v2.odt",
					     "b/plan_v2.pdf", NULL };
	static const char *const wanted[] = { "b/plan_v2.odt", "b/plan_v2.pdf",
					      "a/plan_v1" };
	struct found_group g = make(paths);

	expect(&g, FOUND_BY_NAME, wanted);
}

TEST(test_the_date_in_all_documents_comes_first)
{
	static const char *const paths[] = { "plan_v1", "plan_v2", NULL };
	static const char *const by_version[] = { "plan_v2", "plan_v1" };
	struct found_group g = make(paths);

	g.members[0].document_date = -5; /* before 1970 */
	g.members[1].document_date = -6;
	expect(&g, FOUND_BY_DOCUMENT_DATE, paths);
	g = make(paths);
	g.members[0].document_date = 7;
	expect(&g, FOUND_BY_NAME, by_version);
	g = make(paths);
	g.members[0].document_date = g.members[1].document_date = 7;
	expect(&g, FOUND_BY_NAME, by_version);
}

TEST(test_nothing_is_said_without_a_difference)
{
	static const char *const paths[] = { "z", "y", NULL };
	struct found_group g = make(paths);

	g.members[1].files->mtime_ns = g.members[0].files->mtime_ns;
	expect(&g, FOUND_BY_NOTHING, paths);
}

/* All orders in which members can come give the same answer. */
TEST(test_the_order_does_not_depend_on_the_one_before)
{
	static const char *const paths[] = { "p_old", "p draft", "p",
					     "p (1)", "p_v2",    "p_final" };
	static const char *const wanted[] = { "p_final", "p_v2",    "p (1)",
					      "p",       "p draft", "p_old" };
	const char *now[MOST];
	struct found_group g;
	size_t n, i, k, left;

	for (n = 0; n < 720; n++) {
		memcpy(now, paths, sizeof(now));
		for (i = MOST, left = n; i > 1; left /= i, i--) {
			const char *last = now[i - 1];

			k = left % i;
			now[i - 1] = now[k];
			now[k] = last;
		}
		g = make(now);
		expect(&g, FOUND_BY_NAME, wanted);
	}
}

/* What is printed from new to old is read with the head first. */
TEST(test_a_group_that_is_read_begins_with_its_head)
{
	static const char text[] =
		"{\"members\":[{\"score\":80,\"files\":[{\"path\":\"new\"}]},"
		"{\"score\":70,\"files\":[{\"path\":\"next\"}]},"
		"{\"score\":100,\"head\":true,\"document_date\":9,"
		"\"files\":[{\"path\":\"head\"}]},"
		"{\"score\":90,\"document_date\":253402300799,"
		"\"files\":[{\"path\":\"last\"}]}]}";
	static const char *const wanted[] = { "head", "new", "next", "last" };
	json_t *line = json_loads(text, 0, NULL);
	struct groups g = { 0 };
	size_t i;

	assert_int_equal(groups_take_line(&g, line), GROUPS_GROUP);
	for (i = 0; i < g.group.count; i++)
		assert_string_equal(g.group.members[i].files->names[0],
				    wanted[i]);
	assert_int_equal(g.group.count, 4);
	assert_int_equal(g.group.members[0].document_date, 9);
	assert_int_equal(g.group.members[3].document_date, 0);
	json_decref(line);
	groups_close(&g);
}
