/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off: cmocka wants these four before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdlib.h>

#include "tests/support/sif_model.h"

/* Where the values of a sketch are, by looking at every window. */
enum { UNIT = 4096, MOST = 1 << 20 };

static struct sif sif;

static uint64_t next_of(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 33;
}

/* Words of few letters, so that windows repeat, and some padding. */
static void fill(uint8_t *data, size_t len, uint64_t seed)
{
	size_t i, run;

	for (i = 0; i < len; i += run) {
		size_t from = i ? next_of(&seed) % i : 0;

		run = 1 + next_of(&seed) % 5000;
		run = run < len - i ? run : len - i;
		if (i > run && from + run <= i && next_of(&seed) % 4 == 0)
			memcpy(data + i, data + from, run);
		else if (next_of(&seed) % 8 == 0)
			memset(data + i, 0, run);
		else
			for (from = i; from < i + run; from++)
				data[from] = (uint8_t)next_of(&seed);
	}
}

static void sketch_in_pieces(const uint8_t *data, size_t len, size_t max,
			     uint64_t seed, struct sif_sketch *out)
{
	size_t at = 0, piece;

	assert_int_equal(sif_init(&sif, SIF_WINDOW, max), 0);
	while (at < len) {
		piece = 1 + next_of(&seed) % (seed % 2 ? 100000 : 40);
		piece = piece < len - at ? piece : len - at;
		sif_update(&sif, data + at, piece);
		at += piece;
	}
	sif_final(&sif, out);
}

static uint8_t place_of(size_t at, size_t len)
{
	size_t units = (len + UNIT - 1) / UNIT, unit = at / UNIT;

	return (uint8_t)(units > SIF_PLACES ? unit * SIF_PLACES / units : unit);
}

/* The last window with each value. */
static void assert_places(const uint8_t *data, size_t len,
			  const struct sif_sketch *sketch)
{
	static uint8_t want[SIF_MAX_VALUES];
	size_t at, low, high, middle;
	uint64_t value;

	for (at = 0; at + SIF_WINDOW <= len; at++) {
		if (!model_counts(data + at, SIF_WINDOW))
			continue;
		value = model_value(data + at, SIF_WINDOW);
		for (low = 0, high = sketch->count; low < high;) {
			middle = (low + high) / 2;
			if (sketch->values[middle] < value)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < sketch->count && sketch->values[low] == value)
			want[low] = place_of(at, len);
	}
	assert_int_equal(sketch->is_placed, len > UNIT);
	if (sketch->is_placed)
		assert_memory_equal(sketch->places, want, sketch->count);
}

static void test_places_are_where_windows_are_last(void **state)
{
	static const size_t lengths[] = { 100,   4096,   4111,   4112,
					  20000, 262144, 262145, MOST };
	uint8_t *data = malloc(MOST);
	struct sif_sketch sketch;
	size_t i;

	(void)state;
	assert_non_null(data);
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		fill(data, lengths[i], i);
		sketch_in_pieces(data, lengths[i], sif_values(lengths[i]), i,
				 &sketch);
		assert_places(data, lengths[i], &sketch);
	}
	free(data);
}

static void test_zeros_take_their_room(void **state)
{
	enum { LEN = 50000, ZEROS = 300000 };
	uint8_t *data = calloc(1, LEN + ZEROS);
	struct sif_sketch sketch;

	(void)state;
	assert_non_null(data);
	fill(data + ZEROS, LEN, 7);
	data[ZEROS] = 1;
	assert_int_equal(sif_init(&sif, SIF_WINDOW, 1024), 0);
	sif_update_zeros(&sif, ZEROS);
	sif_update(&sif, data + ZEROS, LEN);
	sif_final(&sif, &sketch);
	assert_places(data, LEN + ZEROS, &sketch);
	free(data);
}

/* ---- texts ---- */

static void make_sketch(struct sif_sketch *out)
{
	uint8_t data[40000];

	fill(data, sizeof(data), 3);
	sketch_in_pieces(data, sizeof(data), 128, 1, out);
	sif_round_values(out);
}

static void test_a_text_has_the_places(void **state)
{
	struct sif_sketch sketch, again;
	struct buf with = { 0 }, without = { 0 };

	(void)state;
	make_sketch(&sketch);
	assert_int_equal(sif_format(&sketch, &with), 0);
	assert_int_equal(sif_parse(with.data, with.len, &again), 0);
	assert_true(again.is_placed);
	assert_memory_equal(again.places, sketch.places, sketch.count);
	sketch.is_placed = false;
	assert_int_equal(sif_format(&sketch, &without), 0);
	assert_int_equal(with.len, without.len + 1 + sketch.count);
	assert_int_equal(sif_parse(without.data, without.len, &again), 0);
	assert_false(again.is_placed);
	buf_release(&with);
	buf_release(&without);
}

/* What lies behind a sketch stays as it was. */
static void test_more_places_than_values_are_refused(void **state)
{
	struct {
		struct sif_sketch sketch;
		uint8_t behind[4096];
	} have;
	struct sif_sketch sketch;
	struct buf text = { 0 };
	size_t i;

	(void)state;
	make_sketch(&sketch);
	assert_int_equal(sif_format(&sketch, &text), 0);
	for (i = 0; i < SIF_MAX_VALUES + sizeof(have.behind); i++)
		assert_int_equal(buf_append_text(&text, "A"), 0);
	memset(have.behind, 0xff, sizeof(have.behind));
	assert_int_equal(sif_parse(text.data, text.len, &have.sketch), -EINVAL);
	for (i = 0; i < sizeof(have.behind); i++)
		assert_int_equal(have.behind[i], 0xff);
	buf_release(&text);
}

static void test_other_texts_are_refused(void **state)
{
	struct sif_sketch sketch, again;
	struct buf text = { 0 };

	(void)state;
	make_sketch(&sketch);
	assert_int_equal(sif_format(&sketch, &text), 0);
	assert_int_equal(sif_parse(text.data, text.len - 1, &again), -EINVAL);
	text.data[text.len - 1] = '*';
	assert_int_equal(sif_parse(text.data, text.len, &again), -EINVAL);
	text.data[text.len - 1] = 'A';
	assert_int_equal(buf_append_text(&text, "A"), 0);
	assert_int_equal(sif_parse(text.data, text.len, &again), -EINVAL);
	text.data[text.len - 1] = ':';
	assert_int_equal(sif_parse(text.data, text.len, &again), -EINVAL);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_are_where_windows_are_last),
		cmocka_unit_test(test_zeros_take_their_room),
		cmocka_unit_test(test_a_text_has_the_places),
		cmocka_unit_test(test_more_places_than_values_are_refused),
		cmocka_unit_test(test_other_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
