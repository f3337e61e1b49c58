/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"

#include <math.h>

#include "core/digest/fingerprint.h"
#include "core/index/lost_places.h"
#include "core/index/scattered.h"
#include "core/index/score.h"
#include "core/index/weight.h"
#include "tests/support/recipe.h"

/* Single bytes changed all over a content, and what is something else. */

enum { LEN = 40000 };

static struct digests digest(struct bytes b)
{
	struct fingerprint *fp;
	struct digests d;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, b.data, b.len), 0);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	fingerprint_free(fp);
	return d;
}

static int score(struct bytes a, struct bytes b)
{
	struct digests x = digest(a), y = digest(b);
	int have, reverse;

	assert_int_equal(score_compare_contents(&x, &y, &have), 0);
	assert_int_equal(score_compare_contents(&y, &x, &reverse), 0);
	assert_int_equal(have, reverse);
	digests_release(&x);
	digests_release(&y);
	return have;
}

static struct bytes copy_of(struct bytes b)
{
	struct bytes copy = bytes_new(b.len);

	memcpy(copy.data, b.data, b.len);
	return copy;
}

/* Each byte with a probability of per_mille / 1000. */
static void change_bytes(struct bytes b, unsigned per_mille, uint64_t seed)
{
	struct draws d = draws_of(seed);
	size_t i;

	for (i = 0; i < b.len; i++)
		if (draw(&d) % 1000 < per_mille)
			b.data[i] ^= (uint8_t)(1 + draw(&d) % 255);
}

/* ---- scores ---- */

/* The share of 16-byte windows would be 44 and 26. */
static void test_changed_bytes_count_as_bytes(void **state)
{
	static const unsigned per_mille[] = { 50, 80 };
	struct bytes a, b;
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(per_mille) / sizeof(per_mille[0]); i++) {
		for (k = 0; k < 2; k++) {
			a = k ? recipe_text(i + 1, LEN) :
				recipe_random(i + 1, LEN);
			b = copy_of(a);
			change_bytes(b, per_mille[i], 7 + k);
			assert_in_range(score(a, b), 97 - per_mille[i] / 10,
					103 - per_mille[i] / 10);
			free(a.data);
			free(b.data);
		}
	}
}

/* As many windows are lost as in the test above. */
static void test_new_passages_do_not(void **state)
{
	struct bytes a = recipe_random(1, LEN), b = copy_of(a);
	struct bytes other = recipe_random(2, LEN);
	size_t at;

	(void)state;
	memcpy(b.data + 1000, other.data, LEN / 2);
	assert_in_range(score(a, b), 44, 56);
	memcpy(b.data, a.data, LEN);
	for (at = 0; at + 40 < LEN; at += 90)
		memcpy(b.data + at, other.data + at, 40);
	assert_in_range(score(a, b), 34, 46);
	free(a.data);
	free(b.data);
	free(other.data);
}

static void test_other_sizes_do_not(void **state)
{
	struct bytes a = recipe_random(1, LEN), b = copy_of(a);

	(void)state;
	change_bytes(b, 50, 3);
	b.len--;
	assert_in_range(score(a, b), 36, 52);
	free(a.data);
	free(b.data);
}

/* Few values that repeat, and new ones among them. */
static void make_records(struct bytes b, uint64_t seed)
{
	struct draws d = draws_of(seed);
	char line[64];
	size_t at, len;

	for (at = 0; at < b.len; at += len) {
		len = (size_t)snprintf(line, sizeof(line),
				       "{\"number\": %u, \"value\": %u},\n",
				       (unsigned)(draw(&d) % 100000000),
				       (unsigned)(draw(&d) % 1000));
		if (len > b.len - at)
			len = b.len - at;
		memcpy(b.data + at, line, len);
	}
}

static void test_unrelated_of_one_template_do_not(void **state)
{
	struct bytes a = bytes_new(LEN), b = bytes_new(LEN);

	(void)state;
	make_records(a, 1);
	make_records(b, 2);
	assert_in_range(score(a, b), 0, 30);
	free(a.data);
	free(b.data);
}

/* Half of the records are others. */
static void test_new_passages_of_repetitive_content_do_not(void **state)
{
	struct bytes a = bytes_new(LEN), b = bytes_new(LEN);

	(void)state;
	make_records(a, 1);
	make_records(b, 2);
	memcpy(b.data, a.data, LEN / 2);
	assert_in_range(score(a, b), 40, 66);
	free(a.data);
	free(b.data);
}

