/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>

#include "core/digest/short_sketch.h"
#include "tests/support/recipe.h"
#include "tests/support/simhash_model.h"

/* The sample of windows of 8 bytes beside SimHash. */

static struct simhash simhash;

static void sketch_of(struct bytes b, struct short_sketch *out)
{
	simhash_init(&simhash);
	simhash_update(&simhash, b.data, b.len);
	(void)simhash_final(&simhash);
	short_sketch_read(&simhash, out);
}

/* ---- against the definition ---- */

static bool is_run(struct bytes b, uint64_t key)
{
	size_t i;

	for (i = 0; i + 8 <= b.len; i++)
		if (XXH3_64bits_withSeed(b.data + i, 8, 1) == key)
			return !memcmp(b.data + i, b.data + i + 1, 7);
	return false;
}

static void compare_with_model(struct bytes b)
{
	struct simhash_model_window *windows;
	size_t all = simhash_model_windows(b, &windows), kept = 0, i;
	size_t n = all < SHORT_SKETCH_VALUES ? all : SHORT_SKETCH_VALUES;
	struct short_sketch have;
	double slot;

	sketch_of(b, &have);
	for (i = 0; i < n; i++)
		if (!is_run(b, windows[i].key))
			windows[kept++] = windows[i];
	assert_int_equal(have.count, kept);
	if (all < SHORT_SKETCH_VALUES)
		assert_int_equal(have.distinct, kept);
	else
		assert_true(have.distinct > kept);
	slot = exp2(58 - floor(log2((double)(have.distinct + !kept))));
	for (i = 0; i < kept; i++)
		assert_int_equal(have.slots[i],
				 (uint32_t)((double)windows[i].key / slot));
	free(windows);
}

static void test_the_definition(void **state)
{
	static const size_t lengths[] = { 0,   1,    7,    8,     9,
					  15,  100,  262,  263,   264,
					  300, 1000, 5000, 40000, 100000 };
	struct bytes b;
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (k = 0; k < 3; k++) {
			b = k == 0 ? recipe_random(i + 1, lengths[i]) :
			    k == 1 ? recipe_text(i + 1, lengths[i]) :
				     bytes_new(lengths[i]);
			if (k == 2) /* two bytes, in long runs */
				memset(b.data, 'a', b.len / 2);
			compare_with_model(b);
			free(b.data);
		}
	}
}

static void test_the_number_of_windows(void **state)
{
	struct bytes b = recipe_random(3, 200000);
	struct short_sketch sketch;

	(void)state;
	sketch_of(b, &sketch);
	assert_in_range(sketch.distinct, 160000, 240000);
	free(b.data);
}

/* ---- records and texts ---- */

static void check_record(const struct short_sketch *sketch)
{
	uint8_t bytes[SHORT_SKETCH_BYTES], packed[SHORT_SKETCH_BYTES];
	size_t len = short_sketch_store(sketch, bytes);
	struct short_sketch have;
	struct buf text = { 0 }, again = { 0 };

	assert_true(len <= SHORT_SKETCH_BYTES);
	assert_true(short_sketch_load(bytes, len, &have));
	assert_true(have.distinct == sketch->distinct);
	assert_int_equal(have.count, sketch->count);
	assert_memory_equal(have.slots, sketch->slots,
			    have.count * sizeof(have.slots[0]));
	assert_int_equal(short_sketch_format(sketch, &text), 0);
	assert_int_equal(short_sketch_parse(text.data, text.len, &have), 0);
	assert_int_equal(short_sketch_pack_text(text.data, text.len, packed),
			 len);
	assert_memory_equal(packed, bytes, len);
	assert_int_equal(short_sketch_format(&have, &again), 0);
	assert_string_equal(text.data, again.data);
	buf_release(&text);
	buf_release(&again);
}

static void test_a_sketch_is_read_as_it_was_stored(void **state)
{
	struct short_sketch sketch;
	struct bytes b;
	size_t len;

	(void)state;
	for (len = 0; len < 40000; len += len < 300 ? 1 : 997) {
		b = recipe_text(len + 1, len);
		sketch_of(b, &sketch);
		check_record(&sketch);
		free(b.data);
	}
}

/* One byte for a value: that is what the slots are for. */
static void test_a_record_is_small(void **state)
{
	uint8_t bytes[SHORT_SKETCH_BYTES];
	struct short_sketch sketch;
	struct bytes b;
	size_t i;

	(void)state;
	for (i = 1; i < 50; i++) {
		b = recipe_random(i, 1000 * i);
		sketch_of(b, &sketch);
		assert_in_range(short_sketch_store(&sketch, bytes), 200, 275);
		free(b.data);
	}
}

/* ---- damage ---- */

/* A copy in memory of its own, so that no access behind it goes unseen; what is
 * read is stored as the same bytes. */
static bool load_copy(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1), again[SHORT_SKETCH_BYTES];
	struct short_sketch sketch;
	bool loaded;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	loaded = short_sketch_load(copy, len, &sketch);
	if (loaded) {
		assert_true(sketch.count <= SHORT_SKETCH_VALUES);
		assert_true(short_sketch_store(&sketch, again) <=
			    sizeof(again));
	}
	free(copy);
	return loaded;
}

