/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/digest/sdhash/sdhash.h"
#include "tests/support/sdhash_inputs.h"

#define MIB (1 << 20)
#define TAIL 5000

static void append_file(struct buf *text, const char *name)
{
	char path[128];
	struct bytes b;

	(void)snprintf(path, sizeof(path), SDHASH_DIR "lines/%s", name);
	b = bytes_read(path);
	assert_int_equal(buf_append(text, b.data, b.len), 0);
	free(b.data);
}

/* ---- reading ---- */

/* Lines of the program are in tests/vectors/sdhash/lines. */
TEST(lines_of_the_program_are_read)
{
	struct buf text = { 0 }, again = { 0 };
	struct sdhash_set set = { 0 };
	struct sdhash_fault fault;
	size_t i;

	append_file(&text, "text_1000.stream.both.sdbf");
	append_file(&text, "rand_b65536.block16.both.sdbf");
	append_file(&text, "text_16384.stream.both.sdbf");
	assert_int_equal(sdhash_set_parse(text.data, text.len, &set, &fault),
			 0);
	assert_int_equal(set.count, 3);
	for (i = 0; i < set.count; i++) {
		assert_int_equal(sdhash_format(&set.digests[i], &again), 0);
		assert_int_equal(buf_append_text(&again, "\n"), 0);
	}
	assert_string_equal(again.data, text.data);
	sdhash_set_release(&set);
	buf_release(&text);
	buf_release(&again);
}

TEST(line_ends_do_not_matter)
{
	struct buf line = { 0 }, text = { 0 };
	struct sdhash_set set = { 0 };
	struct sdhash_fault fault;

	append_file(&line, "text_1000.stream.both.sdbf");
	line.len--;
	assert_int_equal(buf_append_text(&text, "\r\n\n"), 0);
	assert_int_equal(buf_append(&text, line.data, line.len), 0);
	assert_int_equal(buf_append_text(&text, "\r\n\n"), 0);
	assert_int_equal(buf_append(&text, line.data, line.len), 0);
	assert_int_equal(sdhash_set_parse(text.data, text.len, &set, &fault),
			 0);
	assert_int_equal(set.count, 2);
	sdhash_set_release(&set);
	buf_release(&line);
	buf_release(&text);
}

struct wrong {
	const char *old;
	const char *new;
	const char *reason;
};

/* The first old in the second line becomes new. */
static void check_fault(const struct buf *line, const struct wrong *w)
{
	struct sdhash_set set = { 0 };
	struct sdhash_fault fault = { 0, NULL };
	struct buf text = { 0 };
	const char *at = strstr(line->data, w->old);

	assert_non_null(at);
	assert_int_equal(buf_append(&text, line->data, line->len), 0);
	assert_int_equal(
		buf_append(&text, line->data, (size_t)(at - line->data)), 0);
	assert_int_equal(buf_append_text(&text, w->new), 0);
	assert_int_equal(buf_append_text(&text, at + strlen(w->old)), 0);
	assert_int_equal(sdhash_set_parse(text.data, text.len, &set, &fault),
			 -EINVAL);
	assert_int_equal(set.count, 0);
	assert_int_equal(fault.line, 2);
	assert_string_equal(fault.reason, w->reason);
	buf_release(&text);
}

