/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include "tests/support/recipe.h"
#include "tests/unit/digest/ssdeep_texts.h"

/* ---- golden values ---- */

/* Scores not listed are 0. */
TEST(scores_of_all_pairs)
{
	static struct named named[200];
	size_t i, j, count = read_named(DIR "signatures.tsv", named, 200);
	struct tsv lines = tsv_open(DIR "allpairs.tsv");
	bool more = tsv_next(&lines);
	int want, positive = 0;

	for (i = 0; i < count; i++) {
		for (j = i + 1; j < count; j++) {
			want = 0;
			if (more && !strcmp(lines.fields[0], named[i].name) &&
			    !strcmp(lines.fields[1], named[j].name)) {
				want = (int)strtol(lines.fields[2], NULL, 10);
				more = tsv_next(&lines);
				positive++;
			}
			assert_int_equal(score_of(named[i].text, named[j].text),
					 want);
		}
	}
	assert_false(more);
	assert_int_equal(positive, 201);
	tsv_close(&lines);
}

TEST(scores_of_the_special_signatures)
{
	struct named named[10];
	size_t i = 0, j;
	struct tsv lines = tsv_open(DIR "special_scores.tsv");

	assert_int_equal(read_named(DIR "special_signatures.tsv", named, 10),
			 10);
	while (tsv_next(&lines)) {
		for (j = 0; j < 10; j++)
			assert_int_equal(score_of(named[i].text, named[j].text),
					 strtol(lines.fields[j + 1], NULL, 10));
		i++;
	}
	assert_int_equal(i, 10);
	tsv_close(&lines);
}

static const char *text_of(const struct named *named, size_t count,
			   const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(named[i].name, name) == 0)
			return named[i].text;
	fail_msg("no %s", name);
	return NULL;
}

TEST(scores_of_the_papers_texts)
{
	struct named named[8];
	size_t count = read_named(DIR "quijote_signatures.tsv", named, 8);
	struct tsv lines = tsv_open(DIR "table07.tsv");
	size_t cells = 0;

	while (tsv_next(&lines)) {
		assert_int_equal(
			score_of(text_of(named, count, lines.fields[0]),
				 text_of(named, count, lines.fields[1])),
			strtol(lines.fields[2], NULL, 10));
		cells++;
	}
	assert_int_equal(cells, 28);
	tsv_close(&lines);
}

/* ---- by the definition ---- */

TEST(scores_by_block_size)
{
	/* The same, but for what is cut. */
	assert_int_equal(score_of("3:AAAAB:C", "3:AAAAAAB:C"), 100);
	assert_int_equal(score_of("3::", "3::"), 100);
	assert_int_equal(score_of("96:ABCDEFGH:", "96:ABCDEFGH:I"), 100);
	/* Less than the best of both parts is never the result. */
	assert_int_equal(score_of("96:ABCDEFGH:abcdefghi", "96:xxx:abcdefghi"),
			 100);
	/* Twice and half, not more; odd block sizes have no half. */
	assert_int_equal(score_of("96:ABCDEFGH:", "48:x:ABCDEFGH"), 100);
	assert_int_equal(
		score_of("96:ABCDEFGH:ABCDEFGH", "24:ABCDEFGH:ABCDEFGH"), 0);
	assert_int_equal(score_of("99:ABCDEFGH:", "49:x:ABCDEFGH"), 0);
	/* Small block sizes cap the score at 7 characters' worth. */
	assert_int_equal(score_of("6:ABCDEFG:", "3:x:ABCDEFG"), 14);
	assert_int_equal(score_of("6:ABCDEF:", "3:x:ABCDEF"), 0);
	/* The double of the last block size does not overflow. */
	assert_int_equal(score_of("18446744073709551615:ABCDEFGHI:",
				  "18446744073709551615:ABCDEFGH:"),
			 96);
}
