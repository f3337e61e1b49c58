/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/support/report.h"
#include "core/base/json.h"

/*
 * The page as bytes: its data, read as model.js reads it, and what of a name is
 * in the HTML.  How a browser shows it is tested in tests/e2e/cli/report.t.
 */

/* ---- a page ---- */

static const struct groups_wish wish;

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

static char *page_of(struct report *r, const char *root)
{
	const struct groups g = { .root = (char *)root, .wish = &wish };
	struct buf page = { 0 };

	assert_int_equal(report_page(r, &g, &page), 0);
	assert_int_equal(strlen(page.data), page.len);
	return buf_take(&page);
}

/* ---- its data ---- */

/* The lines, an array. */
static json_t *unpack(const char *page)
{
	static const char mark[] = "id=\"data\">";
	const char *start = strstr(page, mark) + sizeof(mark) - 1;
	size_t len = (size_t)(strchr(start, '<') - start);
	uLongf room = 4 << 20;
	char *raw = malloc(room), *line, *at;
	uint8_t *packed = malloc(len);
	json_t *data = json_array();

	assert_non_null(raw);
	assert_non_null(packed);
	assert_int_equal(
		EVP_DecodeBlock(packed, (const uint8_t *)start, (int)len),
		len / 4 * 3);
	assert_int_equal(uncompress((Bytef *)raw, &room, packed, len / 4 * 3),
			 Z_OK);
	raw[room] = '\0';
	for (line = strtok_r(raw, "\n", &at); line;
	     line = strtok_r(NULL, "\n", &at))
		assert_int_equal(
			json_array_append_new(data, json_loads(line, 0, NULL)),
			0);
	free(packed);
	free(raw);
	return data;
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

TEST(test_data_of_the_page)
{
	static const char want[] =
		"[{\"members\":[{\"files\":[{\"mtime\":5.5,\"on_disk\":300,"
		"\"path\":\"a/b/x\",\"removable\":true},{\"keep\":true,"
		"\"on_disk\":300,\"path\":\"a/c\\uFFFD\","
		"\"path_hex\":\"612f63ff\"}],\"head\":true,\"score\":100,"
		"\"size\":300},{\"files\":[{\"links\":[{\"path\":\"a/b/l\"}],"
		"\"on_disk\":9007199254740991,\"path\":"
		"\"a/y\"}],\"score\":80,\"size\":9007199254740991}]},"
		"{\"path\":\"a/new/w\",\"state\":\"error:EIO\"},"
		"{\"like\":\"q\",\"path\":\"a/b\",\"score\":90}]";
	struct groups g;
	struct report r = make(A_GROUP, &g);
	char *page, *text;
	json_t *data, *about;

	assert_int_equal(report_add_unread(&r, "a/new/w", "error:EIO"), 0);
	assert_int_equal(report_add_pair(&r, 90, "a/b", "q"), 0);
	page = page_of(&r, "/m");
	data = unpack(page);
	about = json_array_get(data, json_array_size(data) - 1);
	assert_string_equal(json_string_value(json_object_get(about, "root")),
			    "/m");
	assert_int_equal(json_integer_value(json_object_get(about, "version")),
			 4);
	json_array_remove(data, json_array_size(data) - 1);
	text = json_dumps(data,
			  JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	assert_string_equal(text, want);
	free(text);
	json_decref(data);
	free(page);
	groups_close(&g);
	report_release(&r);
}

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

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

/* Names are data, never HTML. */
TEST(test_names_are_no_html)
{
	static const char name[] = "</script><img src=x onerror='1'>\"&\n{{";
	struct report plain, r;
	const char *names[] = { name };
	struct found_file file = { .names = names, .name_count = 1 };
	struct found_member m = { .size = 5, .files = &file, .file_count = 1 };
	struct found_group g = { .members = &m, .count = 1, .files = 1 };
	char *empty, *page;

	report_init(&plain);
	report_init(&r);
	empty = page_of(&plain, "/");
	assert_int_equal(report_add_group(&r, &g), 0);
	assert_int_equal(report_add_unread(&r, name, name), 0);
	page = page_of(&r, name);
	assert_int_equal(count_of(page, "<"), count_of(empty, "<"));
	assert_int_equal(count_of(page, "onerror='"), 0);
	free(page);
	free(empty);
	report_release(&plain);
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

/* What does not fit into one piece of base64 comes out whole. */
TEST(test_many_files)
{
	enum { FILES = 60000 };
	struct report r;
	char name[64], *page;
	json_t *data, *item;
	size_t i;

	report_init(&r);
	for (i = 0; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "%zx",
			       i * 2654435761u % 4294967291u);
		assert_int_equal(report_add_unread(&r, name, ""), 0);
	}
	page = page_of(&r, "/");
	data = unpack(page);
	assert_int_equal(json_array_size(data), FILES + 1);
	for (i = 0; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "%zx",
			       i * 2654435761u % 4294967291u);
		item = json_array_get(data, i);
		assert_string_equal(
			json_string_value(json_object_get(item, "path")), name);
	}
	json_decref(data);
	free(page);
	report_release(&r);
}
