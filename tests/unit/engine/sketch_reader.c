/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/sketch_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "core/digest/sif/sif.h"

/* A catalog with so many sketches, of which the one of content n has n % 5
 * values, counted up from n. */
enum { MOST = 5000 };
static uint32_t listed, damaged;
static int list_result;

static void make_sketch(uint32_t content, struct sif_sketch *out)
{
	size_t i;

	memset(out, 0xff, sizeof(*out));
	out->window = SIF_WINDOW;
	out->windows = 0;
	out->count = content % 5;
	out->distinct = out->count < 2 ? out->count : content + 5;
	out->rest = 0;
	out->rest_shift = 0;
	out->is_placed = false;
	for (i = 0; i < out->count; i++)
		out->values[i] = content + i;
}

/* Stays until all was unpacked. */
static uint8_t packed[MOST][64];

static int list(struct catalog_txn *txn, catalog_sketch_fn *each, void *arg)
{
	static struct sif_sketch sketch;
	uint32_t content;
	int result = 0;

	assert_null(txn);
	for (content = 1; content <= listed && !result; content++) {
		uint8_t *bytes = packed[content - 1];
		size_t len;

		make_sketch(content, &sketch);
		len = sif_pack(&sketch, bytes);
		assert_true(len < 64);
		result =
			each(arg, content, bytes, content == damaged ? 1 : len);
	}
	return result ? result : list_result;
}

/* Takes sketches until one of that content is there. */
struct taker {
	uint32_t taken, last;
	int result_of_last;
};

static int take(void *arg, uint32_t content, const struct sif_sketch *have)
{
	struct taker *t = arg;
	static struct sif_sketch want;

	assert_int_equal(content, ++t->taken);
	make_sketch(content, &want);
	assert_int_equal(have->window, want.window);
	assert_int_equal(have->distinct, want.distinct);
	assert_int_equal(have->count, want.count);
	assert_int_equal(have->rest, 0);
	assert_memory_equal(have->values, want.values,
			    want.count * sizeof(want.values[0]));
	return content == t->last ? t->result_of_last : 0;
}

static void test_all_are_taken_in_order(void **state)
{
	static const uint32_t counts[] = {
		0, 1, 31, 32, 33, 255, 256, 257, MOST
	};
	size_t i;

	(void)state;
	list_result = 0;
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct taker t = { 0 };

		listed = counts[i];
		assert_int_equal(sketch_reader_each(list, NULL, take, &t), 0);
		assert_int_equal(t.taken, listed);
	}
}

static void test_an_error_of_the_list_comes_after_what_was_found(void **state)
{
	struct taker t = { 0 };

	(void)state;
	listed = 1000;
	list_result = -EUCLEAN;
	assert_int_equal(sketch_reader_each(list, NULL, take, &t), -EUCLEAN);
	assert_int_equal(t.taken, listed);
}

/* Of whichever batch, and in it. */
static void test_those_before_a_damaged_one_are_taken(void **state)
{
	(void)state;
	listed = 600;
	list_result = 0;
	for (damaged = 2; damaged <= listed; damaged += 31) {
		struct taker t = { 0 };

		assert_int_equal(sketch_reader_each(list, NULL, take, &t),
				 -EUCLEAN);
		assert_int_equal(t.taken, damaged - 1);
	}
	damaged = 0;
}

/* Wherever it is: the reader may be waiting for room, or have ended. */
static void test_the_taker_ends_it(void **state)
{
	uint32_t last;

	(void)state;
	listed = 600;
	list_result = 0;
	for (last = 1; last <= listed; last += 13) {
		struct taker t = { .last = last, .result_of_last = -ENOMEM };

		assert_int_equal(sketch_reader_each(list, NULL, take, &t),
				 -ENOMEM);
		assert_int_equal(t.taken, last);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_taken_in_order),
		cmocka_unit_test(
			test_an_error_of_the_list_comes_after_what_was_found),
		cmocka_unit_test(test_those_before_a_damaged_one_are_taken),
		cmocka_unit_test(test_the_taker_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