static void test_damaged_records_are_refused(void **state)
{
	uint8_t bytes[SHORT_SKETCH_BYTES + 1] = { 0 };
	struct bytes b = recipe_text(5, 3000);
	struct short_sketch sketch;
	size_t len, at;
	unsigned value;

	(void)state;
	sketch_of(b, &sketch);
	len = short_sketch_store(&sketch, bytes);
	for (at = 0; at < len; at++)
		assert_false(load_copy(bytes, at));
	assert_false(load_copy(bytes, len + 1));
	for (at = 0; at < len; at++) {
		uint8_t was = bytes[at];

		for (value = 0; value < 256; value++) {
			bytes[at] = (uint8_t)value;
			(void)load_copy(bytes, len);
		}
		bytes[at] = was;
	}
	free(b.data);
}

static void test_impossible_records_are_refused(void **state)
{
	static const uint8_t records[][8] = {
		{ 5, 1, 0 },    /* a sample of one */
		{ 0, 1, 0 },    /* fewer than there are values */
		{ 1, 1, 0x80 }, /* more bits behind the value */
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0 }, /* 2^49 */
		{ 2, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0 }, /* too few bits */
		{ 2, 2, 3, 0 }, /* beyond the slots */
	};
	static const size_t lengths[] = { 3, 3, 3, 8, 8, 4 };
	uint8_t many[3] = { 0x81, 0x82, 0x02 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		assert_false(load_copy(records[i], lengths[i]));
	assert_false(load_copy(many, sizeof(many)));
}

static void test_other_texts_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"sif8:",
		"sif8:A",
		"sif8:AA",
		"sif8:AAB",
		"sif8:AAAA",
		"sif1:AAA",
		"sif8:AA=",
		"sif8:gAAA" /* a number with a byte too many */,
	};
	struct short_sketch sketch;
	size_t i;

	(void)state;
	assert_int_equal(short_sketch_parse("sif8:AAA", 8, &sketch), 0);
	assert_int_equal(sketch.count, 0);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (short_sketch_parse(texts[i], strlen(texts[i]), &sketch) !=
		    -EINVAL)
			fail_msg("\"%s\" was taken", texts[i]);
}

/* ---- two sketches ---- */

static struct short_relation compare(struct bytes a, struct bytes b)
{
	struct short_relation there, back;
	struct short_sketch x, y;

	sketch_of(a, &x);
	sketch_of(b, &y);
	short_sketch_compare(&x, &y, &there);
	short_sketch_compare(&y, &x, &back);
	assert_true(there.a_in_b == back.b_in_a);
	assert_true(there.b_in_a == back.a_in_b);
	assert_int_equal(there.a_samples, back.b_samples);
	return there;
}

static void assert_near(double have, double want, double most)
{
	if (fabs(have - want) > most)
		fail_msg("%.3f, not %.3f", have, want);
}

static void test_shares_of_parts(void **state)
{
	static const size_t lengths[] = { 20, 100, 200, 1000, 5000, 50000 };
	struct short_relation r;
	struct bytes whole, part, other;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		whole = recipe_random(1, lengths[i]);
		other = recipe_random(2, lengths[i]);
		part = (struct bytes){ whole.data, whole.len / 2 };
		r = compare(whole, whole);
		assert_near(r.a_in_b, 1, 0);
		r = compare(whole, other);
		assert_near(r.a_in_b, 0, 0.03);
		r = compare(whole, part);
		assert_near(r.b_in_a, 1, 0.03);
		assert_near(r.a_in_b,
			    (double)(part.len - 7) / (double)(whole.len - 7),
			    0.1);
		assert_in_range(r.a_samples, 1, SHORT_SKETCH_VALUES);
		free(whole.data);
		free(other.data);
	}
}

/* All that is known of the larger one is in the first slot of the other. */
static void test_one_window_and_very_many(void **state)
{
	const struct short_sketch one = { .distinct = 1,
					  .count = 1,
					  .slots = { 100 } };
	const struct short_sketch many = { .distinct = UINT64_C(1) << 33,
					   .count = 2,
					   .slots = { 7, 300 } };
	struct short_relation r;

	(void)state;
	short_sketch_compare(&one, &many, &r);
	assert_int_equal(r.a_samples, 0);
	assert_int_equal(r.b_samples, 0);
	short_sketch_compare(&many, &one, &r);
	assert_int_equal(r.a_samples, 0);
	assert_int_equal(r.b_samples, 0);
}

static void test_nothing_can_be_said_of_few_bytes(void **state)
{
	struct bytes none = recipe_random(1, 7), some = recipe_random(2, 4000);
	struct short_relation r;

	(void)state;
	r = compare(none, some);
	assert_int_equal(r.a_samples, 0);
	assert_near(r.a_in_b, 0, 0);
	assert_near(r.b_in_a, 0, 0);
	free(none.data);
	free(some.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_definition),
		cmocka_unit_test(test_the_number_of_windows),
		cmocka_unit_test(test_a_sketch_is_read_as_it_was_stored),
		cmocka_unit_test(test_a_record_is_small),
		cmocka_unit_test(test_damaged_records_are_refused),
		cmocka_unit_test(test_impossible_records_are_refused),
		cmocka_unit_test(test_other_texts_are_refused),
		cmocka_unit_test(test_shares_of_parts),
		cmocka_unit_test(test_one_window_and_very_many),
		cmocka_unit_test(test_nothing_can_be_said_of_few_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
