/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include <openssl/sha.h>

#include "core/base/hex.h"
#include "core/digest/sdhash/sdhash.h"
#include "tests/support/sdhash_inputs.h"

/* Golden values: the program itself, see tests/vectors/sdhash/README.md. */

#define MIB ((size_t)1 << 20)
#define NO_LIMIT SIZE_MAX

static struct sdhash_input in;

/* ---- what comes out ---- */

struct lines {
	size_t count;
	struct buf text[4];
	int answer; /* to the one who emits */
};

static int keep_line(void *context, struct sdhash_digest *d)
{
	struct lines *lines = context;
	struct buf *text = &lines->text[lines->count++];

	assert_true(lines->count <= 4);
	assert_int_equal(sdhash_format(d, text), 0);
	assert_int_equal(text->len, sdhash_text_length(d));
	assert_int_equal(buf_append_text(text, "\n"), 0);
	return lines->answer;
}

static void release_lines(struct lines *lines)
{
	size_t i;

	for (i = 0; i < 4; i++)
		buf_release(&lines->text[i]);
	*lines = (struct lines){ 0 };
}

/* ---- what goes in ---- */

/* In parts of random lengths, short ones around what could be borders. */
static int feed_input(struct bytes b, uint64_t seed)
{
	struct numbers n = { seed };
	size_t i, part, to_border;
	int err = 0;

	for (i = 0; i < b.len && !err; i += part) {
		to_border = MIB - (i + 2000) % MIB;
		part = 1 + number_draw(&n) % (to_border < 4000 ? 700 : 200000);
		part = part < b.len - i ? part : b.len - i;
		err = sdhash_input_update(&in, b.data + i, part);
	}
	return err ? err : sdhash_input_final(&in);
}

static int digest_input(struct bytes b, const char *name, uint64_t size,
			size_t max_text, struct lines *lines)
{
	int err =
		sdhash_input_begin(&in, name, size, max_text, keep_line, lines);

	if (!err)
		err = feed_input(b, b.len);
	sdhash_input_release(&in);
	return err;
}

/* ---- the program's lines ---- */

/* Whether the line of digests.tsv is one that the program writes of the input
 * by default, and which. */
static int is_default_line(const struct tsv *t, const char *name, size_t size,
			   size_t *index_out)
{
	const char *mode = size < SDHASH_BLOCKS_FROM ? "stream" : "default";
	size_t len = strlen(name);

	if (strncmp(t->fields[0], name, len) != 0 ||
	    (t->fields[0][len] && t->fields[0][len] != '#') ||
	    strncmp(t->fields[1], mode, strlen(mode)) != 0 ||
	    strcmp(t->fields[2], "3.4") == 0)
		return 0;
	*index_out = 0;
	if (t->fields[0][len])
		*index_out = strtoul(t->fields[0] + len + 1, NULL, 10);
	return 1;
}

static void check_lines(const struct lines *lines, const char *name,
			size_t size)
{
	struct tsv t = tsv_open(SDHASH_DIR "digests.tsv");
	uint8_t hash[SHA256_DIGEST_LENGTH];
	size_t index, count = 0;
	char hex[65];

	while (tsv_next(&t)) {
		if (!is_default_line(&t, name, size, &index))
			continue;
		assert_true(index < lines->count);
		(void)SHA256((const uint8_t *)lines->text[index].data,
			     lines->text[index].len, hash);
		hex_encode(hash, sizeof(hash), hex);
		assert_string_equal(hex, t.fields[6]);
		count++;
	}
	assert_int_equal(count, lines->count);
	tsv_close(&t);
}

static void check_input(const char *name)
{
	struct bytes b = input_named(name);
	struct lines lines = { 0 };
	char path[64];

	(void)snprintf(path, sizeof(path), "%s", name);
	assert_int_equal(digest_input(b, path, b.len, NO_LIMIT, &lines), 0);
	check_lines(&lines, name, b.len);
	release_lines(&lines);
	assert_int_equal(
		digest_input(b, path, SDHASH_UNKNOWN, NO_LIMIT, &lines), 0);
	check_lines(&lines, name, b.len);
	release_lines(&lines);
	free(b.data);
}

TEST(inputs_have_the_programs_digests)
{
	check_input("text_1000");
	check_input("mixed_300007");
	check_input("mixed_16777215");
	check_input("rand_16777216");
	check_input("text_16777216");
	check_input("seg_tail300");
	check_input("seg_135M");
}

