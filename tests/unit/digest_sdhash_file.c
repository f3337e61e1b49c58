/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash_file.h"

#include <errno.h>

#include <openssl/evp.h>

#include "core/base/hex.h"
#include "tests/unit/sdhash_inputs.h"

#define PIECE 100003

static struct sdhash_file file;

static int setup(void **state)
{
	(void)state;
	sdhash_file_init(&file);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sdhash_file_release(&file);
	return 0;
}

static int text_of(struct bytes b, const char *name, size_t most,
		   struct buf *out)
{
	int err = sdhash_file_begin(&file, name, b.len, most);
	size_t at, part;

	for (at = 0; at < b.len && !err; at += part) {
		part = b.len - at < PIECE ? b.len - at : PIECE;
		err = sdhash_file_update(&file, b.data + at, part);
	}
	return err ? err : sdhash_file_final(&file, out);
}

/* ---- golden lines ---- */

/* Whether line, with its newline, has the hash that digests.tsv says. */
static int is_golden(const char *line, size_t len, const char *name)
{
	struct tsv lines = tsv_open(SDHASH_DIR "digests.tsv");
	uint8_t hash[32];
	char hex[65], *copy = strndup(line, len + 1);
	int found = 0;

	assert_non_null(copy);
	copy[len] = '\n';
	assert_int_equal(
		EVP_Digest(copy, len + 1, hash, NULL, EVP_sha256(), NULL), 1);
	hex_encode(hash, sizeof(hash), hex);
	while (!found && tsv_next(&lines))
		found = strcmp(lines.fields[0], name) == 0 &&
			strcmp(lines.fields[2], "3.4") != 0 &&
			strcmp(lines.fields[6], hex) == 0;
	tsv_close(&lines);
	free(copy);
	return found;
}

static void files_are_the_programs(void **state)
{
	static const char *const names[] = { "mixed_512", "mixed_4096",
					     "mixed_16777215",
					     "mixed_16777216" };
	struct buf text = { 0 };
	struct bytes b;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		b = input_named(names[i]);
		buf_clear(&text);
		assert_int_equal(text_of(b, names[i], SIZE_MAX, &text), 0);
		if (!is_golden(text.data, text.len, names[i]))
			fail_msg("%s", names[i]);
		free(b.data);
	}
	assert_false(is_golden(text.data, text.len, names[0]));
	buf_release(&text);
}

static void a_large_file_has_several_lines(void **state)
{
	struct bytes b = input_named("seg_135M");
	struct buf text = { 0 };
	char *second;

	(void)state;
	assert_int_equal(text_of(b, "seg_135M", SIZE_MAX, &text), 0);
	second = strchr(text.data, '\n') + 1;
	assert_true(is_golden(text.data, (size_t)(second - text.data) - 1,
			      "seg_135M#0"));
	assert_true(is_golden(second, strlen(second), "seg_135M#1"));
	buf_release(&text);
	free(b.data);
}

/* ---- what ends it ---- */

static void too_long_is_known_early(void **state)
{
	struct bytes b = input_named("rand_1048576");
	struct buf text = { 0 };
	size_t len, at;
	int err = 0;

	(void)state;
	assert_int_equal(text_of(b, "x", SIZE_MAX, &text), 0);
	len = text.len;
	buf_clear(&text);
	assert_int_equal(text_of(b, "x", len, &text), 0);
	assert_int_equal(text.len, len);
	assert_int_equal(text_of(b, "x", len - 1, &text), -E2BIG);
	/* A tenth is exceeded with little more than a tenth. */
	assert_int_equal(sdhash_file_begin(&file, "x", b.len, len / 10), 0);
	for (at = 0; at < b.len && !err; at += 4096)
		err = sdhash_file_update(&file, b.data + at, 4096);
	assert_int_equal(err, -E2BIG);
	assert_true(at < b.len / 5);
	/* Blocks tell from the size alone. */
	assert_int_equal(sdhash_file_begin(&file, "x", 1 << 30, 65536), -E2BIG);
	buf_release(&text);
	free(b.data);
}

