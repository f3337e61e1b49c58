/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>

#include "core/digest/sdhash/sdhash.h"
#include "tests/support/sdhash_inputs.h"

/* The text of the digest of a golden input. */
static struct buf text_of(const char *input, uint32_t block_size,
			  const char *name)
{
	struct sdhash_digest d = { 0 };
	struct bytes b = input_named(input);
	struct buf text = { 0 };

	assert_int_equal(digest_bytes(b, block_size, 0, &d), 0);
	name_digest(&d, name);
	assert_int_equal(sdhash_format(&d, &text), 0);
	sdhash_digest_release(&d);
	free(b.data);
	return text;
}

static int parses(const char *text, size_t len)
{
	struct sdhash_digest d = { 0 };
	int err = sdhash_parse(text, len, &d);

	assert_true(err == 0 || err == -EINVAL);
	assert_true(!err || (!d.filters && !d.name.data));
	sdhash_digest_release(&d);
	return !err;
}

/* Whether text with the first old replaced is read. */
static int parses_with(const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);
	struct buf changed = { 0 };
	int ok;

	assert_non_null(at);
	assert_int_equal(buf_append(&changed, text, (size_t)(at - text)), 0);
	assert_int_equal(buf_append_text(&changed, new), 0);
	assert_int_equal(buf_append_text(&changed, at + strlen(old)), 0);
	ok = parses(changed.data, changed.len);
	buf_release(&changed);
	return ok;
}

struct change {
	const char *old;
	const char *new;
};

static void check_refused(const char *text, const struct change *changes,
			  size_t count)
{
	size_t i;

	assert_true(parses(text, strlen(text)));
	for (i = 0; i < count; i++)
		if (parses_with(text, changes[i].old, changes[i].new))
			fail_msg("\"%s\" passes for \"%s\"", changes[i].new,
				 changes[i].old);
}

/* Begins with sdbf:03:1:x:16384:sha1:256:5:7ff:160:2:95: */
TEST(malformed_streams_are_refused)
{
	static const struct change changes[] = {
		{ "sdbf:", "sdbg:" },
		{ "sdbf:03", "sdbf:3" },
		{ "sdbf:03", "sdbf:04" },
		{ "sdbf:", "sdbf-dd:" },
		{ ":1:x:", ":2:x:" },
		{ ":1:x:", ":0:x:" },
		{ ":1:x:", ":01:x:" },
		{ ":1:x:", "::x:" },
		{ ":1:x:", ":-1:x:" },
		{ ":1:x:", ":9999999:x:" },
		{ ":1:x:", ":18446744073709551617:x:" },
		{ ":16384:", "::" },
		{ ":16384:", ":016384:" },
		{ ":16384:", ":1638x:" },
		{ ":16384:", ": 16384:" },
		{ ":16384:", ":18446744073709551616:" },
		{ "sha1", "sha2" },
		{ ":256:", ":255:" },
		{ ":5:", ":4:" },
		{ ":7ff:", ":7FF:" },
		{ ":160:", ":161:" },
		{ ":160:", ":192:" },
		{ ":160:2:", ":160:0:" },
		{ ":160:2:", ":160:1:" },
		{ ":160:2:", ":160:3:" },
		{ ":160:2:", ":160:02:" },
		{ ":160:2:", ":160:18446744073709551615:" },
		{ ":2:95:", ":2:161:" },
		{ ":2:95:", ":2:095:" },
		{ ":2:95:", ":2::" },
		{ ":2:95:", ":2:95" },
		{ "=", "A" },
		{ "=", "" },
		{ "=", "==" },
		{ "=", "=\n" },
		{ "=", "= " },
		{ "=", "=:" },
	};
	struct buf text = text_of("text_16384", 0, "x");

	check_refused(text.data, changes, sizeof(changes) / sizeof(*changes));
	buf_release(&text);
}

