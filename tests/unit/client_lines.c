/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/client/client.h"

/* JSON lines, as a program reads them from a mount or a file. */

/* A stream of a text, then of so many blanks, then of the rest; then it fails, if
 * an error is set. */
struct source {
	const char *text, *rest;
	size_t blanks;
	int error;
};

static ssize_t source_read(void *cookie, char *data, size_t len)
{
	struct source *s = cookie;

	if (*s->text) {
		*data = *s->text++;
		return 1;
	}
	if (s->blanks) {
		len = len < s->blanks ? len : s->blanks;
		memset(data, ' ', len);
		s->blanks -= len;
		return (ssize_t)len;
	}
	s->text = s->rest ? s->rest : "";
	s->rest = NULL;
	if (*s->text)
		return source_read(s, data, len);
	errno = s->error;
	return s->error ? -1 : 0;
}

static FILE *open_source(struct source *s)
{
	FILE *in = fopencookie(s, "r",
			       (cookie_io_functions_t){ .read = source_read });

	assert_non_null(in);
	return in;
}

/* The lines before the end or an error, which is returned. */
static int count_lines(struct source s, size_t *count_out)
{
	struct lines l = { .in = open_source(&s) };
	int more;

	*count_out = 0;
	while ((more = lines_next(&l)) > 0)
		++*count_out;
	lines_close(&l);
	return more;
}

static void expect(struct source s, size_t count, int error)
{
	size_t have;

	assert_int_equal(count_lines(s, &have), error);
	assert_int_equal(have, count);
}

TEST(test_a_value_a_line)
{
	expect((struct source){ .text = "" }, 0, 0);
	expect((struct source){ .text = "{}\n[1]\n" }, 2, 0);
	expect((struct source){ .text = "{}\n{\"a\":\"b\"}" }, 2, 0);
}

TEST(test_what_is_no_line_is_refused)
{
	static const char *const wrong[] = {
		"\n",    "1\n", "{\n}\n",     "{} {}\n",
		"{}x\n", "{\"", "\"text\"\n", "{\"\xff\":1}\n",
	};
	char text[32];
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(text, sizeof(text), "{}\n%s", wrong[i]);
		expect((struct source){ .text = text }, 1, -EINVAL);
	}
}

TEST(test_a_line_has_a_bound)
{
	expect((struct source){ .text = "{}",
				.blanks = CLIENT_LINE_MAX - 3,
				.rest = "\n{}" },
	       2, 0);
	expect((struct source){ .text = "{}",
				.blanks = CLIENT_LINE_MAX + 10,
				.rest = "{\"a\":1}\n" },
	       0, -EFBIG);
	expect((struct source){ .blanks = CLIENT_LINE_MAX + 10, .text = "" }, 0,
	       -EFBIG);
}

TEST(test_an_error_of_reading_is_told)
{
	expect((struct source){ .text = "{}\n", .error = EIO }, 1, -EIO);
	expect((struct source){ .text = "{}\n{\"a\"", .error = EIO }, 1, -EIO);
}

/* A daemon that does not know a query says so when its answer is read. */
TEST(test_a_query_that_is_not_known_is_told_from_a_wrong_answer)
{
	struct source refused = { .text = "", .error = EINVAL },
		      wrong = { .text = "{\n" };
	struct lines c;

	assert_int_equal(client_answer(&c, open_source(&refused)), 0);
	assert_int_equal(client_next(&c), -EINVAL);
	lines_close(&c);
	assert_int_equal(client_answer(&c, open_source(&wrong)), 0);
	assert_int_equal(client_next(&c), -EBADMSG);
	lines_close(&c);
}

TEST(test_an_answer_has_an_end)
{
	struct source whole = { .text = "{}\n{\"end\":true}\n" },
		      cut = { .text = "{}\n" };
	struct lines c;

	assert_int_equal(client_answer(&c, open_source(&whole)), 0);
	assert_int_equal(client_next(&c), 1);
	assert_int_equal(client_next(&c), 0);
	assert_int_equal(client_next(&c), -EBADMSG);
	lines_close(&c);
	assert_int_equal(client_answer(&c, open_source(&cut)), 0);
	assert_int_equal(client_next(&c), 1);
	assert_int_equal(client_next(&c), -EBADMSG);
	lines_close(&c);
}
