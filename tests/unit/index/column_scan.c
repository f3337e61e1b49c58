/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/index/column_scan.h"
#include "tests/support/digest_values.h"

static uint64_t simhash[COLUMN_SCAN_ROWS];
static uint8_t tiles[COLUMN_SCAN_ROWS * COLUMNS_TRAITS];

static struct column_scan query_of(uint64_t wanted, uint8_t trait)
{
	struct digests d = simhash_digests(1, wanted);
	struct column_scan query;

	d.set |= DIGEST_BIT(DIGEST_RDC);
	memset(d.traits, trait, sizeof(d.traits));
	column_scan_init(&query, &d);
	query.most = 24;
	query.fewest = 1;
	return query;
}

/* All rows as far from wanted as can be, without traits in common. */
static void fill(uint64_t wanted, uint8_t trait)
{
	uint8_t traits[COLUMNS_TRAITS];
	size_t i;

	memset(traits, trait + 1, sizeof(traits));
	for (i = 0; i < COLUMN_SCAN_ROWS; i++) {
		simhash[i] = ~wanted;
		column_traits_store(tiles, i, traits);
	}
}

static void test_a_near_row_is_found_anywhere(void **state)
{
	struct column_scan query = query_of(0x0123456789abcdefu, 7);
	size_t hits[COLUMN_SCAN_ROWS], row;

	(void)state;
	for (row = 0; row < COLUMN_SCAN_ROWS; row++) {
		fill(query.simhash, 7);
		simhash[row] = query.simhash ^ 0x8001;
		assert_int_equal(column_scan_rows(&query, simhash, tiles,
						  COLUMN_SCAN_ROWS, hits),
				 1);
		assert_int_equal(hits[0], row);
	}
}

static void test_equal_traits_are_found_anywhere(void **state)
{
	struct column_scan query = query_of(0x0123456789abcdefu, 7);
	size_t hits[COLUMN_SCAN_ROWS], row;

	(void)state;
	for (row = 0; row < COLUMN_SCAN_ROWS; row++) {
		fill(query.simhash, 7);
		column_traits_store(tiles, row, query.traits);
		assert_int_equal(column_scan_rows(&query, simhash, tiles,
						  COLUMN_SCAN_ROWS, hits),
				 1);
		assert_int_equal(hits[0], row);
	}
}

/* Every row would be a hit: only those counted are. */
static void test_rows_behind_the_last_are_not_named(void **state)
{
	struct column_scan query = query_of(0x0123456789abcdefu, 7);
	size_t hits[COLUMN_SCAN_ROWS], count, i;

	(void)state;
	fill(~query.simhash, 6);
	for (count = 0; count <= COLUMN_SCAN_ROWS; count++) {
		(void)column_scan_rows(&query, simhash, tiles, COLUMN_SCAN_ROWS,
				       hits);
		assert_int_equal(
			column_scan_rows(&query, simhash, tiles, count, hits),
			count);
		for (i = 0; i < count; i++)
			assert_int_equal(hits[i], i);
	}
}

/* No traits equal no traits, but that is no reason to look closer. */
static void test_without_traits_only_the_simhash_counts(void **state)
{
	struct column_scan query = query_of(0x0123456789abcdefu, 0);
	size_t hits[COLUMN_SCAN_ROWS];

	(void)state;
	fill(query.simhash, 0);
	memset(tiles, 0, sizeof(tiles));
	simhash[77] = query.simhash ^ 3;
	assert_int_equal(column_scan_rows(&query, simhash, tiles,
					  COLUMN_SCAN_ROWS, hits),
			 1);
	assert_int_equal(hits[0], 77);
}

static void test_what_is_missing_is_not_equal(void **state)
{
	struct column_scan query = query_of(0, 0);
	uint8_t traits[COLUMNS_TRAITS] = { 0 };

	(void)state;
	assert_int_equal(column_scan_distance(&query, 0),
			 SIMHASH_DISTANCE_NONE);
	assert_int_equal(column_scan_distance(&query, 1),
			 SIMHASH_DISTANCE_NONE);
	assert_int_equal(column_scan_equal_traits(&query, traits), -1);
	query = query_of(5, 9);
	assert_int_equal(column_scan_distance(&query, 0),
			 SIMHASH_DISTANCE_NONE);
	assert_int_equal(column_scan_distance(&query, 4), 1);
	assert_int_equal(column_scan_equal_traits(&query, traits), -1);
	traits[3] = 9;
	assert_int_equal(column_scan_equal_traits(&query, traits), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_near_row_is_found_anywhere),
		cmocka_unit_test(test_equal_traits_are_found_anywhere),
		cmocka_unit_test(test_rows_behind_the_last_are_not_named),
		cmocka_unit_test(test_without_traits_only_the_simhash_counts),
		cmocka_unit_test(test_what_is_missing_is_not_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
