/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"

#include "core/index/piece_runs.h"

enum { PIECES = 64, BLOCK = 96, SIZE = PIECES * BLOCK };
#define PART 0.02 /* of the bytes */

static struct sise_part make_part(uint64_t block_size, size_t count,
				  struct random *r)
{
	struct sise_part part = { .block_size = block_size,
				  .mod_value = block_size - 1,
				  .count = count };
	size_t i;

	for (i = 0; i < count; i++)
		part.pairs[i] = (uint16_t)random_below(r, SISE_PAIR_VALUES);
	return part;
}

static struct sise_signature make_signature(uint64_t block_size, size_t count,
					    struct random *r)
{
	return (struct sise_signature){
		.leading = make_part(block_size, count, r),
		.secondary = make_part(block_size / 2, 2 * count, r),
	};
}

/* Changes each piece of the first `changed`, and of the others with that
 * probability in 1000. */
static void change(struct sise_part *part, size_t changed, unsigned others,
		   struct random *r)
{
	size_t i;

	for (i = 0; i < part->count; i++)
		if (i < changed || random_below(r, 1000) < others)
			part->pairs[i] ^= 1;
}

static void test_what_is_left_of_a_passage_is_a_long_run(void **state)
{
	static struct sise_signature a, b;
	struct random r = { 1 };

	(void)state;
	a = b = make_signature(BLOCK, PIECES, &r);
	assert_true(piece_runs_are_long(&a, &b, SIZE, PART));
	change(&b.leading, PIECES / 2, 0, &r);
	change(&b.secondary, 2 * PIECES, 0, &r);
	assert_true(piece_runs_are_long(&a, &b, SIZE, PART));
	assert_true(piece_runs_are_long(&b, &a, SIZE, PART));
	b = a;
	change(&b.leading, PIECES - 4, 0, &r);
	change(&b.secondary, 2 * PIECES, 0, &r);
	assert_false(piece_runs_are_long(&a, &b, SIZE, PART));
}

/* Of pieces of 96 bytes, a third is left of 2 %, and half of pieces half as
 * long. */
static void test_single_bytes_leave_short_runs(void **state)
{
	static struct sise_signature a, b;
	struct random r = { 2 };
	unsigned round, runs = 0;

	(void)state;
	for (round = 0; round < 1000; round++) {
		a = b = make_signature(BLOCK, PIECES, &r);
		change(&b.leading, 0, 667, &r);
		change(&b.secondary, 0, 500, &r);
		runs += piece_runs_are_long(&a, &b, SIZE, PART);
	}
	assert_in_range(runs, 0, 5);
}

/* As many bytes make the same run likely or not. */
static void test_fewer_bytes_leave_longer_runs(void **state)
{
	static struct sise_signature a, b;
	struct random r = { 3 };

	(void)state;
	a = b = make_signature(BLOCK, PIECES, &r);
	change(&b.leading, PIECES / 2, 0, &r);
	change(&b.secondary, PIECES, 0, &r);
	assert_true(piece_runs_are_long(&a, &b, SIZE, PART));
	assert_false(piece_runs_are_long(&a, &b, SIZE, PART / 100));
	assert_false(piece_runs_are_long(&a, &b, SIZE, 0));
}

/* As of a pattern that is repeated. */
static void test_pieces_that_occur_again_do_not_count(void **state)
{
	static struct sise_signature a, b;
	struct random r = { 5 };
	size_t i;

	(void)state;
	a = make_signature(BLOCK, PIECES, &r);
	for (i = 0; i < PIECES; i++)
		a.leading.pairs[i] = a.leading.pairs[i % 4];
	for (i = 0; i < 2 * PIECES; i++)
		a.secondary.pairs[i] = a.secondary.pairs[i % 4];
	b = a;
	assert_false(piece_runs_are_long(&a, &b, SIZE, PART));
}

static void test_other_signatures_do_not_tell(void **state)
{
	static struct sise_signature a, b;
	struct random r = { 4 };

	(void)state;
	a = b = make_signature(BLOCK, PIECES, &r);
	b.leading.block_size *= 4;
	b.secondary.block_size *= 4;
	assert_false(piece_runs_are_long(&a, &b, SIZE, PART));
	/* Of a content that repeats much. */
	a = b = make_signature(BLOCK, SISE_MAX_PAIRS / 2, &r);
	assert_false(piece_runs_are_long(&a, &b, SIZE, PART));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_left_of_a_passage_is_a_long_run),
		cmocka_unit_test(test_single_bytes_leave_short_runs),
		cmocka_unit_test(test_fewer_bytes_leave_longer_runs),
		cmocka_unit_test(test_pieces_that_occur_again_do_not_count),
		cmocka_unit_test(test_other_signatures_do_not_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
