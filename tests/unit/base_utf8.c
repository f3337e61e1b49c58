/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tests/support/test.h"

#include "core/base/utf8.h"

static void expect_safe(const char *text, const char *want)
{
	struct buf have = { 0 };

	assert_int_equal(utf8_append_safe(&have, text), 0);
	assert_string_equal(have.data, want);
	buf_release(&have);
}

TEST(test_visible_characters_stay)
{
	static const char *const texts[] = {
		" ~a\\b",       "\xc3\xa4",         "\xd7\xa9",
		"\xe6\x97\xa5", "\xf0\x9f\x98\x80",
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect_safe(texts[i], texts[i]);
}

TEST(test_what_controls_a_terminal_is_escaped)
{
	expect_safe("a\033[31mb\n", "a\\033[31mb\\012");
	expect_safe("\x7f", "\\177");
	expect_safe("\xc2\x9b", "\\302\\233"); /* U+009B: ESC [ */
	expect_safe("\xe2\x80\xa8", "\\342\\200\\250");
}

TEST(test_what_turns_or_hides_text_is_escaped)
{
	expect_safe("a\xe2\x80\xaegpj.exe", "a\\342\\200\\256gpj.exe");
	expect_safe("\xe2\x81\xa6", "\\342\\201\\246"); /* U+2066 */
	expect_safe("\xd8\x9c", "\\330\\234");          /* U+061C */
	expect_safe("a\xe2\x80\x8b", "a\\342\\200\\213");
	expect_safe("\xef\xbb\xbf", "\\357\\273\\277");
	expect_safe("\xc2\xad", "\\302\\255");
	expect_safe("\xf3\xa0\x81\xa1", "\\363\\240\\201\\241"); /* a tag */
}

TEST(test_what_is_no_utf8_is_escaped)
{
	expect_safe("latin\xe9", "latin\\351");
	expect_safe("\xe9ri", "\\351ri");
	expect_safe("\xe2\x80", "\\342\\200");
	expect_safe("\xc0\xaf", "\\300\\257");
	expect_safe("\xed\xa0\x80", "\\355\\240\\200");
	expect_safe("\xf4\x90\x80\x80", "\\364\\220\\200\\200");
}

/* Text is looked at in words where that goes. */
TEST(test_a_byte_that_is_no_text_is_found_anywhere)
{
	static const uint8_t wrong[] = { 0, 0x80, 0xc3, 0xff };
	uint8_t bytes[40];
	size_t len, at, i;

	for (len = 0; len <= sizeof(bytes); len++) {
		memset(bytes, 0x7f, sizeof(bytes));
		bytes[len / 2] = 1;
		assert_true(utf8_is_text(bytes, len));
		for (at = 0; at + 1 < len; at++) {
			memcpy(bytes + at, "\xc3\xa4", 2);
			assert_true(utf8_is_text(bytes, len));
			memset(bytes + at, 'a', 2);
		}
		for (at = 0; at < len; at++)
			for (i = 0; i < sizeof(wrong); i++) {
				bytes[at] = wrong[i];
				assert_false(utf8_is_text(bytes, len));
				bytes[at] = 'a';
			}
	}
}
