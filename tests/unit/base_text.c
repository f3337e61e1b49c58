/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <errno.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/text.h"

static void expect_size(const char *text, uint64_t want)
{
	uint64_t have = 0;

	assert_int_equal(text_parse_size(text, &have), 0);
	assert_int_equal(have, want);
}

TEST(test_sizes_are_read)
{
	expect_size("0", 0);
	expect_size("4096", 4096);
	expect_size("16k", 16384);
	expect_size("16K", 16384);
	expect_size("3m", UINT64_C(3) << 20);
	expect_size("2G", UINT64_C(2) << 30);
	expect_size("16777215T", UINT64_C(16777215) << 40);
	expect_size("18446744073709551615", UINT64_MAX);
}

TEST(test_what_is_no_size_is_refused)
{
	static const char *const texts[] = {
		"",    "k",    "-1",   "+1",        " 1",
		"1kk", "1kiB", "1.5M", "16777216T", "18446744073709551616",
	};
	uint64_t have = 7;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(text_parse_size(texts[i], &have), -EINVAL);
	assert_int_equal(have, 7);
}

static void expect_text(double bytes, const char *full, const char *brief)
{
	char out[TEXT_SIZE_ROOM];

	assert_string_equal(text_format_size(bytes, TEXT_UNITS_FULL, out),
			    full);
	assert_string_equal(text_format_size(bytes, TEXT_UNITS_BRIEF, out),
			    brief);
}

TEST(test_sizes_are_printed)
{
	expect_text(0, "0 bytes", "0");
	expect_text(1023, "1023 bytes", "1023");
	expect_text(1024, "1.0 KiB", "1.0K");
	expect_text(1023.6 * 1024, "1.0 MiB", "1.0M");
	expect_text(9.94 * 1024, "9.9 KiB", "9.9K");
	expect_text(12 << 20, "12.0 MiB", "12M");
	expect_text(18446744073709551615.0, "16.0 EiB", "16E");
}

/* Texts that end before, at and behind the end of what is reserved. */
TEST(test_formats_are_appended)
{
	static const char dots[] = "................................";
	struct buf b = { 0 };
	size_t room, len;

	assert_int_equal(buf_append_format(&b, "%s", ""), 0);
	assert_string_equal(b.data, "");
	for (len = 0; len < sizeof(dots); len++) {
		buf_release(&b);
		assert_int_equal(buf_append_text(&b, "x"), 0);
		for (room = b.capacity - b.len; room > 16; room--)
			assert_int_equal(buf_append_text(&b, "y"), 0);
		assert_int_equal(
			buf_append_format(&b, "%.*s%d", (int)len, dots, 7), 0);
		assert_int_equal(strlen(b.data), b.len);
		assert_memory_equal(b.data, "xy", 2);
		assert_memory_equal(b.data + b.len - len - 1, dots, len);
		assert_int_equal(b.data[b.len - 1], '7');
		assert_int_equal(b.data[b.len - len - 2], 'y');
	}
	buf_release(&b);
}

static void expect_guess(const char *word, const char *want)
{
	static const char *const names[] = { "threshold", "limit", "wait",
					     "similar", "similar_name" };
	struct text_guess g;
	size_t i;

	text_guess_begin(&g, word, strcspn(word, "="));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		text_guess_offer(&g, names[i], strlen(names[i]));
	if (!want) {
		assert_null(g.best);
		return;
	}
	assert_non_null(g.best);
	assert_string_equal(g.best, want);
	assert_int_equal(g.best_len, strlen(want));
}

TEST(test_what_was_meant_is_guessed)
{
	expect_guess("treshold", "threshold");
	expect_guess("thresholds", "threshold");
	expect_guess("threshlod=70", "threshold");
	expect_guess("limti", "limit");
	expect_guess("wiat", "wait");
	expect_guess("simlar", "similar");
	expect_guess("similarname", "similar_name");
	expect_guess("similar", "similar");
}

TEST(test_nothing_is_guessed_of_what_is_far)
{
	char long_word[200];

	memset(long_word, 'a', sizeof(long_word));
	long_word[sizeof(long_word) - 1] = '\0';
	expect_guess("", NULL);
	expect_guess("w", NULL);
	expect_guess("frobnicate", NULL);
	expect_guess("walk", NULL);
	expect_guess(long_word, NULL);
}