/* One of so many phrases after the other, by chance. */
static void make_phrases(struct bytes b, unsigned phrases, size_t len)
{
	struct bytes all = recipe_random(7, phrases * len);
	struct draws d = draws_of(8);
	size_t at;

	for (at = 0; at + len <= b.len; at += len)
		memcpy(b.data + at, all.data + draw(&d) % phrases * len, len);
	free(all.data);
}

/* Of the distinct windows of the edited content, hardly more of 8 bytes than of
 * 16 are left. */
static void test_edits_of_what_repeats_much_count_as_bytes(void **state)
{
	struct bytes a = bytes_new(LEN), b;

	(void)state;
	make_phrases(a, 100, 20);
	b = copy_of(a);
	change_bytes(b, 50, 3);
	assert_in_range(score(a, b), 92, 98);
	free(a.data);
	free(b.data);
}

/* Where a passage repeats, all that is changed is new, and little is left. */
static void test_edits_of_what_repeats_in_one_part_count_as_bytes(void **state)
{
	struct bytes a = recipe_random(1, LEN), b;
	size_t at;

	(void)state;
	for (at = 2000; at < LEN / 2; at += 2000)
		memcpy(a.data + at, a.data, 2000);
	b = copy_of(a);
	change_bytes(b, 50, 5);
	assert_in_range(score(a, b), 90, 98);
	free(a.data);
	free(b.data);
}

/* A short passage, again and again. */
static void test_new_repetitive_passages_do_not(void **state)
{
	struct bytes a = recipe_text(5, LEN), b = copy_of(a);
	struct bytes other = recipe_text(6, 1500);
	size_t at;

	(void)state;
	for (at = LEN * 2 / 5; at < LEN; at++)
		b.data[at] = other.data[at % other.len];
	assert_in_range(score(a, b), 30, 50);
	free(a.data);
	free(b.data);
	free(other.data);
}

static void test_without_a_short_sketch_windows_count(void **state)
{
	struct bytes a = recipe_random(1, LEN), b = copy_of(a);
	struct digests x, y;
	int have;

	(void)state;
	change_bytes(b, 50, 3);
	x = digest(a);
	y = digest(b);
	x.set &= ~DIGEST_BIT(DIGEST_SIF8);
	free(x.text[DIGEST_SIF8]);
	x.text[DIGEST_SIF8] = NULL;
	assert_int_equal(score_compare_contents(&x, &y, &have), 0);
	assert_in_range(have, 36, 52);
	digests_release(&x);
	digests_release(&y);
	free(a.data);
	free(b.data);
}

/* ---- places ---- */

struct measured {
	struct sif_sketch sketch;
	struct short_sketch short_sketch;
};

static struct scattered_content measured_of(struct bytes b,
					    struct measured *room)
{
	struct digests d = digest(b);
	const char *text = d.text[DIGEST_SIF];

	assert_int_equal(sif_parse(text, strlen(text), &room->sketch), 0);
	assert_true(digests_short_sketch(&d, &room->short_sketch));
	digests_release(&d);
	return (struct scattered_content){ .sketch = &room->sketch,
					   .short_sketch = &room->short_sketch,
					   .size = b.len };
}

static bool is_scattered(struct bytes a, struct bytes b)
{
	static struct measured room[2];
	struct scattered_content x = measured_of(a, &room[0]);
	struct scattered_content y = measured_of(b, &room[1]);
	struct scattered s, reverse;
	bool found = scattered_measure(&x, &y, &s);

	assert_int_equal(scattered_measure(&y, &x, &reverse), found);
	return found;
}

/* A tenth of the bytes of some part. */
static void test_edits_of_one_part_are_not_all_over(void **state)
{
	struct bytes a = recipe_random(1, LEN), b = copy_of(a);

	(void)state;
	change_bytes((struct bytes){ b.data + LEN / 2, LEN / 2 }, 100, 3);
	assert_false(is_scattered(a, b));
	assert_in_range(score(a, b), 50, 65);
	change_bytes((struct bytes){ b.data, LEN / 2 }, 100, 4);
	assert_true(is_scattered(a, b));
	assert_in_range(score(a, b), 85, 95);
	free(a.data);
	free(b.data);
}

/* a has more distinct windows, and share16 of all are left. */
static void assert_uneven(struct bytes a, struct bytes b, double share16)
{
	static struct measured room[2];
	const struct sif_sketch *larger = measured_of(a, &room[0]).sketch;
	const struct sif_sketch *other = measured_of(b, &room[1]).sketch;

	assert_true(larger->distinct > other->distinct);
	assert_false(lost_places_are_even(larger, other, share16));
}

