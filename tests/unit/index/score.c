/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/digest/fingerprint.h"
#include "core/index/column_scan.h"
#include "core/index/score.h"
#include "tests/support/recipe.h"

static struct digests digests_of(const struct buf *content)
{
	struct fingerprint *fp;
	struct digests d;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, content->data, content->len),
			 0);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	fingerprint_free(fp);
	return d;
}

static int score_of(const struct buf *a, const struct buf *b)
{
	struct digests x = digests_of(a), y = digests_of(b);
	int score, reverse;

	assert_int_equal(score_compare_contents(&x, &y, &score), 0);
	assert_int_equal(score_compare_contents(&y, &x, &reverse), 0);
	assert_int_equal(score, reverse);
	digests_release(&x);
	digests_release(&y);
	return score;
}

/* Lines that are different for every number. */
static void append_lines(struct buf *b, unsigned first, unsigned count)
{
	unsigned i, n;

	for (i = first; i < first + count; i++) {
		n = i * 2654435761u;
		assert_int_equal(
			buf_append_format(b, "%u item %x holds %u of %x\n", i,
					  n, n >> 7, ~n * 31),
			0);
	}
}

static void append_bytes(struct buf *b, int byte, size_t count)
{
	assert_int_equal(buf_reserve(b, count), 0);
	memset(b->data + b->len, byte, count);
	b->len += count;
}

static void assert_near(int have, int want, int tolerance)
{
	assert_in_range(have, want > tolerance ? want - tolerance : 0,
			want + tolerance);
}

static void test_identical_is_100_and_nothing_else(void **state)
{
	struct buf a = { 0 }, b = { 0 };

	(void)state;
	append_lines(&a, 0, 2000);
	append_lines(&b, 0, 2000);
	assert_int_equal(score_of(&a, &b), 100);
	b.data[b.len / 2] ^= 1;
	assert_in_range(score_of(&a, &b), 95, 99);
	buf_release(&a);
	buf_release(&b);
}

static void test_empty_resembles_nothing(void **state)
{
	struct digests a = { .set = DIGEST_DEFAULT }, b = a;
	int score = -1;

	(void)state;
	assert_int_equal(score_compare_contents(&a, &b, &score), 0);
	assert_int_equal(score, 0);
}

static void test_digests_without_identity_are_not_identical(void **state)
{
	struct digests a = { .set = DIGEST_BIT(DIGEST_SIMHASH),
			     .size = 4000,
			     .simhash = 0x123456789abcdef0u };
	struct digests b = a;
	int score;

	(void)state;
	assert_int_equal(score_compare_contents(&a, &b, &score), 0);
	assert_int_equal(score, 99);
}

/* lines, of which the last percentage is another's; the error of the score. */
static int replacement_error(unsigned lines, unsigned percent)
{
	unsigned kept = lines * (100 - percent) / 100;
	struct buf a = { 0 }, b = { 0 };
	int score;

	append_lines(&a, 10000, lines);
	append_lines(&b, 10000, kept);
	append_lines(&b, 50000, lines - kept);
	score = score_of(&a, &b);
	buf_release(&a);
	buf_release(&b);
	return abs(score - (int)(100 - percent));
}

static void test_score_is_the_shared_share(void **state)
{
	static const unsigned lines[] = { 40, 100, 300, 1000, 2000 };
	static const unsigned percents[] = { 2, 5, 10, 20, 30, 40 };
	int sum = 0, error;
	size_t i, k;

	(void)state;
	for (i = 0; i < 5; i++) {
		for (k = 0; k < 6; k++) {
			error = replacement_error(lines[i], percents[k]);
			assert_in_range(error, 0, 20);
			sum += error;
		}
	}
	print_message("mean error %d.%02d\n", sum / 30, sum % 30 * 100 / 30);
	assert_in_range(sum, 0, 5 * 30);
}

/* Of every ten lines one is another. */
static void test_scattered_changes_do_not_count_double(void **state)
{
	struct buf a = { 0 }, b = { 0 };
	unsigned i;

	(void)state;
	append_lines(&a, 10000, 1000);
	for (i = 10000; i < 11000; i += 10) {
		append_lines(&b, i, 9);
		append_lines(&b, 50000 + i, 1);
	}
	assert_in_range(score_of(&a, &b), 70, 95);
	buf_release(&a);
	buf_release(&b);
}

