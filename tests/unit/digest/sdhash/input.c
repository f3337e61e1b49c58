/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include <openssl/sha.h>

#include "core/base/hex.h"
#include "core/digest/fingerprint.h"
#include "tests/support/sdhash_inputs.h"

/* The digests of files.  Golden values: the program itself, see
 * tests/vectors/sdhash/README.md. */

#define MIB ((size_t)1 << 20)
#define NO_LIMIT SIZE_MAX
#define UNKNOWN UINT64_MAX

/* In parts of random lengths, short ones around what could be borders; the
 * lines with their newlines. */
static int digest_input(struct bytes b, const char *name, uint64_t size,
			size_t max_text, struct buf *lines)
{
	struct fingerprint *fp;
	struct numbers n = { b.len };
	struct digests d = { 0 };
	size_t i, part, to_border;
	int err;

	assert_int_equal(fingerprint_new(DIGEST_BIT(DIGEST_SDHASH), &fp), 0);
	err = fingerprint_begin_file(fp, name, size, max_text);
	for (i = 0; i < b.len && !err; i += part) {
		to_border = MIB - (i + 2000) % MIB;
		part = 1 + number_draw(&n) % (to_border < 4000 ? 700 : 200000);
		part = part < b.len - i ? part : b.len - i;
		err = fingerprint_update(fp, b.data + i, part);
	}
	if (!err)
		err = fingerprint_final(fp, &d);
	buf_clear(lines);
	if (!err && digest_format(&d, DIGEST_SDHASH, lines) == 0)
		assert_int_equal(buf_append_text(lines, "\n"), 0);
	digests_release(&d);
	fingerprint_free(fp);
	return err;
}

/* ---- the program's lines ---- */

/* Whether the line of digests.tsv is one that the program writes of the input
 * by default, and which. */
static int is_default_line(const struct tsv *t, const char *name, size_t size,
			   size_t *index_out)
{
	const char *mode = size < 16 * MIB ? "stream" : "default";
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

/* Line number index with its newline. */
static struct bytes line_at(const struct buf *lines, size_t index)
{
	const char *at = lines->data, *end;

	for (; index > 0; index--)
		at = strchr(at, '\n') + 1;
	end = strchr(at, '\n');
	assert_non_null(end);
	return (struct bytes){ (uint8_t *)(uintptr_t)at,
			       (size_t)(end + 1 - at) };
}

static void check_lines(const struct buf *lines, const char *name, size_t size)
{
	struct tsv t = tsv_open(SDHASH_DIR "digests.tsv");
	uint8_t hash[SHA256_DIGEST_LENGTH];
	size_t index, len = 0;
	struct bytes line;
	char hex[65];

	while (tsv_next(&t)) {
		if (!is_default_line(&t, name, size, &index))
			continue;
		line = line_at(lines, index);
		(void)SHA256(line.data, line.len, hash);
		hex_encode(hash, sizeof(hash), hex);
		assert_string_equal(hex, t.fields[6]);
		len += line.len;
	}
	assert_int_equal(len, lines->len);
	tsv_close(&t);
}

TEST(files_have_the_programs_digests)
{
	static const char *const names[] = {
		"text_1000",     "mixed_300007",  "mixed_16777215",
		"rand_16777216", "text_16777216", "seg_tail300",
		"seg_135M",
	};
	struct buf lines = { 0 };
	struct bytes b;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		b = input_named(names[i]);
		assert_int_equal(
			digest_input(b, names[i], b.len, NO_LIMIT, &lines), 0);
		check_lines(&lines, names[i], b.len);
		free(b.data);
	}
	buf_release(&lines);
}

/* From a pipe the program takes everything in blocks, and the name has the
 * offset in any case. */
