/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fs/similar/readers.h"

enum { FIND = 1000, LS = 1001 };

static void test_a_program_that_reads_names_gets_names(void **state)
{
	struct readers r = { 0 };

	(void)state;
	assert_true(readers_want_links(&r, FIND));
	assert_false(readers_want_links(&r, FIND));
	assert_false(readers_want_links(&r, FIND));
}

static void test_a_program_that_looks_up_links_gets_links(void **state)
{
	struct readers r = { 0 };

	(void)state;
	assert_true(readers_want_links(&r, LS));
	assert_false(readers_want_links(&r, LS));
	readers_looked_up(&r, LS);
	assert_true(readers_want_links(&r, LS));
	assert_true(readers_want_links(&r, LS));
}

static void test_programs_are_told_apart(void **state)
{
	struct readers r = { 0 };

	(void)state;
	assert_true(readers_want_links(&r, FIND));
	assert_true(readers_want_links(&r, LS));
	readers_looked_up(&r, LS);
	assert_false(readers_want_links(&r, FIND));
	assert_true(readers_want_links(&r, LS));
}

static void test_a_program_replaces_another_one(void **state)
{
	struct readers r = { 0 };

	(void)state;
	readers_looked_up(&r, FIND);
	assert_true(readers_want_links(&r, FIND + READERS_KNOWN));
	assert_false(readers_want_links(&r, FIND + READERS_KNOWN));
	assert_true(readers_want_links(&r, FIND));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_that_reads_names_gets_names),
		cmocka_unit_test(test_a_program_that_looks_up_links_gets_links),
		cmocka_unit_test(test_programs_are_told_apart),
		cmocka_unit_test(test_a_program_replaces_another_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