/* Begins with sdbf-dd:03:1:x:65536:sha1:256:5:7ff:192:4:16384:c0: */
TEST(malformed_blocks_are_refused)
{
	static const struct change changes[] = {
		{ "sdbf-dd:", "sdbf:" },
		{ ":192:", ":160:" },
		{ ":192:4:", ":192:0:" },
		{ ":192:4:", ":192:3:" },
		{ ":192:4:", ":192:5:" },
		{ ":4:16384:", ":4:0:" },
		{ ":4:16384:", ":4:16385:" },
		{ ":4:16384:", ":4:17408:" },
		{ ":4:16384:", ":4:512:" },
		{ ":4:16384:", ":4:016384:" },
		{ ":c0:", ":C0:" },
		{ ":c0:", ":c1:" },
		{ ":c0:", ":ff:" },
		{ ":c0:", ":0:" },
		{ ":c0:", ":0c0:" },
		{ ":c0:", "::" },
		{ ":c0:", ":g0:" },
		{ ":c0:", ";c0:" },
		{ "==:", "=A:" },
		{ "==:", "==;" },
		{ "==:", "=:" },
	};
	struct buf text = text_of("rand_b65536", 16384, "x");

	check_refused(text.data, changes, sizeof(changes) / sizeof(*changes));
	buf_release(&text);
}

/* The base64 of 256 bytes leaves four bits that must be zero. */
TEST(bits_past_the_end_are_refused)
{
	struct buf text = text_of("text_4096", 0, "x");
	char *last = text.data + text.len - 3;

	assert_string_equal(last + 1, "==");
	assert_non_null(strchr("AQgw", *last));
	assert_true(parses(text.data, text.len));
	(*last)++;
	assert_false(parses(text.data, text.len));
	buf_release(&text);
}

TEST(cut_lines_are_refused)
{
	struct buf stream = text_of("text_16384", 0, "x");
	struct buf blocks = text_of("rand_b65536", 16384, "x");
	size_t len;

	for (len = 0; len < stream.len; len++)
		assert_false(parses(stream.data, len));
	for (len = 0; len < blocks.len; len++)
		assert_false(parses(blocks.data, len));
	buf_release(&stream);
	buf_release(&blocks);
}

/* What is read at all is written again as it was. */
static void check_damaged(const struct buf *text, uint64_t seed)
{
	struct numbers n = { seed };
	struct sdhash_digest d = { 0 };
	struct buf changed = { 0 }, again = { 0 };
	uint64_t range = number_draw(&n) % 2 ? 60 : text->len;

	assert_int_equal(buf_append(&changed, text->data, text->len), 0);
	changed.data[number_draw(&n) % range] =
		number_draw(&n) % 3 ? (char)(32 + number_draw(&n) % 95) :
				      (char)number_draw(&n);
	if (sdhash_parse(changed.data, changed.len, &d) == 0) {
		assert_int_equal(sdhash_format(&d, &again), 0);
		if (again.len != changed.len ||
		    memcmp(again.data, changed.data, again.len) != 0)
			fail_msg("seed %" PRIu64, seed);
	}
	sdhash_digest_release(&d);
	buf_release(&again);
	buf_release(&changed);
}

TEST(damage_is_refused_or_kept)
{
	struct buf stream = text_of("text_16384", 0, "x");
	struct buf blocks = text_of("rand_b65536", 16384, "x");
	uint64_t seed;

	for (seed = 1; seed <= 5000; seed++) {
		check_damaged(&stream, seed);
		check_damaged(&blocks, seed);
	}
	buf_release(&stream);
	buf_release(&blocks);
}

TEST(any_name_is_read_back)
{
	static const char *const names[] = { "",         ":", "a:b:c",
					     "sdbf:03:", "1", "\xff\xc3" };
	struct sdhash_digest d = { 0 };
	struct buf text;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		text = text_of("text_1000", i % 2 ? 1024 : 0, names[i]);
		assert_int_equal(sdhash_parse(text.data, text.len, &d), 0);
		assert_int_equal(d.name.len, strlen(names[i]));
		assert_memory_equal(d.name.data, names[i], d.name.len);
		buf_release(&text);
	}
	sdhash_digest_release(&d);
}

TEST(a_failed_read_leaves_the_digest)
{
	struct buf text = text_of("text_1000", 0, "x");
	struct sdhash_digest d = { 0 };
	struct buf again = { 0 };

	assert_int_equal(sdhash_parse(text.data, text.len, &d), 0);
	assert_int_equal(sdhash_parse(text.data, text.len - 1, &d), -EINVAL);
	assert_int_equal(sdhash_format(&d, &again), 0);
	assert_string_equal(again.data, text.data);
	sdhash_digest_release(&d);
	buf_release(&again);
	buf_release(&text);
}

/* ---- names ---- */

