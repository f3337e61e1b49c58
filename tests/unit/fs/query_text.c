/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/query_text.h"

#include "tests/support/test.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/client/client.h"

#define SIMHASH "\"simhash\":\"0123456789abcdef\""
#define SIF "\"sif\":\"sif5:ABEAAo5Zl86MRQI\""
/* A query of that size, and with these digests. */
#define OF(size, digests) "{\"size\":" size ",\"digests\":{" digests "}}"
/* One filter, with a bit in each of its first two bytes. */
#define A64 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define SDBF                                                               \
	"sdbf:03:1:x:600:sha1:256:5:7ff:160:1:20:AQEA" A64 A64 A64 A64 A64 \
	"AAAAAAAAAAAAAAAAAA=="
#define ALL                                                        \
	"{\"sise\":\"6(5):AAAB::3(2):AAABAC\"," SIMHASH            \
	",\"rdc\":\"000102030405060708090a0b3c3d3e3f\"," SIF       \
	",\"ssdeep\":\"3:AXGBicFlgVNhBGcL6wCrFQE:AXGHsNhxLsr2C\"," \
	"\"xxh128\":\"99aa06d3014798d86001c324468d497f\"}"

/* From memory that ends where the text does. */
static int parse(const char *text, size_t len, struct query_text *out)
{
	char *copy = malloc(len ? len : 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, text, len);
	err = query_text_parse(copy, len, out);
	free(copy);
	return err;
}

static void assert_refused(const char *text, size_t len)
{
	struct query_text q, before;

	memset(&q, 0x5a, sizeof(q));
	before = q;
	if (parse(text, len, &q) != -EINVAL)
		fail_msg("not refused: %s", text);
	assert_memory_equal(&q, &before, sizeof(q));
}

static void assert_relation(const char *text, enum index_relation want)
{
	struct query_text q;

	assert_int_equal(parse(text, strlen(text), &q), 0);
	assert_int_equal(q.question.rules.relation, want);
	query_text_release(&q);
}

TEST(all_digests_are_taken)
{
	const char *text = "{\"digests\":" ALL ",\"size\":77}\n";
	struct buf have = { 0 };
	struct query_text q;
	enum digest_id id;

	assert_int_equal(parse(text, strlen(text), &q), 0);
	assert_int_equal(q.kind, QUERY_QUESTION);
	assert_int_equal(q.question.digests.set, DIGEST_DEFAULT);
	assert_int_equal(q.question.digests.size, 77);
	for (id = 0; id < DIGEST_COUNT; id++) {
		if (!(DIGEST_DEFAULT & DIGEST_BIT(id)))
			continue;
		assert_int_equal(buf_append_format(&have, "%s\"%s\":\"",
						   have.len ? "\"," : "{",
						   digest_table[id]->name),
				 0);
		assert_int_equal(digest_format(&q.question.digests, id, &have),
				 0);
	}
	assert_int_equal(buf_append_text(&have, "\"}"), 0);
	assert_string_equal(have.data, ALL);
	buf_release(&have);
	query_text_release(&q);
}

TEST(changes_are_asked_for)
{
	const char *text = "{\"relation\":\"changes\",\"within\":"
			   "[{\"path\":\"docs\"}]}";
	const char *bad = "{\"relation\":\"changes\",\"exact\":true}";
	struct query_text q;

	assert_int_equal(parse(text, strlen(text), &q), 0);
	assert_int_equal(q.kind, QUERY_CHANGES);
	assert_int_equal(q.groups.within.count, 1);
	assert_string_equal(q.groups.within.paths[0], "docs");
	query_text_release(&q);
	assert_int_equal(parse(bad, strlen(bad), &q), -EINVAL);
}

TEST(one_digest_is_enough)
{
	const char *text = OF("1", "\"simhash\":\"00000000000000ff\"");
	struct query_text q;

	assert_int_equal(parse(text, strlen(text), &q), 0);
	assert_int_equal(q.question.digests.set, DIGEST_BIT(DIGEST_SIMHASH));
	assert_int_equal(digests_simhash(&q.question.digests), 0xff);
	assert_null(q.question.digests.blocks[DIGEST_SISE].bytes);
	query_text_release(&q);
}

TEST(sizes_are_those_of_files)
{
	struct query_text q;
	const char *text = OF("9223372036854775807", SIMHASH);

	assert_int_equal(parse(text, strlen(text), &q), 0);
	assert_true(q.question.digests.size == INT64_MAX);
	query_text_release(&q);
}

#define RELATION(name) \
	"{\"relation\":" name ",\"size\":1,\"digests\":{" SIMHASH "}}"