static void another_size_is_noticed(void **state)
{
	static uint8_t bytes[2000];
	struct buf text = { 0 };

	(void)state;
	assert_int_equal(sdhash_file_begin(&file, "x", 1000, SIZE_MAX), 0);
	assert_int_equal(sdhash_file_update(&file, bytes, 999), 0);
	assert_int_equal(sdhash_file_final(&file, &text), -EAGAIN);
	assert_int_equal(sdhash_file_begin(&file, "x", 1000, SIZE_MAX), 0);
	assert_int_equal(sdhash_file_update(&file, bytes, 1001), -EAGAIN);
	assert_int_equal(sdhash_file_begin(&file, "x", 511, SIZE_MAX), 0);
	assert_int_equal(sdhash_file_update(&file, bytes, 511), 0);
	assert_int_equal(sdhash_file_final(&file, &text), -ENODATA);
	assert_int_equal(text.len, 0);
	buf_release(&text);
}

static void names_fit_the_line(void **state)
{
	struct bytes b = input_named("mixed_512");
	struct buf text = { 0 };

	(void)state;
	assert_int_equal(text_of(b, "a:b\nc\x7f", SIZE_MAX, &text), 0);
	assert_memory_equal(text.data, "sdbf:03:6:a?b?c?:512:", 21);
	buf_release(&text);
	free(b.data);
}

/* ---- lines ---- */

static struct sdhash_digest *parse(const char *text, size_t *count_out)
{
	struct sdhash_digest *digests;

	assert_int_equal(
		sdhash_parse_lines(text, strlen(text), &digests, count_out), 0);
	return digests;
}

static void lines_are_compared_with_the_best_of_the_others(void **state)
{
	static const char *const names[] = { "text_16384", "rand_16384" };
	struct buf one = { 0 }, both = { 0 };
	struct sdhash_digest *a, *b;
	size_t i, count_a, count_b;
	struct bytes bytes;

	(void)state;
	for (i = 0; i < 2; i++) {
		bytes = input_named(names[i]);
		if (i)
			assert_int_equal(buf_append_text(&both, "\n"), 0);
		assert_int_equal(text_of(bytes, names[i], SIZE_MAX, &both), 0);
		buf_clear(&one);
		assert_int_equal(text_of(bytes, names[i], SIZE_MAX, &one), 0);
		free(bytes.data);
	}
	a = parse(one.data, &count_a);
	b = parse(both.data, &count_b);
	assert_int_equal(count_a, 1);
	assert_int_equal(count_b, 2);
	assert_int_equal(sdhash_score_lines(a, 1, b, 2, SDHASH_SCORE), 100);
	assert_int_equal(sdhash_score_lines(b, 2, a, 1, SDHASH_SCORE), 100);
	assert_int_equal(sdhash_score_lines(a, 1, b, 1, SDHASH_SCORE), 0);
	assert_int_equal(sdhash_score_lines(b, 2, b, 2, SDHASH_SCORE), 100);
	sdhash_free_lines(a, count_a);
	sdhash_free_lines(b, count_b);
	buf_release(&one);
	buf_release(&both);
}

static void malformed_lines_are_refused(void **state)
{
	struct sdhash_digest *digests;
	size_t count;

	(void)state;
	assert_int_equal(sdhash_parse_lines("", 0, &digests, &count), -EINVAL);
	assert_int_equal(sdhash_parse_lines("\n", 1, &digests, &count),
			 -EINVAL);
	assert_int_equal(sdhash_parse_lines("sdbf:03:", 8, &digests, &count),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_the_programs),
		cmocka_unit_test(a_large_file_has_several_lines),
		cmocka_unit_test(too_long_is_known_early),
		cmocka_unit_test(another_size_is_noticed),
		cmocka_unit_test(names_fit_the_line),
		cmocka_unit_test(
			lines_are_compared_with_the_best_of_the_others),
		cmocka_unit_test(malformed_lines_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
