/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"

#include "tests/support/test.h"

#include <jansson.h>

#include "core/base/buf.h"

static void expect_line(const char *text, const char *want)
{
	struct buf line = { 0 };
	json_t *again;

	assert_int_equal(json_append_line(&line, json_pack("[s]", text)), 0);
	assert_string_equal(line.data, want);
	again = json_loads(line.data, 0, NULL);
	assert_string_equal(json_string_value(json_array_get(again, 0)), text);
	json_decref(again);
	buf_release(&line);
}

TEST(test_visible_characters_stay)
{
	expect_line("a \xc3\xa4\xf0\x9f\x98\x80",
		    "[\"a \xc3\xa4\xf0\x9f\x98\x80\"]\n");
}

TEST(test_what_controls_a_terminal_is_escaped)
{
	expect_line("\033[2J\n", "[\"\\u001B[2J\\n\"]\n");
	expect_line("a\x7f", "[\"a\\u007f\"]\n");
	expect_line("\xc2\x9bK\xc3\xa4", "[\"\\u009bK\xc3\xa4\"]\n");
	expect_line("\xe2\x80\xae\xe2\x80\xa8", "[\"\\u202e\\u2028\"]\n");
	expect_line("\xf3\xa0\x81\x81", "[\"\\udb40\\udc41\"]\n");
}

TEST(test_nothing_is_no_line)
{
	struct buf line = { 0 };

	assert_int_not_equal(json_append_line(&line, NULL), 0);
	assert_int_equal(line.len, 0);
}