TEST(relations_have_names)
{
	assert_relation(OF("1", SIMHASH), INDEX_ALIKE);
	assert_relation(RELATION("\"alike\""), INDEX_ALIKE);
	assert_relation(RELATION("\"within\""), INDEX_WITHIN);
	assert_relation(RELATION("\"contains\""), INDEX_CONTAINS);
}

TEST(a_path_is_asked_about_and_another_one)
{
	const char *text = "{\"relation\":\"base\",\"path\":\"docs/a\","
			   "\"with_hex\":\"ff\"}";
	struct query_text q;
	json_t *made;

	assert_int_equal(parse(text, strlen(text), &q), 0);
	assert_int_equal(q.question.kind, QUESTION_BASE);
	assert_string_equal(q.question.path, "docs/a");
	assert_string_equal(q.question.with, "\xff");
	made = question_make(&q.question);
	query_text_release(&q);
	assert_int_equal(question_parse(made, &q.question), 0);
	assert_int_equal(q.question.kind, QUESTION_BASE);
	assert_string_equal(q.question.with, "\xff");
	question_release(&q.question);
	json_decref(made);
}

TEST(a_verdict_is_read_as_it_was_made)
{
	const struct verdict v = { .score = 97,
				   .distinctive = 12,
				   .bytes = 70000,
				   .reason = VERDICT_UNCERTAIN,
				   .by = SUBJECT_TEXT };
	struct verdict read = { 0 };
	json_t *line = verdict_to_json(&v);

	assert_int_equal(verdict_from_json(line, &read), 0);
	assert_memory_equal(&read, &v, sizeof(v));
	json_object_set_new(line, "score", json_integer(101));
	assert_int_equal(verdict_from_json(line, &read), -EBADMSG);
	json_decref(line);
}

TEST(the_options_of_the_mount_may_be_others)
{
	const char *text =
		"{\"threshold\":1,\"share_min\":700,\"limit\":9,"
		"\"ignore\":true,\"size\":1,\"digests\":{" SIMHASH "}}";
	struct query_text q;

	assert_int_equal(parse(text, strlen(text), &q), 0);
	assert_int_equal(q.question.rules.threshold, 1);
	assert_int_equal(q.question.rules.share_min, 700);
	assert_int_equal(q.question.limit, 9);
	assert_true(q.question.ignore);
	query_text_release(&q);
}

TEST(nonsense_is_refused)
{
	static const char *const texts[] = {
		"",
		"\n",
		"[]",
		"{\"threshold\":101,\"size\":1,\"digests\":{" SIMHASH "}}",
		"{\"limit\":4097,\"size\":1,\"digests\":{" SIMHASH "}}",
		"{\"share_min\":\"x\",\"size\":1,\"digests\":{" SIMHASH "}}",
		"{}",
		"1",
		"size=1\nsimhash=0123456789abcdef",
		"{\"size\":1}",
		"{\"digests\":{" SIMHASH "}}",
		"{\"size\":1,\"digests\":[]}",
		"{\"size\":1,\"digests\":null}",
		"{\"size\":1,\"digests\":{" SIMHASH "},\"more\":1}",
		OF("1", SIMHASH) OF("1", SIMHASH),
		OF("1", ""),
		OF("1", SIMHASH ",\"md5\":\"0123\""),
		OF("1", SIMHASH ",\"user.rdc.traits\":\"00\""),
		OF("1", "\"simhash\":1"),
		OF("-1", SIMHASH),
		OF("1.0", SIMHASH),
		OF("\"1\"", SIMHASH),
		OF("true", SIMHASH),
		OF("9223372036854775808", SIMHASH),
		OF("1", "\"simhash\":\"0123456789abcde\""),
		OF("1", "\"simhash\":\"0123456789abcdef0\""),
		OF("1", "\"simhash\":\"\""),
		OF("1", "\"sif\":\"sif5:ABEAAo5Zl86MRQ\""),
		OF("1", "\"sif\":\"sif4:ABEAAo5Zl86MRQI\""),
		RELATION("\"\""),
		RELATION("\"like\""),
		RELATION("\"alike2\""),
		RELATION("\"alik\""),
		RELATION("1"),
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i], strlen(texts[i]));
}