static void test_a_part_is_at_most_its_share(void **state)
{
	struct buf a = { 0 }, b = { 0 };
	unsigned percent;

	(void)state;
	append_lines(&a, 0, 3000);
	for (percent = 90; percent >= 30; percent -= 20) {
		buf_clear(&b);
		append_lines(&b, 0, 30 * percent);
		assert_in_range(score_of(&a, &b), percent - 12, percent + 1);
	}
	buf_release(&a);
	buf_release(&b);
}

static void append_random(struct buf *b, uint64_t seed, size_t count)
{
	struct bytes random = recipe_random(seed, count);

	assert_int_equal(buf_append(b, random.data, random.len), 0);
	free(random.data);
}

/* Gives a's sketch the number of windows that b's has: "sif3:16:NUMBER:...". */
static void take_number(struct digests *a, const struct digests *b)
{
	const char *own = a->text[DIGEST_SIF], *other = b->text[DIGEST_SIF];
	const char *end = strchr(strchr(strchr(other, ':') + 1, ':') + 1, ':');
	struct digests taken = { 0 };
	struct buf text = { 0 };

	own = strchr(strchr(strchr(own, ':') + 1, ':') + 1, ':');
	assert_int_equal(buf_append_format(&text, "%.*s%s", (int)(end - other),
					   other, own),
			 0);
	assert_int_equal(digest_parse(DIGEST_SIF, text.data, text.len, &taken),
			 0);
	free(a->text[DIGEST_SIF]);
	a->text[DIGEST_SIF] = taken.text[DIGEST_SIF];
	buf_release(&text);
}

static void assert_one_score(const struct digests *a, const struct digests *b)
{
	int score, reverse;

	assert_int_equal(score_compare_contents(a, b, &score), 0);
	assert_int_equal(score_compare_contents(b, a, &reverse), 0);
	assert_int_equal(score, reverse);
	assert_near(score, 60, 20);
	assert_int_equal(digest_compare(DIGEST_SIF, a, b, &score), 0);
	assert_int_equal(digest_compare(DIGEST_SIF, b, a, &reverse), 0);
	assert_int_equal(score, reverse);
}

/* Of two that are as large as each other not the same is known. */
static void test_equal_ones_have_one_score(void **state)
{
	struct buf a = { 0 }, b = { 0 };
	struct digests x, y;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 20; seed++) {
		buf_clear(&a);
		buf_clear(&b);
		append_random(&a, seed, 6000);
		append_random(&b, seed, 6000);
		append_random(&a, 100 + seed, 4000);
		append_random(&b, 200 + seed, 4000);
		x = digests_of(&a);
		y = digests_of(&b);
		take_number(&y, &x);
		assert_one_score(&x, &y);
		digests_release(&x);
		digests_release(&y);
	}
	buf_release(&a);
	buf_release(&b);
}

static void test_unrelated_is_not_similar(void **state)
{
	struct buf a = { 0 }, b = { 0 };

	(void)state;
	append_lines(&a, 0, 800);
	append_lines(&b, 70000, 800);
	assert_in_range(score_of(&a, &b), 0, 30);
	buf_release(&a);
	buf_release(&b);
}

/* 20 lines of licence before 50 lines of their own. */
static void test_a_shared_licence_counts_as_its_share(void **state)
{
	struct buf a = { 0 }, b = { 0 };

	(void)state;
	append_lines(&a, 0, 20);
	append_lines(&b, 0, 20);
	append_lines(&a, 1000, 50);
	append_lines(&b, 2000, 50);
	assert_in_range(score_of(&a, &b), 10, 45);
	buf_release(&a);
	buf_release(&b);
}

/* Windows that repeat one byte are no samples. */
static void test_padding_does_not_make_similar(void **state)
{
	struct buf a = { 0 }, b = { 0 };

	(void)state;
	append_bytes(&a, 0, 300000);
	append_bytes(&b, 0, 300000);
	append_lines(&a, 0, 1000);
	append_lines(&b, 9000, 1000);
	assert_in_range(score_of(&a, &b), 0, 40);
	buf_release(&a);
	buf_release(&b);
}

