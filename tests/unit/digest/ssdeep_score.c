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

/* ---- scores against the definition ---- */

static void model_cut_runs(char *text)
{
	size_t i, kept = 0, len = strlen(text);

	for (i = 0; i < len; i++)
		if (kept < 3 || text[i] != text[kept - 1] ||
		    text[i] != text[kept - 2] || text[i] != text[kept - 3])
			text[kept++] = text[i];
	text[kept] = '\0';
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	a = a < b ? a : b;
	return a < c ? a : c;
}

static unsigned model_distance(const char *a, const char *b)
{
	unsigned rows[2][80];
	unsigned i, j, *now, *before;

	for (j = 0; j <= strlen(b); j++)
		rows[0][j] = j;
	for (i = 1; i <= strlen(a); i++) {
		now = rows[i % 2];
		before = rows[(i + 1) % 2];
		now[0] = i;
		for (j = 1; j <= strlen(b); j++)
			now[j] = min3(now[j - 1] + 1, before[j] + 1,
				      before[j - 1] +
					      (a[i - 1] == b[j - 1] ? 0 : 2));
	}
	return rows[strlen(a) % 2][strlen(b)];
}

static bool model_common_substring(const char *a, const char *b)
{
	size_t i, j;

	for (i = 0; i + 7 <= strlen(a); i++)
		for (j = 0; j + 7 <= strlen(b); j++)
			if (memcmp(a + i, b + j, 7) == 0)
				return true;
	return false;
}

static unsigned model_score(const char *a, const char *b, unsigned block_size)
{
	unsigned score, cap;
	size_t len = strlen(a) + strlen(b);

	if (!model_common_substring(a, b))
		return 0;
	score = model_distance(a, b) * 64 / (unsigned)len;
	score = 100 - 100 * score / 64;
	cap = block_size / 3 *
	      (unsigned)(strlen(a) < strlen(b) ? strlen(a) : strlen(b));
	return score < cap ? score : cap;
}

/* A part of few symbols, with runs. */
static void make_part(struct draws *d, char *out)
{
	unsigned i, symbols = 1 + (unsigned)(draw(d) % 64),
		    len = (unsigned)(draw(d) % 65);

	for (i = 0; i < len; i++) {
		out[i] = alphabet[draw(d) % symbols];
		if (i > 0 && draw(d) % 4 == 0)
			out[i] = out[i - 1];
	}
	out[len] = '\0';
}

/* The part with some characters gone, changed or doubled. */
static void vary_part(struct draws *d, const char *from, char *out)
{
	unsigned kept = 0, rate = 1 + (unsigned)(draw(d) % 30);

	for (; *from && kept < 63; from++) {
		out[kept++] = *from;
		if (draw(d) % 100 >= rate)
			continue;
		switch (draw(d) % 3) {
		case 0:
			kept--;
			break;
		case 1:
			out[kept - 1] = alphabet[draw(d) % 64];
			break;
		default:
			out[kept++] = *from;
		}
	}
	out[kept] = '\0';
}

/* Two parts whose block sizes make them the only ones to be compared. */
TEST(random_parts_score_what_the_model_says)
{
	struct draws d = draws_of(4711);
	char a[65], b[65], left[TEXT_SIZE], right[TEXT_SIZE];
	unsigned i, block_size, want, positive = 0;

	for (i = 0; i < 20000; i++) {
		make_part(&d, a);
		vary_part(&d, a, b);
		block_size = 6u << draw(&d) % 6;
		(void)snprintf(left, sizeof(left), "%u:%s:", block_size, a);
		(void)snprintf(right, sizeof(right), "%u::%s", block_size / 2,
			       b);
		model_cut_runs(a);
		model_cut_runs(b);
		want = model_score(a, b, block_size);
		if (score_of(left, right) != (int)want)
			fail_msg("%s and %s: want %u, have %d", left, right,
				 want, score_of(left, right));
		positive += want > 0;
	}
	assert_true(positive > 5000);
}

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