TEST(nothing_comes_twice)
{
	static const char *const texts[] = {
		"{\"size\":1,\"size\":1,\"digests\":{" SIMHASH "}}",
		OF("1", SIMHASH "," SIMHASH),
		OF("1", SIF "," SIMHASH "," SIF),
		"{\"relation\":\"groups\",\"exact\":true,\"exact\":true}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i], strlen(texts[i]));
}

TEST(bytes_of_zero_are_refused)
{
	static const char end[] = OF("1", SIMHASH);
	static const char name[] = "\0" OF("1", SIMHASH);

	assert_refused(name, sizeof(name) - 1);
	assert_refused(end, sizeof(end));
	assert_refused("{\"relation\":\"groups\",\"within\":"
		       "[{\"path_hex\":\"6100\"}]}",
		       strlen("{\"relation\":\"groups\",\"within\":"
			      "[{\"path_hex\":\"6100\"}]}"));
}

/* Nothing compares them. */
TEST(sdhash_is_refused)
{
	const char *text = OF("1", "\"sdhash\":\"" SDBF "\"");
	struct digests d = { 0 };

	assert_int_equal(digest_parse(DIGEST_SDHASH, SDBF, strlen(SDBF), &d),
			 0);
	digests_release(&d);
	assert_refused(text, strlen(text));
}

TEST(groups_have_rules)
{
	const char *text = "{\"relation\":\"groups\",\"exact\":true,"
			   "\"threshold\":70,\"min_size\":9,\"within\":"
			   "[{\"path\":\"a/b\"},{\"path_hex\":\"63ff\"}]}";
	struct query_text q;

	assert_int_equal(parse(text, strlen(text), &q), 0);
	assert_int_equal(q.kind, QUERY_GROUPS);
	assert_true(q.groups.rules.exact);
	assert_false(q.groups.rules.every);
	assert_int_equal(q.groups.rules.threshold, 70);
	assert_int_equal(q.groups.min_size, 9);
	assert_int_equal(q.groups.within.count, 2);
	assert_string_equal(q.groups.within.paths[0], "a/b");
	assert_string_equal(q.groups.within.paths[1], "c\xff");
	query_text_release(&q);
}

TEST(nonsense_of_groups_is_refused)
{
	static const char *const texts[] = {
		"\"exact\":1",
		"\"every\":\"1\"",
		"\"threshold\":0",
		"\"threshold\":101",
		"\"min_size\":-1",
		"\"within\":\"a\"",
		"\"within\":[\"a\"]",
		"\"within\":[{}]",
		"\"within\":[{\"path\":\"a\",\"b\":1}]",
		"\"within\":[{\"path_hex\":\"6\"}]",
		"\"size\":1",
		"\"digests\":{}",
	};
	char text[200];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		(void)snprintf(text, sizeof(text),
			       "{\"relation\":\"groups\",%s}", texts[i]);
		assert_refused(text, strlen(text));
	}
}

static int add_hits(char *const *names, size_t count, struct buf *out)
{
	struct search_hit *hits = calloc(count, sizeof(*hits));
	const struct search_hits all = { .hits = hits, .count = count };
	int err;

	assert_non_null(hits);
	for (size_t i = 0; i < count; i++) {
		hits[i].path = names[i];
		hits[i].date = TEXT_NO_DATE;
		hits[i].nlink = count;
		hits[i].link = i > 0;
	}
	err = query_text_add_files(&all, out);
	free(hits);
	return err;
}

TEST(a_file_of_a_group_is_a_line_with_its_names)
{
	char *names[] = { (char *)"a", (char *)"b\xff", (char *)"c" };
	struct buf out = { 0 };

	assert_int_equal(add_hits(names, 3, &out), 0);
	assert_string_equal(
		out.data,
		"{\"group\":0,\"member\":0,\"score\":0,\"by\":\"bytes\","
		"\"size\":0,"
		"\"xxh128\":\"00000000000000000000000000000000\",\"files\":[{"
		"\"on_disk\":0,\"mtime_ns\":0,\"nlink\":3,\"links\":["
		"{\"path_hex\":\"62ff\",\"path\":\"b\xef\xbf\xbd\"},"
		"{\"path\":\"c\"}],\"path\":\"a\"}]}\n");
	buf_release(&out);
}

/* A user can give a file 65,000 names, of which each byte takes eight in JSON. */
TEST(a_line_has_no_more_names_than_a_program_reads)
{
	enum { NAMES = 60000, NAME = 255 };
	static char *names[NAMES];
	char name[NAME + 1];
	struct buf out = { 0 };
	size_t i;

	memset(name, 1, NAME);
	name[0] = '\xff';
	name[NAME] = '\0';
	for (i = 0; i < NAMES; i++)
		names[i] = name;
	names[NAMES - 1] = (char *)"too much";
	assert_int_equal(add_hits(names, NAMES, &out), 0);
	assert_in_range(out.len, QUERY_NAMES_MAX, CLIENT_LINE_MAX - 1);
	assert_null(strstr(out.data, "too much"));
	assert_non_null(strstr(out.data, "\"nlink\":60000"));
	buf_release(&out);
}