/* What repeats one byte is like none, however long; shorter than a window it is
 * estimated. */
static void test_one_byte_repeated_is_like_none(void **state)
{
	struct buf zeros = { 0 }, more = { 0 }, lines = { 0 }, padded = { 0 };

	(void)state;
	append_bytes(&zeros, 0, 20000);
	append_bytes(&more, 0, 30000);
	append_lines(&lines, 0, 1000);
	append_lines(&padded, 0, 1000);
	append_bytes(&padded, 0, 100000);
	assert_int_equal(score_of(&zeros, &more), 0);
	assert_int_equal(score_of(&zeros, &zeros), 100);
	assert_int_equal(score_of(&zeros, &lines), 0);
	assert_int_equal(score_of(&lines, &padded), 99);
	buf_clear(&zeros);
	buf_clear(&more);
	append_bytes(&zeros, 'a', 15);
	append_bytes(&more, 'a', 14);
	assert_in_range(score_of(&zeros, &more), 60, 99);
	append_bytes(&zeros, 'a', 1);
	assert_int_equal(score_of(&zeros, &more), 0);
	buf_release(&zeros);
	buf_release(&more);
	buf_release(&lines);
	buf_release(&padded);
}

static void test_malformed_sketches_are_an_error(void **state)
{
	static char good[] = "sif3:16:1:AAEAIBwA", bad[] = "nonsense";
	struct digests a = { .set = DIGEST_BIT(DIGEST_SIF),
			     .size = 10,
			     .text[DIGEST_SIF] = good };
	struct digests b = a;
	int score;

	(void)state;
	b.text[DIGEST_SIF] = bad;
	assert_int_equal(score_compare_contents(&a, &b, &score), -EINVAL);
}

static void test_estimate_of_theory(void **state)
{
	(void)state;
	assert_int_equal(score_estimate(1000, 1000, 0, -1), 99);
	assert_near(score_estimate(1000, 1000, 8, -1), 92, 1);
	assert_near(score_estimate(1000, 1000, 16, -1), 71, 1);
	assert_int_equal(score_estimate(1000, 1000, 30, -1), 0);
	assert_int_equal(score_estimate(1000, 500, 0, -1), 50);
	assert_int_equal(score_estimate(1000, 0, 0, -1), 0);
	/* half the chunks of the union: two thirds of either side */
	assert_near(score_estimate(100000, 100000, 64, 8), 66, 2);
	/* of a file of one chunk that is no evidence */
	assert_in_range(score_estimate(2000, 2000, 64, 8), 0, 15);
	assert_int_equal(score_estimate(100000, 100000, 64, 0), 0);
}

static void test_ceiling_is_above_every_estimate(void **state)
{
	static const uint64_t sizes[] = { 1, 700, 3000, 20000, 1u << 20 };
	int distance, traits, below;
	size_t i, k;

	(void)state;
	for (distance = 0; distance <= 64; distance++)
		for (traits = 0; traits <= 16; traits++)
			for (below = -1; below <= traits; below++)
				for (i = 0; i < 5; i++)
					for (k = 0; k < 5; k++)
						assert_true(
							score_estimate(sizes[i],
								       sizes[k],
								       distance,
								       below) <=
							score_ceiling(distance,
								      traits));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identical_is_100_and_nothing_else),
		cmocka_unit_test(test_empty_resembles_nothing),
		cmocka_unit_test(
			test_digests_without_identity_are_not_identical),
		cmocka_unit_test(test_score_is_the_shared_share),
		cmocka_unit_test(test_scattered_changes_do_not_count_double),
		cmocka_unit_test(test_a_part_is_at_most_its_share),
		cmocka_unit_test(test_equal_ones_have_one_score),
		cmocka_unit_test(test_unrelated_is_not_similar),
		cmocka_unit_test(test_a_shared_licence_counts_as_its_share),
		cmocka_unit_test(test_padding_does_not_make_similar),
		cmocka_unit_test(test_one_byte_repeated_is_like_none),
		cmocka_unit_test(test_malformed_sketches_are_an_error),
		cmocka_unit_test(test_estimate_of_theory),
		cmocka_unit_test(test_ceiling_is_above_every_estimate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