TEST(a_pipe_is_digested_in_blocks)
{
	struct bytes b = input_named("mixed_300007"), line;
	struct sdhash_digest want = { 0 };
	struct buf lines = { 0 }, text = { 0 };

	assert_int_equal(digest_bytes(b, 16384, 0, &want), 0);
	name_digest(&want, "stdin.0000M");
	assert_int_equal(sdhash_format(&want, &text), 0);
	assert_int_equal(digest_input(b, "stdin", UNKNOWN, NO_LIMIT, &lines),
			 0);
	line = line_at(&lines, 0);
	assert_int_equal(line.len - 1, text.len);
	assert_memory_equal(line.data, text.data, text.len);
	sdhash_digest_release(&want);
	buf_release(&lines);
	buf_release(&text);
	free(b.data);
}

/* The arithmetic is the program's, read in its source. */
TEST(a_short_tail_counts_twice)
{
	enum { TAIL = 300, SEGMENT = 128 };
	static struct sdhash s;
	struct bytes b = bytes_new(MIB), all, line;
	struct sdhash_digest d = { 0 };
	struct buf want = { 0 }, lines = { 0 };
	size_t i;

	put_random(b.data, b.len, 7);
	all = bytes_new(2 * SEGMENT * MIB + TAIL);
	for (i = 0; i < 2 * SEGMENT; i++)
		memcpy(all.data + i * MIB, b.data, MIB);
	memcpy(all.data + i * MIB, b.data, TAIL);
	name_digest(&d, "x.0128M");
	assert_int_equal(sdhash_begin(&s, 16384, NO_LIMIT, &d), 0);
	assert_int_equal(sdhash_update(&s, all.data + SEGMENT * MIB,
				       SEGMENT * MIB + TAIL),
			 0);
	assert_int_equal(sdhash_pad(&s, TAIL), 0);
	assert_int_equal(sdhash_final(&s), 0);
	assert_int_equal(sdhash_format(&d, &want), 0);
	assert_int_equal(buf_append_text(&want, "\n"), 0);
	assert_int_equal(digest_input(all, "x", all.len, NO_LIMIT, &lines), 0);
	line = line_at(&lines, 1);
	assert_int_equal(line.len, want.len);
	assert_memory_equal(line.data, want.data, want.len);
	buf_release(&lines);
	buf_release(&want);
	sdhash_digest_release(&d);
	free(all.data);
	free(b.data);
}

/* ---- the edges ---- */

TEST(short_inputs_have_no_digest)
{
	struct bytes b = input_named("rand_512");
	struct buf lines = { 0 };

	b.len--;
	assert_int_equal(digest_input(b, "x", UNKNOWN, NO_LIMIT, &lines), 0);
	assert_int_equal(lines.len, 0);
	assert_int_equal(digest_input(b, "x", b.len, NO_LIMIT, &lines), 0);
	assert_int_equal(lines.len, 0);
	buf_release(&lines);
	free(b.data);
}

TEST(limits_hold_for_every_kind)
{
	struct bytes b = input_named("rand_16777216");
	struct buf lines = { 0 };
	size_t len;

	assert_int_equal(digest_input(b, "x", b.len, NO_LIMIT, &lines), 0);
	len = lines.len - 1;
	assert_int_equal(digest_input(b, "x", b.len, len, &lines), 0);
	assert_int_equal(digest_input(b, "x", b.len, len - 1, &lines), -E2BIG);
	b.len--;
	assert_int_equal(digest_input(b, "x", b.len, 65536, &lines), -E2BIG);
	buf_release(&lines);
	free(b.data);
}

TEST(a_size_of_the_other_kind_is_noticed)
{
	struct bytes b = input_named("rand_16777216");
	struct buf lines = { 0 };

	assert_int_equal(digest_input(b, "x", b.len - 1, NO_LIMIT, &lines),
			 -ESTALE);
	b.len--;
	assert_int_equal(digest_input(b, "x", b.len + 1, NO_LIMIT, &lines),
			 -ESTALE);
	buf_release(&lines);
	free(b.data);
}
