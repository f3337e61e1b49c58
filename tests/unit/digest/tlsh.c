/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>

#include "core/digest/digest.h"
#include "core/digest/tlsh/tlsh.h"
#include "tests/support/recipe.h"

/* Values of TLSH 4.12.1: tests/vectors/tlsh/README.md. */
#define DIR "tests/vectors/tlsh/"

enum { TEXT_SIZE = 80, NAMED_MAX = 500 };

/* ---- tables ---- */

TEST(tables)
{
	struct tsv pearson = tsv_open(DIR "pearson.tsv");
	struct tsv lengths = tsv_open(DIR "lvalue.tsv");
	size_t i;

	for (i = 0; tsv_next(&pearson); i++)
		assert_int_equal(tlsh_pearson[i],
				 strtol(pearson.fields[1], NULL, 10));
	assert_int_equal(i, 256);
	for (i = 0; tsv_next(&lengths); i++)
		assert_int_equal(tlsh_lengths[i],
				 strtoul(lengths.fields[2], NULL, 10));
	assert_int_equal(i, TLSH_LENGTHS);
	tsv_close(&pearson);
	tsv_close(&lengths);
}

/* ---- digests ---- */

static int format(const struct tlsh_digest *digest, struct buf *out)
{
	uint8_t bytes[TLSH_BYTES];

	tlsh_pack(digest, bytes);
	return digest_tlsh.format((struct digest_value){ bytes, sizeof(bytes) },
				  out);
}

static int parse(const char *text, size_t len, struct tlsh_digest *out)
{
	struct buf bytes = { 0 };
	int err = digest_tlsh.parse(text, len, &bytes);

	if (!err)
		tlsh_unpack((const uint8_t *)bytes.data, out);
	buf_release(&bytes);
	return err;
}

static void text_of(const struct tlsh *t, char out[TEXT_SIZE])
{
	struct tlsh_digest digest;
	struct buf text = { 0 };

	(void)snprintf(out, TEXT_SIZE, "-");
	if (tlsh_final(t, &digest) == -ENODATA)
		return;
	assert_int_equal(format(&digest, &text), 0);
	assert_int_equal(text.len, 72);
	(void)snprintf(out, TEXT_SIZE, "%.72s", text.data);
	buf_release(&text);
}

/* Pieces of 0 to most bytes; 0: all at once. */
static void digest_of(struct bytes b, size_t most, char out[TEXT_SIZE])
{
	static struct tlsh t;
	size_t at = 0, piece, n = 0;

	tlsh_begin(&t);
	while (at < b.len) {
		piece = most ? n++ % (most + 1) : b.len;
		if (piece > b.len - at)
			piece = b.len - at;
		tlsh_update(&t, b.data + at, piece);
		at += piece;
	}
	text_of(&t, out);
}

TEST(digests_of_the_inputs)
{
	struct tsv inputs = tsv_open(DIR "inputs.tsv");
	struct tsv golden = tsv_open(DIR "digests.tsv");
	char text[TEXT_SIZE];
	size_t count = 0;
	struct bytes b;

	while (tsv_next(&inputs)) {
		assert_true(tsv_next(&golden));
		assert_string_equal(inputs.fields[0], golden.fields[0]);
		b = recipe_parse(inputs.fields[1]);
		assert_int_equal(b.len, strtoull(golden.fields[1], NULL, 10));
		digest_of(b, 0, text);
		assert_string_equal(text, golden.fields[3]);
		digest_of(b, 1 + count % 9, text);
		assert_string_equal(text, golden.fields[3]);
		free(b.data);
		count++;
	}
	assert_int_equal(count, 300);
	tsv_close(&inputs);
	tsv_close(&golden);
}