static void check_name(const char *path, const char *want)
{
	struct sdhash_digest d = { 0 };

	assert_int_equal(sdhash_set_name(&d, "what was there before"), 0);
	assert_int_equal(sdhash_set_name(&d, path), 0);
	assert_int_equal(d.name.len, strlen(want));
	assert_string_equal(d.name.data, want);
	sdhash_digest_release(&d);
}

/* The program cuts lines at every colon and at the end of a line. */
TEST(names_can_be_read_by_the_program)
{
	check_name("a", "a");
	check_name("/x:y/a b.txt", "/x_y/a b.txt");
	check_name("a:b::c", "a_b__c");
	check_name("a\nb\r\x7f\t\x01", "a_b____");
	check_name("\xc3\xa4|,\xff", "\xc3\xa4|,\xff");
	check_name("", "_");
	check_name(":", "_");
}

/* ---- lengths ---- */

/* How much of an input was taken before the text was too long; its size if it
 * is not. */
static size_t taken(struct bytes b, uint32_t block_size, size_t max_text,
		    int *err_out)
{
	static struct sdhash s;
	struct sdhash_digest d = { 0 };
	size_t i, part;
	int err = 0;

	assert_int_equal(sdhash_set_name(&d, "x"), 0);
	assert_int_equal(sdhash_begin(&s, block_size, max_text, &d), 0);
	for (i = 0; i < b.len && !err; i += part) {
		part = b.len - i < 1000 ? b.len - i : 1000;
		err = sdhash_update(&s, b.data + i, part);
	}
	*err_out = err ? err : sdhash_final(&s);
	sdhash_digest_release(&d);
	return i;
}

static void check_limit(const char *input, uint32_t block_size)
{
	struct buf text = text_of(input, block_size, "x");
	struct bytes b = input_named(input);
	int err;

	assert_int_equal(taken(b, block_size, text.len, &err), b.len);
	assert_int_equal(err, 0);
	(void)taken(b, block_size, text.len - 1, &err);
	assert_int_equal(err, -E2BIG);
	/* What is too long by far is left early. */
	assert_true(taken(b, block_size, text.len / 4, &err) < b.len / 2);
	assert_int_equal(err, -E2BIG);
	assert_true(taken(b, block_size, 0, &err) < b.len);
	assert_int_equal(err, -E2BIG);
	buf_release(&text);
	free(b.data);
}

TEST(texts_stop_at_their_limit)
{
	check_limit("mixed_300007", 0);
	check_limit("text_b69000", 0);
	check_limit("text_b69000", 2048);
	check_limit("mixed_300007", 16384);
}

/* ---- segments ---- */

#define MIB (1 << 20)
#define TAIL 5000

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
	assert_int_equal(digest_bytes(b, block_size, 0, &p->whole), 0);
	for (i = 0; i < 3; i++) {
		part = (struct bytes){ b.data + i * MIB, i < 2 ? MIB : TAIL };
		assert_int_equal(
			digest_bytes(part, block_size, 0, &p->digests[i]), 0);
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

/* Of their lines. */
static int parse_parts(const struct parts *p, const char *between,
		       struct sdhash_digest *out)
{
	struct buf text = { 0 };
	size_t i;
	int err;

	for (i = 0; i < 3; i++) {
		assert_int_equal(buf_append_text(&text, i ? between : ""), 0);
		assert_int_equal(sdhash_format(&p->digests[i], &text), 0);
	}
	err = sdhash_parse(text.data, text.len, out);
	buf_release(&text);
	return err;
}

TEST(segments_join_to_the_whole)
{
	struct sdhash_digest d = { 0 };
	struct parts p;

	make_parts(&p, 16384);
	assert_int_equal(parse_parts(&p, "\n", &d), 0);
	assert_true(same_digest(&d, &p.whole));
	sdhash_digest_release(&d);
	assert_int_equal(parse_parts(&p, "\r\n", &d), -EINVAL);
	assert_int_equal(parse_parts(&p, "\n\n", &d), -EINVAL);
	release_parts(&p);
}

static void check_no_segments(struct parts *p)
{
	struct sdhash_digest d = { 0 };

	assert_int_equal(parse_parts(p, "\n", &d), -EINVAL);
	assert_null(d.filters);
}

TEST(others_are_not_joined)
{
	static const char *const names[] = { "x.0002M", "y.0001M", "x.0001",
					     "x",       ".0001M",  "xx.0001M" };
	struct parts p;
	size_t i;

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
