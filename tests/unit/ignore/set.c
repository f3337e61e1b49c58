/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/ignore/ignore.h"

#define A "00000000000000000000000000000001:5"
#define B "00000000000000000000000000000002:18446744073709551615"

static struct ignore_set parse(const char *text)
{
	struct ignore_set set;

	assert_int_equal(ignore_set_parse(text, strlen(text), &set), 0);
	return set;
}

static size_t count_of(const struct ignore_set *set)
{
	struct ignore_line line = { 0 };
	size_t count = 0;

	while (ignore_next_line(&set->text, &line))
		if (line.is_pair) {
			assert_true(ignore_set_has(set, &line.pair.b,
						   &line.pair.a));
			count++;
		}
	return count;
}

TEST(test_pairs_are_read)
{
	struct ignore_set set = parse("# remark\n\n" B " " A "\n" A "\t" B
				      " # x\n" A " " A "\r\n" B " " B);

	assert_int_equal(count_of(&set), 4);
	assert_int_equal(set.damaged, 0);
	ignore_set_release(&set);
}

TEST(test_damaged_lines_are_kept)
{
	static const char *const lines[] = {
		"x",
		A,
		A " ",
		A B,
		A " " B "0",
		A " " B " x",
		" " A " " B,
		"0" A " " B,
		A " 0000000000000000000000000000000G:1",
		A " 00000000000000000000000000000001:",
		A " 00000000000000000000000000000001:-1",
	};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct ignore_set set = parse(lines[i]);
		struct buf out = { 0 };

		assert_null(set.pairs);
		assert_int_equal(set.damaged, 1);
		assert_int_equal(ignore_set_format(&set, &out), 0);
		assert_int_equal(out.len, strlen(lines[i]) + 1);
		assert_memory_equal(out.data, lines[i], out.len - 1);
		buf_release(&out);
		ignore_set_release(&set);
	}
}

enum { CONTENTS = 9, STEPS = 20000 };

/* A random program against a table. */
TEST(test_as_a_table)
{
	struct ignore_content c[CONTENTS] = { 0 };
	bool model[CONTENTS][CONTENTS] = { 0 };
	struct ignore_set set = { 0 };
	size_t i, step, x, y;
	unsigned seed = 1;

	for (i = 0; i < CONTENTS; i++) {
		c[i].xxh128[15] = (uint8_t)(i / 2);
		c[i].size = i;
	}
	for (step = 0; step < STEPS; step++) {
		struct buf out = { 0 };

		x = (size_t)rand_r(&seed) % CONTENTS;
		y = (size_t)rand_r(&seed) % CONTENTS;
		assert_int_equal(ignore_set_has(&set, &c[x], &c[y]),
				 model[x][y]);
		if (rand_r(&seed) % 2)
			assert_int_equal(
				ignore_set_add(&set, &c[x], &c[y], "r"),
				!model[x][y]);
		else
			assert_int_equal(ignore_set_remove(&set, &c[x], &c[y]),
					 model[x][y]);
		model[x][y] = model[y][x] = ignore_set_has(&set, &c[x], &c[y]);
		if (step % 100)
			continue;
		assert_int_equal(ignore_set_format(&set, &out), 0);
		ignore_set_release(&set);
		assert_int_equal(ignore_set_parse(out.data, out.len, &set), 0);
		buf_release(&out);
	}
	ignore_set_release(&set);
}