/* Zeros that are announced, at the start, the end and between data. */
TEST(zeros)
{
	static const size_t lengths[] = { 0, 1, 3, 4, 5, 6, 255, 1000, 70000 };
	enum { COUNT = sizeof(lengths) / sizeof(lengths[0]), DATA = 900 };
	struct bytes data = recipe_random(5, DATA), dense = bytes_new(0);
	char want[TEXT_SIZE], have[TEXT_SIZE];
	static struct tlsh t;
	size_t i;

	tlsh_begin(&t);
	for (i = 0; i < COUNT; i++) {
		struct bytes gap = bytes_new(lengths[i]);
		struct bytes part = { data.data + 100 * i, i % 3 ? 100 : 2 };

		memset(gap.data, 0, gap.len);
		bytes_append(&dense, gap);
		bytes_append(&dense, part);
		tlsh_update_zeros(&t, lengths[i]);
		tlsh_update(&t, part.data, part.len);
		free(gap.data);
		digest_of(dense, 0, want);
		text_of(&t, have);
		assert_string_equal(have, want);
	}
	free(data.data);
	free(dense.data);
}

/* ---- texts and distances ---- */

struct named {
	char name[32], text[TEXT_SIZE];
};

static size_t read_digests(const char *path, size_t column, struct named *out,
			   size_t count)
{
	struct tsv lines = tsv_open(path);

	while (tsv_next(&lines)) {
		assert_true(count < NAMED_MAX);
		(void)snprintf(out[count].name, sizeof(out->name), "%s",
			       lines.fields[0]);
		(void)snprintf(out[count].text, sizeof(out->text), "%s",
			       lines.fields[column]);
		count++;
	}
	tsv_close(&lines);
	return count;
}

static struct tlsh_digest find_digest(const struct named *all, size_t count,
				      const char *name)
{
	struct tlsh_digest digest = { 0 };
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(all[i].name, name)) {
			assert_int_equal(parse(all[i].text, strlen(all[i].text),
					       &digest),
					 0);
			return digest;
		}
	fail_msg("no digest %s", name);
	return digest;
}

TEST(distances)
{
	static struct named all[NAMED_MAX];
	size_t count = read_digests(DIR "digests.tsv", 3, all, 0), pairs = 0;
	struct tsv lines = tsv_open(DIR "distances.tsv");

	count = read_digests(DIR "made_digests.tsv", 1, all, count);
	while (tsv_next(&lines)) {
		struct tlsh_digest a = find_digest(all, count, lines.fields[0]);
		struct tlsh_digest b = find_digest(all, count, lines.fields[1]);

		assert_int_equal(tlsh_distance(&a, &b),
				 strtol(lines.fields[2], NULL, 10));
		assert_int_equal(tlsh_distance(&b, &a),
				 strtol(lines.fields[2], NULL, 10));
		pairs++;
	}
	assert_int_equal(pairs, 1615);
	tsv_close(&lines);
}

/* What the library reads, and nothing behind the digits. */
TEST(texts)
{
	struct tsv lines = tsv_open(DIR "parse.tsv");
	struct tlsh_digest digest;
	struct buf again = { 0 };
	size_t accepted = 0;

	while (tsv_next(&lines)) {
		json_t *string =
			json_loads(lines.fields[0], JSON_DECODE_ANY, NULL);
		const char *text = json_string_value(string);
		size_t len = json_string_length(string);
		bool t1 = !strncmp(text, "T1", 2);
		bool whole =
			strspn(text + 2 * t1, "0123456789abcdefABCDEF") == 70 &&
			len == 70 + 2U * t1;
		bool want = whole && *lines.fields[1] == '1';

		assert_int_equal(parse(text, len, &digest), want ? 0 : -EINVAL);
		if (want && t1 && !strpbrk(text, "abcdef")) {
			buf_clear(&again);
			assert_int_equal(format(&digest, &again), 0);
			assert_memory_equal(again.data, text, len);
		}
		accepted += want;
		json_decref(string);
	}
	assert_in_range(accepted, 4, 30);
	buf_release(&again);
	tsv_close(&lines);
}
