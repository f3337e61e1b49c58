/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/report.h"
#include "core/base/json.h"

/* What a report adds up, and which pairs of directories it tells.  The page is
 * tested in a browser, in tests/e2e/cli/report.t. */

/* Adds a group that was printed to a report; the first file of it goes, the second
 * one is to be kept.  *g is to be closed. */
static struct report make(const char *lines, struct groups *g)
{
	struct report r;
	FILE *in = fmemopen((void *)lines, strlen(lines), "r");
	int event;

	report_init(&r);
	assert_non_null(in);
	groups_read(g, in);
	while ((event = groups_next(g)) == GROUPS_GROUP) {
		g->group.members[0].files[0].goes = true;
		g->group.members[0].files[1].keep = true;
		assert_int_equal(report_add_group(&r, &g->group), 0);
	}
	assert_int_equal(event, GROUPS_END);
	return r;
}

/* ---- tests ---- */

#define A_GROUP                                                 \
	"{\"root\":\"/m\",\"threshold\":70,\"members\":["       \
	"{\"score\":100,\"head\":true,\"size\":300,\"files\":[" \
	"{\"path\":\"a/b/x\",\"mtime\":5.5},"                   \
	"{\"path_hex\":\"612f63ff\"}]},"                        \
	"{\"score\":80,\"size\":9007199254740991,\"files\":["   \
	"{\"path\":\"a/y\",\"links\":[{\"path\":\"a/b/l\"}]}]}" \
	"]}\n"                                                  \
	"{\"totals\":{\"complete\":false}}\n"

static json_int_t saved_in(const struct report *r, const char *path)
{
	return json_integer_value(json_object_get(r->saved, path));
}

/* Of the first content the file to be kept stays, so x could go; of the second
 * all. */
TEST(test_space_that_could_be_saved)
{
	struct groups g;
	struct report r = make(A_GROUP, &g);

	assert_int_equal(saved_in(&r, ""), 9007199254741291);
	assert_int_equal(saved_in(&r, "a"), 9007199254741291);
	assert_int_equal(saved_in(&r, "a/b"), 300);
	assert_int_equal(saved_in(&r, "a/b/c"), 0);
	groups_close(&g);
	report_release(&r);
}

/* ---- directories ---- */

static struct report copies(void)
{
	static const char *const paths[] = {
		"a/src/one", "b/src/one", "c/src/one", "d/src/one", "e/f/one",
	};
	struct report r;
	size_t i;

	report_init(&r);
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *names[] = { "kept", paths[i] };
		struct found_file files[] = {
			{ .names = names, .name_count = 1 },
			{ .names = names + 1,
			  .name_count = 1,
			  .disk = 100 - i,
			  .goes = true },
		};
		struct found_member m = { .size = 100 - i,
					  .files = files,
					  .file_count = 2 };
		struct found_group g = { .members = &m, .count = 1 };

		assert_int_equal(report_add_group(&r, &g), 0);
	}
	return r;
}

TEST(test_pairs_that_tell_nothing_new)
{
	static const struct {
		const char *a, *b;
		bool is_news;
	} pairs[] = {
		{ "a", "b", true },          { "b", "a", false },
		{ "a/src", "b/src", false }, { "a", "c", true },
		{ "b", "c", false },         { "b/src", "c/src", false },
		{ "a/src", "c/new", true },  { "b/new", "a/src", false },
		{ "a", "a/src", false },     { "a/src", "b", false },
		{ "d/src", "e/f", true },    { "d", "e", true },
		{ "", "a", false },
	};
	struct report r = copies();
	size_t i, known = 0;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_int_equal(
			report_add_pair(&r, 90, pairs[i].a, pairs[i].b), 0);
		known += pairs[i].is_news;
		if (json_object_size(r.alike) != known)
			fail_msg("%s and %s", pairs[i].a, pairs[i].b);
	}
	report_release(&r);
}

/* Those that would be asked about; without, or with the pair a and b. */
static void expect_directories(bool pair, const char *want)
{
	struct report r = copies();
	struct buf seen = { 0 };
	const char *path;
	int found;

	while ((found = report_next_directory(&r, &path)) == 1) {
		assert_int_equal(buf_append_format(&seen, "%s ", path), 0);
		if (pair && !strcmp(path, "a"))
			assert_int_equal(report_add_pair(&r, 99, "a", "b"), 0);
	}
	assert_int_equal(found, 0);
	assert_string_equal(seen.data, want);
	buf_release(&seen);
	report_release(&r);
}

/* A copy of a directory that was asked about is not asked about, either. */
TEST(test_directories_to_ask_about)
{
	expect_directories(false, "a a/src b b/src c c/src d d/src e e/f ");
	expect_directories(true, "a a/src c c/src d d/src e e/f ");
}

TEST(test_a_path_of_many_parts)
{
	enum { PARTS = 3000 };
	struct report r;
	struct buf path = { 0 };
	const char *again;
	size_t i;

	report_init(&r);
	for (i = 0; i < PARTS; i++)
		assert_int_equal(buf_append_format(&path, "%sd%zu",
						   i ? "/" : "", i % 10),
				 0);
	{
		const char *names[] = { "kept", path.data };
		struct found_file files[] = {
			{ .names = names, .name_count = 1 },
			{ .names = names + 1,
			  .name_count = 1,
			  .disk = 1,
			  .goes = true },
		};
		struct found_member m = { .size = 1,
					  .files = files,
					  .file_count = 2 };
		struct found_group g = { .members = &m, .count = 1 };

		assert_int_equal(report_add_group(&r, &g), 0);
	}
	assert_int_equal(json_object_size(r.saved), PARTS);
	for (i = 1; i < PARTS; i++)
		assert_int_equal(report_next_directory(&r, &again), 1);
	assert_memory_equal(again, path.data, strlen(again));
	assert_int_equal(report_next_directory(&r, &again), 0);
	buf_release(&path);
	report_release(&r);
}