/* A passage was replaced by more of another one: nothing that occurs once is
 * lost. */
static void test_what_is_repeated_once_more_is_not_all_over(void **state)
{
	enum { LARGE = 4 * LEN };
	struct bytes a = recipe_random(1, LARGE), b;
	size_t at;

	(void)state;
	for (at = 2000; at < LARGE / 2; at += 2000)
		memcpy(a.data + at, a.data, 2000);
	b = copy_of(a);
	for (; at < LARGE * 3 / 4; at += 2000)
		memcpy(b.data + at, a.data, 2000);
	assert_uneven(a, b, 0.75);
	free(a.data);
	free(b.data);
}

/* Twice as many edits in a quarter of a content: the windows that occur once are
 * uneven enough to tell. */
static void test_more_edits_in_one_part_are_not_all_over(void **state)
{
	struct bytes a = recipe_random(1, LEN), b;

	(void)state;
	memset(a.data + LEN * 3 / 5, 0, LEN / 5);
	b = copy_of(a);
	change_bytes(b, 12, 2);
	change_bytes((struct bytes){ b.data + LEN / 10, LEN / 4 }, 14, 4);
	assert_uneven(b, a, 0.76);
	free(a.data);
	free(b.data);
}

/* Less than two units have no places: only where much is left it counts. */
static void test_small_contents_have_no_places(void **state)
{
	struct bytes a = recipe_random(1, 4000), b = copy_of(a);

	(void)state;
	change_bytes((struct bytes){ b.data + 1000, 3000 }, 40, 3);
	assert_true(is_scattered(a, b));
	change_bytes(b, 90, 4);
	assert_false(is_scattered(a, b));
	free(a.data);
	free(b.data);
	a = recipe_random(1, 12000);
	b = copy_of(a);
	change_bytes(b, 90, 4);
	assert_true(is_scattered(a, b));
	free(a.data);
	free(b.data);
}

/* ---- judging ---- */

static double judge(const struct scattered *s)
{
	double left;

	return scattered_share(s, &left);
}

static double share_of(double share16, double share8, double error)
{
	return judge(&(struct scattered){ .share16 = share16,
					  .share8 = share8,
					  .error16 = error,
					  .error8 = error,
					  .edits = 1000 });
}

static void test_the_model(void **state)
{
	double p, share;
	int percent;

	(void)state;
	for (percent = 88; percent < 100; percent++) {
		p = percent / 100.0;
		share = share_of(pow(p, 16), pow(p, 8), 0.001);
		assert_true(fabs(share - p) < 0.001);
		/* Of nine tenths of the content. */
		share = share_of(0.9 * pow(p, 16), 0.9 * pow(p, 8), 0.0001);
		if (p > 0.9 && p < 0.96)
			assert_true(fabs(share - 0.9 * p) < 0.001);
		/* Edits of 40 bytes, as many windows. */
		share = share_of(pow(p, 16), pow(p, 16 * 47 / 55.0), 0.001);
		assert_true(share < 0);
	}
	/* The same shares prove nothing where they may be chance. */
	assert_true(share_of(0.44, 0.663, 0.01) > 0);
	assert_true(share_of(0.44, 0.663, 0.2) < 0);
}

static void test_what_proves_nothing(void **state)
{
	struct scattered s = { .share16 = 0.44, .share8 = 0.663, .edits = 3 };

	(void)state;
	assert_true(judge(&s) < 0);
	s.edits = 100;
	assert_true(judge(&s) > 0.9);
	assert_true(share_of(0, 0, 0.01) < 0);
	assert_true(share_of(0.05, 0.3, 0.01) < 0);
	assert_true(share_of(0.9, 1, 0.01) < 0);
	assert_true(share_of(0.9, 0.5, 0.01) < 0);
}

/* Where most distinct windows are lost, there is much to gain. */
static void test_little_to_gain_takes_more_evidence(void **state)
{
	struct scattered s = { .share16 = 0.73,
			       .share8 = 0.843,
			       .error16 = 0.042,
			       .error8 = 0.029,
			       .distinct16 = 0.73,
			       .edits = 50 };

	(void)state;
	assert_true(judge(&s) < 0);
	s.distinct16 = 0.36;
	assert_true(judge(&s) > 0.97);
}

static void test_the_least_share_of_candidates(void **state)
{
	(void)state;
	assert_true(scattered_least(60, 1000, 1000) < 0.1);
	assert_true(fabs(scattered_least(60, 1000, 1001) - 0.6) < 1e-9);
	assert_true(fabs(scattered_least(3, 1000, 1000) - 0.03) < 1e-9);
}