/* The arithmetic is the program's, read in its source; see core/digest/sdhash/sdhash.h. */
TEST(a_short_tail_counts_twice)
{
	enum { TAIL = 300 };
	static struct sdhash s;
	struct bytes b = bytes_new(MIB);
	struct sdhash_digest d = { 0 };
	struct lines lines = { 0 };
	struct buf want = { 0 };
	size_t i;

	put_random(b.data, b.len, 7);
	name_digest(&d, "x.0128M");
	assert_int_equal(sdhash_begin(&s, SDHASH_4_0, 16384, &d), 0);
	assert_int_equal(sdhash_input_begin(&in, "x", SDHASH_UNKNOWN, NO_LIMIT,
					    keep_line, &lines),
			 0);
	for (i = 0; i < 2 * SDHASH_SEGMENT / MIB; i++) {
		assert_int_equal(sdhash_input_update(&in, b.data, MIB), 0);
		if (i >= SDHASH_SEGMENT / MIB)
			assert_int_equal(sdhash_update(&s, b.data, MIB), 0);
	}
	assert_int_equal(sdhash_input_update(&in, b.data, TAIL), 0);
	assert_int_equal(sdhash_input_final(&in), 0);
	sdhash_input_release(&in);
	assert_int_equal(sdhash_update(&s, b.data, TAIL), 0);
	assert_int_equal(sdhash_pad(&s, TAIL), 0);
	assert_int_equal(sdhash_final(&s), 0);
	assert_int_equal(sdhash_format(&d, &want), 0);
	assert_int_equal(buf_append_text(&want, "\n"), 0);
	assert_int_equal(lines.count, 2);
	assert_string_equal(lines.text[1].data, want.data);
	release_lines(&lines);
	buf_release(&want);
	sdhash_digest_release(&d);
	free(b.data);
}

/* ---- the edges ---- */

TEST(short_inputs_have_no_digest)
{
	struct bytes b = input_named("rand_512");
	struct lines lines = { 0 };

	b.len--;
	assert_int_equal(digest_input(b, "x", SDHASH_UNKNOWN, NO_LIMIT, &lines),
			 -ENODATA);
	assert_int_equal(digest_input(b, "x", b.len, NO_LIMIT, &lines),
			 -ENODATA);
	assert_int_equal(lines.count, 0);
	free(b.data);
}

TEST(limits_hold_for_every_kind)
{
	struct bytes b = input_named("rand_16777216"), none = { NULL, 0 };
	struct lines lines = { 0 };
	size_t len;

	assert_int_equal(digest_input(b, "x", b.len, NO_LIMIT, &lines), 0);
	len = lines.text[0].len - 1;
	release_lines(&lines);
	assert_int_equal(digest_input(b, "x", b.len, len, &lines), 0);
	release_lines(&lines);
	/* Before a byte was read. */
	assert_int_equal(digest_input(none, "x", b.len, len - 1, &lines),
			 -E2BIG);
	/* The stream's text is longer; it is not the one that is wanted. */
	assert_int_equal(digest_input(b, "x", SDHASH_UNKNOWN, len, &lines), 0);
	release_lines(&lines);
	assert_int_equal(digest_input(b, "x", SDHASH_UNKNOWN, len - 1, &lines),
			 -E2BIG);
	b.len--;
	assert_int_equal(digest_input(b, "x", SDHASH_UNKNOWN, len, &lines),
			 -E2BIG);
	assert_int_equal(digest_input(b, "x", b.len, 65536, &lines), -E2BIG);
	assert_int_equal(lines.count, 0);
	free(b.data);
}

TEST(a_size_of_the_other_kind_is_noticed)
{
	struct bytes b = input_named("rand_16777216");
	struct lines lines = { 0 };

	assert_int_equal(digest_input(b, "x", b.len - 1, NO_LIMIT, &lines),
			 -ESTALE);
	b.len--;
	assert_int_equal(digest_input(b, "x", b.len + 1, NO_LIMIT, &lines),
			 -ESTALE);
	assert_int_equal(lines.count, 0);
	free(b.data);
}

TEST(the_answer_to_a_digest_is_passed_on)
{
	struct bytes b = input_named("rand_4096");
	struct lines lines = { .answer = -EIO };

	assert_int_equal(digest_input(b, "x", b.len, NO_LIMIT, &lines), -EIO);
	release_lines(&lines);
	free(b.data);
}
