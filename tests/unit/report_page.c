/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/act/report/report_impl.h"

/*
 * The page as bytes: its data, read as model.js reads it, and what of a name is
 * in the HTML.  How a browser shows it is tested in tests/e2e/cli/report.t.
 */

/* ---- a page ---- */

/* Adds what was printed to a report; *g is to be closed. */
static int read_lines(struct report *r, const char *lines, struct groups *g)
{
	FILE *in = fmemopen((void *)lines, strlen(lines), "r");
	int event, err = 0;

	assert_non_null(in);
	groups_read(g, in);
	while (!err && (event = groups_next(g)) != GROUPS_END)
		err = event < 0 ? event : report_take(r, g);
	fclose(in);
	return err;
}

static struct report *make(const char *lines, struct groups *g)
{
	struct report *r = report_new();

	assert_non_null(r);
	assert_int_equal(read_lines(r, lines, g), 0);
	return r;
}

static char *page_of(struct report *r, const char *root, const char *notice)
{
	const struct report_about about = { .root = root, .notice = notice };
	char *page = NULL;
	size_t len;
	FILE *out = open_memstream(&page, &len);

	assert_non_null(out);
	assert_int_equal(report_write(r, &about, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(page), len);
	return page;
}

/* ---- its data ---- */

static json_t *unpack(const char *page)
{
	static const char mark[] = "id=\"data\">";
	const char *start = strstr(page, mark) + sizeof(mark) - 1;
	size_t len = (size_t)(strchr(start, '<') - start);
	uLongf room = 4 << 20;
	char *raw = malloc(room);
	uint8_t *packed = malloc(len);
	json_t *data;

	assert_non_null(raw);
	assert_non_null(packed);
	assert_int_equal(
		EVP_DecodeBlock(packed, (const uint8_t *)start, (int)len),
		len / 4 * 3);
	assert_int_equal(uncompress((Bytef *)raw, &room, packed, len / 4 * 3),
			 Z_OK);
	data = json_loadb(raw, room, 0, NULL);
	assert_non_null(data);
	free(packed);
	free(raw);
	return data;
}

/* ---- tests ---- */

#define TWO_GROUPS                                                         \
	"{\"root\":\"/m\",\"threshold\":70,\"members\":["                  \
	"{\"score\":100,\"head\":true,\"size\":300,\"files\":["            \
	"{\"path\":\"a/b/x\",\"mtime\":5.5},"                              \
	"{\"path_hex\":\"612f63ff\",\"keep\":true}]},"                     \
	"{\"score\":80,\"size\":9007199254740991,\"files\":["              \
	"{\"path\":\"a/y\",\"links\":[{\"path\":\"a/b/l\"}]}]},"           \
	"{\"score\":75,\"size\":1,\"files\":[]}]}\n"                       \
	"{\"members\":[{\"score\":100,\"files\":[{\"path\":\"a/b/c/z\"}]}" \
	"]}\n"                                                             \
	"{\"members\":[]}\n"                                               \
	"{\"totals\":{\"complete\":false}}\n"

TEST(test_data_of_the_page)
{
	static const char want[] =
		"{\"version\":3,\"groups\":"
		"[[[100,300,[5,300,2,\"a/b/x\"],[0,300,1,\"a/c\xc3\xbf\"]],"
		"[80,9007199254740991,[0,9007199254740991,0,\"a/y\",\"a/b/l\"]]],"
		"[[100,0,[0,0,0,\"a/b/c/z\"]]]],"
		"\"pairs\":[[90,\"a/b\",\"q\"]],"
		"\"unread\":[[0,\"a/new/w\",\"error:EIO\"]]}";
	struct groups g;
	struct report *r = make(TWO_GROUPS, &g);
	char *page, *text;
	json_t *data;

	assert_string_equal(report_root(r), "/m");
	assert_int_equal(g.totals.threshold, 70);
	assert_true(g.totals.incomplete);
	assert_int_equal(g.file.number, 4);
	assert_int_equal(report_add_unread(r, "a/new/w", "error:EIO"), 0);
	assert_int_equal(report_add_pair(r, 90, "a/b", "q"), 0);
	page = page_of(r, report_root(r), NULL);
	data = unpack(page);
	text = json_dumps(data, JSON_COMPACT);
	assert_string_equal(text, want);
	free(text);
	json_decref(data);
	free(page);
	groups_close(&g);
	report_free(r);
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
	struct report *r = make(TWO_GROUPS, &g);

	assert_int_equal(r->exact_bytes, 300);
	assert_int_equal(r->near_bytes, 9007199254740991);
	assert_int_equal(saved_in(r, ""), 9007199254741291);
	assert_int_equal(saved_in(r, "a"), 9007199254741291);
	assert_int_equal(saved_in(r, "a/b"), 300);
	assert_int_equal(saved_in(r, "a/b/c"), 0);
	groups_close(&g);
	report_free(r);
}

TEST(test_lines_that_are_no_groups)
{
	static const struct {
		const char *lines;
		int err;
		size_t line;
	} all[] = {
		{ "x\n", -EINVAL, 1 },
		{ "{\"members\":[]}\n{}\n", -EINVAL, 2 },
		{ "{\"members\":[]}\n\n", -EINVAL, 2 },
		{ "{\"members\":[{\"files\":[{}]}]}", -EINVAL, 1 },
		{ "{\"root\":\"x\",\"members\":[]}", -EINVAL, 1 },
		{ "{\"root\":\"/x\",\"members\":[]}\n"
		  "{\"root\":\"/y\",\"members\":[]}",
		  -ENODEV, 2 },
	};
	struct groups g;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct report *r = report_new();

		assert_int_equal(read_lines(r, all[i].lines, &g), all[i].err);
		assert_int_equal(g.file.number, all[i].line);
		groups_close(&g);
		report_free(r);
	}
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

/* Names are data, never HTML; of the root, all but plain characters are
 * escaped. */
TEST(test_names_are_no_html)
{
	static const char name[] = "</script><img src=x onerror='1'>\"&\n{{";
	struct report *plain = report_new(), *r = report_new();
	struct found_file file = { .path = (char *)name };
	struct found_member m = { .size = 5, .files = &file, .file_count = 1 };
	struct found_group g = { .members = &m, .count = 1, .files = 1 };
	char *empty = page_of(plain, NULL, NULL), *page;

	assert_int_equal(report_add_group(r, &g), 0);
	assert_int_equal(report_add_unread(r, name, name), 0);
	page = page_of(r, name, name);
	assert_int_equal(count_of(page, "</script>"),
			 count_of(empty, "</script>"));
	assert_int_equal(count_of(page, "<img"), 0);
	assert_int_equal(count_of(page, "onerror='"), 0);
	assert_int_equal(count_of(page, "&#60;/script&#62;&#60;img src&#61;x "
					"onerror&#61;&#39;1&#39;&#62;&#34;"
					"&#38;&#32;&#123;&#123;"),
			 3); /* title, heading, notice */
	free(page);
	free(empty);
	page = page_of(r, "/\xc3\xa4 \xff\x1b", NULL);
	assert_non_null(strstr(page, ">/\xef\xbf\xbd\xef\xbf\xbd "
				     "\xef\xbf\xbd&#32;</bdi>"));
	free(page);
	page = page_of(r, "/\xc3\xa4", NULL);
	assert_non_null(strstr(page, ">/\xc3\xa4</bdi>"));
	free(page);
	report_free(plain);
	report_free(r);
}

/* ---- directories ---- */

static struct report *copies(void)
{
	static const char *const paths[] = {
		"a/src/one", "b/src/one", "c/src/one", "d/src/one", "e/f/one",
	};
	struct report *r = report_new();
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct found_file files[] = {
			{ .path = (char *)"kept" },
			{ .path = (char *)paths[i],
			  .disk = 100 - i,
			  .goes = true },
		};
		struct found_member m = { .size = 100 - i,
					  .files = files,
					  .file_count = 2 };
		struct found_group g = { .members = &m, .count = 1 };

		assert_int_equal(report_add_group(r, &g), 0);
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
	struct report *r = copies();
	size_t i, known = 0;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_int_equal(report_add_pair(r, 90, pairs[i].a, pairs[i].b),
				 0);
		known += pairs[i].is_news;
		if (json_object_size(r->alike) != known)
			fail_msg("%s and %s", pairs[i].a, pairs[i].b);
	}
	report_free(r);
}