/* ---- searching ---- */

/* The sketches of contents 1 and 2; others have none. */
enum { MOST = 16 * WEIGHT_FULL };

struct pair_store {
	struct sif_sketch sketches[3];
	struct short_sketch short_sketches[3];
	struct sise_signature signatures[3];
	uint64_t size; /* of both */
	int short_err, sise_err;
	unsigned reads;
};

static int fetch(void *arg, uint32_t content, struct sif_sketch *out)
{
	struct pair_store *s = arg;

	if (content > 2)
		return -ENOENT;
	*out = s->sketches[content];
	return 0;
}

static int fetch_short(void *arg, uint32_t content, struct short_sketch *out)
{
	struct pair_store *s = arg;

	s->reads++;
	*out = s->short_sketches[content];
	return s->short_err;
}

static int fetch_sise(void *arg, uint32_t content, struct sise_signature *out)
{
	struct pair_store *s = arg;

	*out = s->signatures[content];
	return s->sise_err;
}

static void put(struct index *ix, struct pair_store *s, uint32_t id,
		struct bytes b)
{
	struct digests d = digest(b);
	const char *text = d.text[DIGEST_SIF];

	assert_int_equal(sif_parse(text, strlen(text), &s->sketches[id]), 0);
	assert_true(digests_short_sketch(&d, &s->short_sketches[id]));
	assert_int_equal(sise_parse(d.text[DIGEST_SISE],
				    strlen(d.text[DIGEST_SISE]),
				    &s->signatures[id]),
			 0);
	assert_int_equal(index_add(ix, id, &d, &s->sketches[id]), 0);
	s->size = d.size;
	digests_release(&d);
}

static int search(struct index *ix, struct pair_store *s, bool with_short,
		  struct index_match *match)
{
	const struct index_store store = { .sketch = fetch,
					   .arg = s,
					   .short_sketch = with_short ?
								   fetch_short :
								   NULL,
					   .sise = fetch_sise };
	static struct index_match matches[MOST];
	struct digests d = { .size = s->size };
	struct index_query q = { .digests = &d,
				 .sketch = &s->sketches[1],
				 .short_sketch = &s->short_sketches[1],
				 .self = 1,
				 .first_content = 1,
				 .least = 60,
				 .most = MOST };
	size_t count = 0;
	int err = index_search(ix, &q, &store, matches, &count);

	assert_in_range(count, 0, 1);
	*match = count ? matches[0] : (struct index_match){ 0 };
	return err;
}

static void test_a_search_finds_them(void **state)
{
	static struct pair_store s;
	struct bytes a = recipe_random(1, LEN), b = copy_of(a);
	struct index_match match;
	struct index *ix;

	(void)state;
	assert_int_equal(index_new(&ix), 0);
	change_bytes(b, 50, 3);
	put(ix, &s, 1, a);
	put(ix, &s, 2, b);
	assert_int_equal(search(ix, &s, true, &match), 0);
	assert_int_equal(match.content, 2);
	assert_in_range(match.score, 92, 98);
	assert_int_equal(s.reads, 1);
	assert_int_equal(search(ix, &s, false, &match), 0);
	assert_int_equal(match.content, 0);
	s.short_err = -ENOENT;
	assert_int_equal(search(ix, &s, true, &match), 0);
	assert_int_equal(match.content, 0);
	s.short_err = -EIO;
	assert_int_equal(search(ix, &s, true, &match), -EIO);
	index_free(ix);
	free(a.data);
	free(b.data);
}

/* Puts the phrases of a passage into the reverse order. */
static void reverse_phrases(struct bytes b, size_t begin, size_t end)
{
	enum { PHRASE = 12 };
	uint8_t phrase[PHRASE];

	for (; begin + PHRASE <= end - PHRASE; begin += PHRASE, end -= PHRASE) {
		memcpy(phrase, b.data + begin, PHRASE);
		memcpy(b.data + begin, b.data + end - PHRASE, PHRASE);
		memcpy(b.data + end - PHRASE, phrase, PHRASE);
	}
}

/* A passage is new, but has phrases in common with the old one.  The contents are
 * so small that they have no places. */
