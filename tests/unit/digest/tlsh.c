/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>

#include "core/digest/digest.h"
#include "tests/support/recipe.h"

/* Values of TLSH 4.12.1: tests/vectors/tlsh/README.md. */
#define DIR "tests/vectors/tlsh/"

enum { TEXT_SIZE = 80, NAMED_MAX = 500 };

/* ---- digests ---- */

static void begin(void *state)
{
	const struct digest_stream stream = { .size = UINT64_MAX };

	assert_int_equal(digest_tlsh.part->begin(state, &stream), 0);
}

static void update(void *state, const void *data, size_t len)
{
	assert_int_equal(digest_tlsh.part->update(state, data, len), 0);
}

static void text_of(void *state, char out[TEXT_SIZE])
{
	struct buf bytes = { 0 }, text = { 0 };
	struct digest_value v;
	int err = digest_tlsh.final(state, &bytes);

	(void)snprintf(out, TEXT_SIZE, "-");
	if (err == -ENODATA)
		return;
	assert_int_equal(err, 0);
	v = (struct digest_value){ (const uint8_t *)bytes.data, bytes.len };
	assert_int_equal(digest_tlsh.format(v, &text), 0);
	assert_int_equal(text.len, 72);
	(void)snprintf(out, TEXT_SIZE, "%.72s", text.data);
	buf_release(&bytes);
	buf_release(&text);
}

/* Pieces of 0 to most bytes; 0: all at once. */
static void digest_of(struct bytes b, size_t most, char out[TEXT_SIZE])
{
	void *state = calloc(1, digest_tlsh.part->size);
	size_t at = 0, piece, n = 0;

	assert_non_null(state);
	begin(state);
	while (at < b.len) {
		piece = most ? n++ % (most + 1) : b.len;
		if (piece > b.len - at)
			piece = b.len - at;
		update(state, b.data + at, piece);
		at += piece;
	}
	text_of(state, out);
	free(state);
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

/* The code of the length, whose lower digit comes first: that of the longest
 * content that has it, and of one byte more. */
TEST(lengths)
{
	enum { MOST = 1 << 26, PIECE = 1 << 20 };
	struct bytes b = recipe_random(3, PIECE);
	struct tsv lines = tsv_open(DIR "lvalue.tsv");
	void *tlsh = calloc(1, digest_tlsh.part->size);
	char text[TEXT_SIZE], code[3];
	size_t i, part, most, size = 0;

	assert_non_null(tlsh);
	begin(tlsh);
	for (i = 0; tsv_next(&lines); i++) {
		most = strtoul(lines.fields[2], NULL, 10);
		while (size < most && most <= MOST) {
			part = size % PIECE;
			part = PIECE - part < most - size ? PIECE - part :
							    most - size;
			update(tlsh, b.data + size % PIECE, part);
			size += part;
			text_of(tlsh, text);
			(void)snprintf(code, sizeof(code), "%.2s", text + 4);
			if (size > 200)
				assert_int_equal(strtol(code, NULL, 16),
						 (i << 4 | i >> 4) & 0xff);
		}
	}
	assert_int_equal(i, 170);
	free(b.data);
	free(tlsh);
	tsv_close(&lines);
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

static struct digests find_digest(const struct named *all, size_t count,
				  const char *name)
{
	struct digests d = { 0 };
	size_t i;

	for (i = 0; i < count && !d.set; i++)
		if (!strcmp(all[i].name, name))
			assert_int_equal(digest_parse(DIGEST_TLSH, all[i].text,
						      strlen(all[i].text), &d),
					 0);
	if (!d.set)
		fail_msg("no digest %s", name);
	return d;
}

TEST(distances)
{
	static struct named all[NAMED_MAX];
	size_t count = read_digests(DIR "digests.tsv", 3, all, 0), pairs = 0;
	struct tsv lines = tsv_open(DIR "distances.tsv");

	count = read_digests(DIR "made_digests.tsv", 1, all, count);
	while (tsv_next(&lines)) {
		struct digests a = find_digest(all, count, lines.fields[0]);
		struct digests b = find_digest(all, count, lines.fields[1]);
		int there = -1, back = -1;

		assert_int_equal(digest_tlsh_distance(&a, &b, &there), 0);
		assert_int_equal(digest_tlsh_distance(&b, &a, &back), 0);
		assert_int_equal(there, strtol(lines.fields[2], NULL, 10));
		assert_int_equal(back, there);
		digests_release(&a);
		digests_release(&b);
		pairs++;
	}
	assert_int_equal(pairs, 1615);
	tsv_close(&lines);
}

/* What the library reads, and nothing behind the digits. */
TEST(texts)
{
	struct tsv lines = tsv_open(DIR "parse.tsv");
	struct digests d = { 0 };
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

		assert_int_equal(digest_parse(DIGEST_TLSH, text, len, &d),
				 want ? 0 : -EINVAL);
		if (want && t1 && !strpbrk(text, "abcdef")) {
			buf_clear(&again);
			assert_int_equal(digest_format(&d, DIGEST_TLSH, &again),
					 0);
			assert_memory_equal(again.data, text, len);
		}
		digests_release(&d);
		accepted += want;
		json_decref(string);
	}
	assert_in_range(accepted, 4, 30);
	buf_release(&again);
	tsv_close(&lines);
}