/* Those that would be asked about; without, or with the pair a and b. */
static void expect_directories(bool pair, const char *want)
{
	struct report *r = copies();
	struct buf seen = { 0 };
	const char *path;
	int found;

	while ((found = report_next_directory(r, &path)) == 1) {
		assert_int_equal(buf_append_format(&seen, "%s ", path), 0);
		if (pair && !strcmp(path, "a"))
			assert_int_equal(report_add_pair(r, 99, "a", "b"), 0);
	}
	assert_int_equal(found, 0);
	assert_string_equal(seen.data, want);
	buf_release(&seen);
	report_free(r);
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
	struct report *r = report_new();
	struct buf path = { 0 };
	const char *again;
	size_t i;

	for (i = 0; i < PARTS; i++)
		assert_int_equal(buf_append_format(&path, "%sd%zu",
						   i ? "/" : "", i % 10),
				 0);
	{
		struct found_file files[] = {
			{ .path = (char *)"kept" },
			{ .path = path.data, .disk = 1, .goes = true },
		};
		struct found_member m = { .size = 1,
					  .files = files,
					  .file_count = 2 };
		struct found_group g = { .members = &m, .count = 1 };

		assert_int_equal(report_add_group(r, &g), 0);
	}
	assert_int_equal(json_object_size(r->saved), PARTS);
	for (i = 1; i < PARTS; i++)
		assert_int_equal(report_next_directory(r, &again), 1);
	assert_memory_equal(again, path.data, strlen(again));
	assert_int_equal(report_next_directory(r, &again), 0);
	buf_release(&path);
	report_free(r);
}

/* What does not fit into one piece of base64 comes out whole. */
TEST(test_many_files)
{
	enum { FILES = 60000 };
	struct report *r = report_new();
	char name[64], *page;
	json_t *data, *item, *unread;
	size_t i;

	for (i = 0; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "%zx",
			       i * 2654435761u % 4294967291u);
		assert_int_equal(report_add_unread(r, name, ""), 0);
	}
	page = page_of(r, NULL, NULL);
	data = unpack(page);
	unread = json_object_get(data, "unread");
	assert_int_equal(json_array_size(unread), FILES);
	json_array_foreach(unread, i, item)
	{
		(void)snprintf(name, sizeof(name), "%zx",
			       i * 2654435761u % 4294967291u);
		assert_string_equal(json_string_value(json_array_get(item, 1)),
				    name);
	}
	json_decref(data);
	free(page);
	report_free(r);
}