static void test_long_runs_of_pieces_tell_passages_from_bytes(void **state)
{
	enum { SMALL = 3000 };
	static struct pair_store s;
	struct bytes a = recipe_random(1, SMALL), b = copy_of(a);
	struct index_match match;
	struct index *ix;

	(void)state;
	assert_int_equal(index_new(&ix), 0);
	reverse_phrases(b, SMALL / 4, SMALL / 4 + SMALL / 2);
	put(ix, &s, 1, a);
	put(ix, &s, 2, b);
	s.sise_err = -ENOENT;
	assert_int_equal(search(ix, &s, true, &match), 0);
	assert_in_range(match.score, 90, 99);
	s.sise_err = 0;
	assert_int_equal(search(ix, &s, true, &match), 0);
	assert_int_equal(match.content, 0);
	assert_in_range(score(a, b), 45, 59);
	s.sise_err = -EIO;
	assert_int_equal(search(ix, &s, true, &match), -EIO);
	index_free(ix);
	free(a.data);
	free(b.data);
}

/* The score of a and b among so many contents that are like the base. */
static int score_among(size_t others, struct bytes base, struct bytes a,
		       struct bytes b)
{
	static struct pair_store s;
	struct digests d = digest(base);
	struct index_match match;
	struct sif_sketch sketch;
	struct index *ix;
	size_t i;

	assert_int_equal(index_new(&ix), 0);
	put(ix, &s, 1, a);
	put(ix, &s, 2, b);
	assert_int_equal(sif_parse(d.text[DIGEST_SIF],
				   strlen(d.text[DIGEST_SIF]), &sketch),
			 0);
	for (i = 0; i < others; i++)
		assert_int_equal(index_add(ix, 3 + (uint32_t)i, &d, &sketch),
				 0);
	assert_int_equal(search(ix, &s, true, &match), 0);
	index_free(ix);
	digests_release(&d);
	return match.score;
}

/* Whatever the threshold is, below which the share of the windows is. */
static void test_what_only_boilerplate_has_in_common_is_no_edit(void **state)
{
	struct bytes base = recipe_random(1, LEN);
	struct bytes a = copy_of(base), b = copy_of(base);

	(void)state;
	change_bytes(a, 25, 3);
	change_bytes(b, 25, 4);
	assert_in_range(score_among(WEIGHT_FULL / 2, base, a, b), 92, 98);
	assert_int_equal(score_among(4 * WEIGHT_FULL, base, a, b), 0);
	free(base.data);
	free(a.data);
	free(b.data);
}

/* Most of a content is boilerplate, and a part is its own. */
static void check_edits_of_boilerplate(size_t own)
{
	struct bytes a = recipe_random(1, LEN), b = copy_of(a);
	struct bytes base = { a.data, LEN - own };
	struct bytes other = recipe_random(2, own);

	change_bytes(b, 50, 3);
	assert_in_range(score_among(4 * WEIGHT_FULL, base, a, b), 92, 98);
	memcpy(b.data + base.len, other.data, own);
	assert_int_equal(score_among(4 * WEIGHT_FULL, base, a, b), 0);
	free(a.data);
	free(b.data);
	free(other.data);
}

static void test_edits_of_boilerplate_and_more_are_edits(void **state)
{
	(void)state;
	check_edits_of_boilerplate(LEN / 4);
	check_edits_of_boilerplate(LEN / 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changed_bytes_count_as_bytes),
		cmocka_unit_test(test_new_passages_do_not),
		cmocka_unit_test(test_other_sizes_do_not),
		cmocka_unit_test(test_unrelated_of_one_template_do_not),
		cmocka_unit_test(
			test_new_passages_of_repetitive_content_do_not),
		cmocka_unit_test(
			test_edits_of_what_repeats_much_count_as_bytes),
		cmocka_unit_test(
			test_edits_of_what_repeats_in_one_part_count_as_bytes),
		cmocka_unit_test(test_new_repetitive_passages_do_not),
		cmocka_unit_test(test_without_a_short_sketch_windows_count),
		cmocka_unit_test(test_edits_of_one_part_are_not_all_over),
		cmocka_unit_test(
			test_what_is_repeated_once_more_is_not_all_over),
		cmocka_unit_test(test_more_edits_in_one_part_are_not_all_over),
		cmocka_unit_test(test_small_contents_have_no_places),
		cmocka_unit_test(test_the_model),
		cmocka_unit_test(test_what_proves_nothing),
		cmocka_unit_test(test_little_to_gain_takes_more_evidence),
		cmocka_unit_test(test_the_least_share_of_candidates),
		cmocka_unit_test(test_a_search_finds_them),
		cmocka_unit_test(
			test_long_runs_of_pieces_tell_passages_from_bytes),
		cmocka_unit_test(
			test_what_only_boilerplate_has_in_common_is_no_edit),
		cmocka_unit_test(test_edits_of_boilerplate_and_more_are_edits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