TEST(faults_have_a_line_and_a_reason)
{
	static const struct wrong stream[] = {
		{ "sdbf:03", "sdbf:02", "neither sdbf:03 nor sdbf-dd:03" },
		{ "sdbf:03", "ssdeep,1.1", "neither sdbf:03 nor sdbf-dd:03" },
		{ ":9:text_1000", ":x:text_1000", "no length of a name" },
		{ ":9:text_1000", ":8:text_1000",
		  "the name has another length" },
		{ ":1000:", ":x:", "no size of the input" },
		{ "sha1", "md5", "not made with sha1:256:5:7ff" },
		{ ":160:", ":128:", "not 160 features to a filter" },
		{ ":160:1:", ":160:0:", "no number of filters" },
		{ ":160:1:", ":160:2:", "not as long as its filters" },
		{ ":160:1:", ":160:1:999", "no count of the last filter" },
		{ "==", "=*", "a filter is not in base64" },
	};
	static const struct wrong blocks[] = {
		{ ":192:", ":160:", "not 192 features to a filter" },
		{ ":16384:", ":16385:", "no block size that is known" },
		{ ":c0:", ":zz:", "no count of a filter" },
	};
	struct buf text = { 0 };
	size_t i;

	append_file(&text, "text_1000.stream.both.sdbf");
	for (i = 0; i < sizeof(stream) / sizeof(*stream); i++)
		check_fault(&text, &stream[i]);
	buf_release(&text);
	append_file(&text, "rand_b65536.block16.both.sdbf");
	for (i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
		check_fault(&text, &blocks[i]);
	buf_release(&text);
}

TEST(a_text_without_lines_is_refused)
{
	struct sdhash_fault fault = { 7, NULL };
	struct sdhash_set set = { 0 };

	assert_int_equal(sdhash_set_parse("", 0, &set, &fault), -EINVAL);
	assert_int_equal(fault.line, 0);
	assert_string_equal(fault.reason, "there is no digest");
	assert_int_equal(sdhash_set_parse("\n\r\n", 3, &set, &fault), -EINVAL);
	assert_int_equal(fault.line, 0);
}

/* ---- segments ---- */

struct parts {
	struct sdhash_digest digests[3];
	struct sdhash_digest whole;
};

static void make_parts(struct parts *p, uint32_t block_size)
{
	struct bytes b = bytes_new(2 * MIB + TAIL), part;
	char name[16];
	size_t i;

	memset(p, 0, sizeof(*p));
	put_random(b.data, b.len, 1);
	assert_int_equal(digest_bytes(b, SDHASH_4_0, block_size, 0, &p->whole),
			 0);
	for (i = 0; i < 3; i++) {
		part = (struct bytes){ b.data + i * MIB, i < 2 ? MIB : TAIL };
		assert_int_equal(digest_bytes(part, SDHASH_4_0, block_size, 0,
					      &p->digests[i]),
				 0);
		(void)snprintf(name, sizeof(name), "x.000%zuM", i);
		name_digest(&p->digests[i], name);
	}
	free(b.data);
}

static void release_parts(struct parts *p)
{
	size_t i;

	for (i = 0; i < 3; i++)
		sdhash_digest_release(&p->digests[i]);
	sdhash_digest_release(&p->whole);
}

TEST(segments_join_to_the_whole)
{
	struct sdhash_digest d = { 0 };
	struct sdhash_set set;
	struct parts p;

	make_parts(&p, 16384);
	set = (struct sdhash_set){ p.digests, 3 };
	assert_int_equal(sdhash_set_join(&set, &d), 0);
	assert_true(same_digest(&d, &p.whole));
	assert_string_equal(d.name.data, "x");
	assert_int_equal(sdhash_score(&d, &p.whole, SDHASH_SCORE), 100);
	set.count = 1;
	assert_int_equal(sdhash_set_join(&set, &d), 0);
	assert_true(same_digest(&d, &p.digests[0]));
	assert_string_equal(d.name.data, "x.0000M");
	sdhash_digest_release(&d);
	release_parts(&p);
}

static void check_no_segments(struct parts *p)
{
	struct sdhash_set set = { p->digests, 3 };
	struct sdhash_digest d = { 0 };

	assert_int_equal(sdhash_set_join(&set, &d), -EINVAL);
	assert_null(d.filters);
}

TEST(others_are_not_joined)
{
	static const char *const names[] = { "x.0002M", "y.0001M", "x.0001",
					     "x",       ".0001M",  "xx.0001M" };
	const struct sdhash_set none = { 0 };
	struct sdhash_digest d = { 0 };
	struct parts p;
	size_t i;

	assert_int_equal(sdhash_set_join(&none, &d), -EINVAL);
	make_parts(&p, 0);
	check_no_segments(&p);
	release_parts(&p);
	make_parts(&p, 16384);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		name_digest(&p.digests[1], names[i]);
		check_no_segments(&p);
	}
	name_digest(&p.digests[1], "x.0001M");
	p.digests[0].size++;
	check_no_segments(&p);
	p.digests[0].size -= 2;
	check_no_segments(&p);
	p.digests[0].size++;
	p.digests[1].block_size /= 2;
	check_no_segments(&p);
	release_parts(&p);
}
