/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"

#include <math.h>

#include "core/base/buf.h"
#include "core/digest/fingerprint.h"
#include "core/index/judge_rules.h"
#include "core/index/licences.h"
#include "tests/support/digest_values.h"
#include "tests/support/recipe.h"

/* The verdict of two contents: by their bytes, and by sketches of made-up
 * values. */

static const struct judge_rules alike = { INDEX_ALIKE, 1, 0, false };

/* ---- by bytes ---- */

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

static struct verdict judge_contents(const struct buf *a, const struct buf *b,
				     const struct judge_rules *rules)
{
	struct digests x = digests_of(a), y = digests_of(b);
	struct verdict v;

	assert_int_equal(judge_digests(&x, &y, rules, &v), 0);
	digests_release(&x);
	digests_release(&y);
	return v;
}

static int score_of(const struct buf *a, const struct buf *b)
{
	struct verdict v = judge_contents(a, b, &alike);
	struct verdict reverse = judge_contents(b, a, &alike);

	assert_same_verdict(&v, &reverse);
	assert_int_equal(v.distinctive, v.score);
	assert_int_equal(v.reason, v.score ? VERDICT_LISTED : VERDICT_BELOW);
	return v.score;
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

static void append_random(struct buf *b, uint64_t seed, size_t count)
{
	struct bytes random = recipe_random(seed, count);

	assert_int_equal(buf_append(b, random.data, random.len), 0);
	free(random.data);
}

TEST(test_identical_is_100_and_nothing_else)
{
	struct buf a = { 0 }, b = { 0 };

	append_lines(&a, 0, 2000);
	append_lines(&b, 0, 2000);
	assert_int_equal(score_of(&a, &b), 100);
	assert_int_equal(judge_contents(&a, &b, &alike).bytes, a.len);
	b.data[b.len / 2] ^= 1;
	assert_in_range(score_of(&a, &b), 95, 99);
	buf_release(&a);
	buf_release(&b);
}

TEST(test_empty_resembles_nothing)
{
	struct digests a = { .set = DIGEST_DEFAULT }, b = a;
	struct verdict v;

	assert_int_equal(judge_digests(&a, &b, &alike, &v), 0);
	assert_int_equal(v.score, 0);
	assert_int_equal(v.reason, VERDICT_BELOW);
}

/* SimHash and traits do not say what is alike. */
TEST(test_without_a_sketch_there_is_no_verdict)
{
	struct digests a = simhash_digests(4000, 0x123456789abcdef0u);
	struct digests b = a;
	struct verdict v;

	assert_int_equal(judge_digests(&a, &b, &alike, &v), -ENODATA);
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

TEST(test_score_is_the_shared_share)
{
	static const unsigned lines[] = { 40, 100, 300, 1000, 2000 };
	static const unsigned percents[] = { 2, 5, 10, 20, 30, 40 };
	int sum = 0, error;
	size_t i, k;

	for (i = 0; i < 5; i++) {
		for (k = 0; k < 6; k++) {
			error = replacement_error(lines[i], percents[k]);
			assert_in_range(error, 0, 10);
			sum += error;
		}
	}
	print_message("mean error %d.%02d\n", sum / 30, sum % 30 * 100 / 30);
	assert_in_range(sum, 0, 3 * 30);
}

/* Windows that repeat one byte are no samples. */
TEST(test_padding_does_not_make_similar)
{
	struct buf a = { 0 }, b = { 0 };

	append_bytes(&a, 'x', 300000);
	append_bytes(&b, 'x', 300000);
	append_lines(&a, 0, 1000);
	append_lines(&b, 9000, 1000);
	assert_in_range(score_of(&a, &b), 0, 40);
	buf_release(&a);
	buf_release(&b);
}

/* Also shorter than a window. */
TEST(test_one_byte_repeated_is_like_none)
{
	struct buf runs = { 0 }, more = { 0 }, lines = { 0 }, padded = { 0 };

	append_bytes(&runs, 'x', 20000);
	append_bytes(&more, 'x', 30000);
	append_lines(&lines, 0, 1000);
	append_lines(&padded, 0, 1000);
	append_bytes(&padded, 'x', 100000);
	assert_int_equal(score_of(&runs, &more), 0);
	assert_int_equal(score_of(&runs, &runs), 100);
	assert_int_equal(score_of(&runs, &lines), 0);
	assert_int_equal(score_of(&lines, &padded), 99);
	buf_clear(&runs);
	buf_clear(&more);
	append_bytes(&runs, 'x', 15);
	append_bytes(&more, 'x', 14);
	assert_int_equal(score_of(&runs, &more), 0);
	buf_release(&runs);
	buf_release(&more);
	buf_release(&lines);
	buf_release(&padded);
}

/* The part has more bytes, most of them blanks. */
TEST(test_within_goes_by_folded_windows_not_by_sizes)
{
	const struct judge_rules within = { INDEX_WITHIN, 60, 0, false };
	const struct judge_rules contains = { INDEX_CONTAINS, 60, 0, false };
	struct buf part = { 0 }, whole = { 0 };

	append_lines(&part, 0, 300);
	append_bytes(&part, ' ', 100000);
	append_lines(&whole, 0, 1000);
	assert_true(part.len > whole.len);
	assert_int_equal(judge_contents(&part, &whole, &within).score, 99);
	assert_int_equal(judge_contents(&part, &whole, &within).reason,
			 VERDICT_LISTED);
	assert_int_equal(judge_contents(&whole, &part, &within).score, 0);
	assert_int_equal(judge_contents(&whole, &part, &within).reason,
			 VERDICT_BELOW);
	assert_int_equal(judge_contents(&whole, &part, &contains).score, 99);
	assert_int_equal(judge_contents(&part, &whole, &contains).score, 0);
	buf_release(&part);
	buf_release(&whole);
}

/* Records that come again and again between others, against the copy with one
 * more line: the windows that occur once tell the passage, and those that repeat
 * are of it, too. */
TEST(test_passages_count_windows_that_repeat)
{
	const struct judge_rules shares = { INDEX_SHARES, 0, 16 << 10, false };
	struct buf a = { 0 }, b = { 0 };
	struct verdict v;
	unsigned i;

	for (i = 0; i < 20; i++) {
		append_lines(&a, 0, 100);
		append_lines(&a, 1000 + 50 * i, 50);
	}
	assert_int_equal(buf_append(&b, a.data, a.len), 0);
	append_lines(&b, 5000, 1);
	v = judge_contents(&a, &b, &shares);
	assert_int_equal(v.reason, VERDICT_LISTED);
	assert_in_range(v.score, 95, 99);
	assert_in_range(v.bytes, a.len * 7 / 10, a.len);
	buf_release(&a);
	buf_release(&b);
}

/* Below a line mark each, as a source and a script have it. */
static void append_licence(struct buf *b, const char *mark)
{
	static const char *const lines[] = {
		"Licensed under the Apache License, Version 2.0 (the \"License\");",
		"you may not use this file except in compliance with the License.",
		"You may obtain a copy of the License at",
		"",
		"    http://www.apache.org/licenses/LICENSE-2.0",
		"",
		"Unless required by applicable law or agreed to in writing,",
		"software distributed under the License is distributed on an",
		"\"AS IS\" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND,",
		"either express or implied. See the License for the specific",
		"language governing permissions and limitations under the",
		"License.",
	};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_int_equal(buf_append_format(b, "%s%s\n", mark, lines[i]),
				 0);
}

TEST(test_two_files_of_one_licence_are_not_alike)
{
	static const struct judge_rules rules = { INDEX_ALIKE, 60, 0, false };
	static struct sketch sketch;
	struct buf source = { 0 }, script = { 0 }, version = { 0 };
	struct digests d;
	const char *name;

	append_licence(&source, " * ");
	append_lines(&source, 0, 5);
	append_licence(&script, "# ");
	append_lines(&script, 5000, 5);
	append_licence(&version, " * ");
	append_lines(&version, 0, 4);
	assert_int_equal(judge_contents(&source, &script, &rules).reason,
			 VERDICT_BOILERPLATE);
	assert_int_equal(judge_contents(&source, &version, &rules).reason,
			 VERDICT_LISTED);
	d = digests_of(&source);
	assert_int_equal(digests_sketch(&d, &sketch), 0);
	assert_in_range(licence_percentage(&sketch, &name), 60, 85);
	assert_string_equal(name, "Apache-2.0");
	digests_release(&d);
	buf_clear(&script);
	append_lines(&script, 0, 200);
	d = digests_of(&script);
	assert_int_equal(digests_sketch(&d, &sketch), 0);
	assert_int_equal(licence_percentage(&sketch, &name), 0);
	assert_null(name);
	digests_release(&d);
	buf_release(&source);
	buf_release(&script);
	buf_release(&version);
}

TEST(test_malformed_sketches_are_an_error)
{
	static const uint8_t bad[] = "nonsense";
	struct buf content = { 0 };
	struct digests a, b = { .size = 10 };
	struct verdict v;

	append_lines(&content, 0, 10);
	a = digests_of(&content);
	assert_int_equal(digest_put(&b, DIGEST_SIF,
				    (struct digest_value){ bad, sizeof(bad) }),
			 0);
	assert_int_equal(judge_digests(&a, &b, &alike, &v), -EINVAL);
	digests_release(&a);
	digests_release(&b);
	buf_release(&content);
}

/* ---- by sketches ---- */

/* Values below the bound are in very many contents. */
static uint32_t common_below(void *arg, uint64_t value)
{
	const uint64_t *bound = arg;

	return value < *bound ? 10000 : 1;
}

/* common: values below it count as boilerplate. */
static struct verdict judge_sketches(const struct sketch *a,
				     const struct sketch *b,
				     const struct judge_rules *rules,
				     uint64_t common)
{
	static struct weighed_subject weighed;
	const struct weigher w = { .contents = common_below, .arg = &common };
	const struct subject first = subject_of_bytes(a);
	const struct subject second = subject_of_bytes(b);
	struct verdict v;

	weigh_subject(&w, &first, &weighed);
	judge_subjects(&w, &weighed, &second, rules, &v);
	return v;
}

/* So many values from first on, evenly spread below 2^48 - step. */
static void spread_values(size_t first, size_t count, struct sketch *out)
{
	size_t i;

	*out = (struct sketch){ 0 };
	for (i = 0; i < count; i++)
		out->values[out->count++] = (first + i) << 37;
	(void)sketch_finish(out);
}

/* Least m for n = 1, 2, ... of the rule; 0: there is none. */
TEST(test_least_evidence_is_the_table)
{
	static const size_t least[] = { 0, 0, 3, 4, 5,  5,  6,  7,
					7, 8, 8, 9, 10, 10, 11, 11 };
	size_t n, m, found;

	for (n = 1; n <= 16; n++) {
		found = 0;
		for (m = n; m > 0 && judge_lower_bound(m, n) >= 0.5; m--)
			found = m;
		assert_int_equal(found, least[n - 1]);
	}
	assert_int_equal(lround(100 * judge_lower_bound(3, 3)), 60);
	assert_int_equal(lround(100 * judge_lower_bound(13, 13)), 87);
	assert_true(judge_lower_bound(0, 0) == 0);
}

/* A part whose values are all in the whole, but at its level so few. */
static void make_part(size_t values, unsigned level, struct sketch *part,
		      struct sketch *whole)
{
	spread_values(1, values, part);
	spread_values(1, 1000, whole);
	whole->windows <<= level;
	whole->folded = whole->windows + SKETCH_WINDOW - 1;
	sketch_raise(whole, level);
	assert_true(sketch_count_at_level(part, level) == part->count);
}

/* The limit is 60: three of three say 59.8 %, four of four 66 %. */
TEST(test_few_values_of_a_part_are_no_evidence)
{
	const struct judge_rules within = { INDEX_WITHIN, 60, 0, false };
	const struct judge_rules contains = { INDEX_CONTAINS, 60, 0, false };
	static struct sketch part, whole;
	struct verdict v;
	size_t n;

	for (n = 1; n <= 5; n++) {
		make_part(n, 2, &part, &whole);
		v = judge_sketches(&part, &whole, &within, 0);
		assert_int_equal(v.score, 99);
		assert_int_equal(v.reason,
				 n < 4 ? VERDICT_UNCERTAIN : VERDICT_LISTED);
		assert_int_equal(judge_lists(&within, &v), n >= 4);
		v = judge_sketches(&whole, &part, &contains, 0);
		assert_int_equal(v.score, 99);
		assert_int_equal(v.reason,
				 n < 4 ? VERDICT_UNCERTAIN : VERDICT_LISTED);
		/* Nothing is left to chance where all windows are known. */
		make_part(n, 0, &part, &whole);
		v = judge_sketches(&part, &whole, &within, 0);
		assert_int_equal(v.reason, VERDICT_LISTED);
	}
}

/* Of the part a third is in very many contents, and at the level of the whole
 * nothing else of it can be seen. */
TEST(test_common_values_of_a_part_say_nothing_of_its_others)
{
	const struct judge_rules rules = { INDEX_WITHIN, 60, 0, false };
	const struct judge_rules contains = { INDEX_CONTAINS, 60, 0, false };
	static struct sketch part, whole;

	spread_values(12, 60, &part);
	spread_values(1, 100, &whole);
	part.windows = part.folded = 20 << 6;
	sketch_raise(&whole, 6); /* 31, with 20 of the part */
	whole.windows = whole.folded = 31 << 6;
	assert_int_equal(judge_sketches(&part, &whole, &rules, 0).reason,
			 VERDICT_LISTED);
	assert_int_equal(
		judge_sketches(&part, &whole, &rules, sketch_bound(6)).reason,
		VERDICT_UNCERTAIN);
	assert_int_equal(
		judge_sketches(&whole, &part, &contains, sketch_bound(6))
			.reason,
		VERDICT_UNCERTAIN);
	/* Of a part that is all common they are what there is to see. */
	assert_int_equal(
		judge_sketches(&part, &whole, &rules, sketch_bound(0)).reason,
		VERDICT_LISTED);
}

/* The common values of both, then the own ones of each. */
static struct verdict judge_form(size_t common, size_t own)
{
	static struct sketch a, b;
	const struct judge_rules rules = { INDEX_ALIKE, 20, 0, false };
	size_t i;

	spread_values(1, common, &a);
	spread_values(1, common, &b);
	for (i = 0; i < own; i++) {
		sketch_add(&a, (common + 1 + 2 * i) << 37);
		sketch_add(&b, (common + 2 + 2 * i) << 37);
	}
	return judge_sketches(&a, &b, &rules, (common + 1) << 37);
}

TEST(test_from_a_sure_score_on_nothing_is_boilerplate)
{
	const struct judge_rules all = { INDEX_ALL, 20, 0, false };
	struct verdict v;
	int percent, sure = 0;

	for (percent = 20; percent <= 99; percent++) {
		v = judge_form(2 * (size_t)percent, 200 - 2 * (size_t)percent);
		assert_int_equal(v.score, percent);
		assert_int_equal(v.reason, percent < JUDGE_SURE ?
						   VERDICT_BOILERPLATE :
						   VERDICT_LISTED);
		assert_true(judge_lists(&all, &v));
		sure += v.reason == VERDICT_LISTED;
		if (v.reason == VERDICT_LISTED)
			assert_int_equal(v.distinctive, v.score);
		else
			assert_true(v.distinctive < JUDGE_OF_FAMILY);
	}
	assert_int_equal(sure, 100 - JUDGE_SURE);
}

TEST(test_below_the_threshold_nothing_else_is_asked)
{
	const struct judge_rules rules = { INDEX_ALIKE, 51, 0, false };
	static struct sketch a, b;
	struct verdict v;

	spread_values(1, 100, &a);
	spread_values(51, 100, &b);
	v = judge_sketches(&a, &b, &rules, UINT64_MAX);
	assert_int_equal(v.score, 50);
	assert_int_equal(v.distinctive, 50);
	assert_int_equal(v.bytes, 50);
	assert_int_equal(v.reason, VERDICT_BELOW);
	assert_false(judge_lists(&rules, &v));
}

/* Of random contents of any sizes, which share much and have common values. */
TEST(test_the_verdict_is_that_of_the_pair_reversed)
{
	static struct sketch a, b;
	struct random r = { 3 };
	struct verdict v, reverse;
	unsigned listed = 0, i;
	struct buf x = { 0 }, y = { 0 };

	for (i = 0; i < 300; i++) {
		const struct judge_rules rules = { i % 2 ? INDEX_ALIKE :
							   INDEX_ALL,
						   (int)random_below(&r, 101),
						   0, false };
		uint64_t common = random_below(&r, sketch_bound(4));
		size_t len = 100 + random_below(&r, 60000);

		buf_clear(&x);
		append_random(&x, i, len);
		buf_clear(&y);
		append_random(&y, i, 1 + random_below(&r, len));
		append_random(&y, 1000 + i, random_below(&r, len));
		sketch_text(x.data, x.len, &a);
		sketch_text(y.data, y.len, &b);
		/* As large, though less is known of one. */
		if (i % 5 == 0)
			b.windows = a.windows;
		v = judge_sketches(&a, &b, &rules, common);
		reverse = judge_sketches(&b, &a, &rules, common);
		assert_same_verdict(&v, &reverse);
		listed += v.reason == VERDICT_LISTED;
	}
	assert_in_range(listed, 30, 270);
	buf_release(&x);
	buf_release(&y);
}

TEST(test_without_windows_there_is_nothing_in_common)
{
	static struct sketch a, none;
	const struct judge_rules rules = { INDEX_ALIKE, 0, 0, false };
	struct verdict v;

	spread_values(1, 40, &a);
	v = judge_sketches(&a, &none, &rules, 0);
	assert_int_equal(v.score, 0);
	assert_int_equal(v.bytes, 0);
	v = judge_sketches(&none, &none, &rules, 0);
	assert_int_equal(v.score, 0);
}
