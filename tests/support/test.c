/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <stdlib.h>

struct CMUnitTest unit_tests[TESTS_MAX];
size_t unit_test_count;
static int lines[TESTS_MAX];

/* Constructors run in any order: the tests are sorted by their lines. */
void test_add(const char *name, CMUnitTestFunction run,
	      CMFixtureFunction set_up, CMFixtureFunction tear_down, int line)
{
	size_t i;

	if (unit_test_count == TESTS_MAX)
		abort();
	for (i = unit_test_count++; i > 0 && lines[i - 1] > line; i--) {
		unit_tests[i] = unit_tests[i - 1];
		lines[i] = lines[i - 1];
	}
	unit_tests[i] =
		(struct CMUnitTest){ name, run, set_up, tear_down, NULL };
	lines[i] = line;
}

int test_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	return _cmocka_run_group_tests("tests", unit_tests, unit_test_count,
				       set_up, tear_down);
}

__attribute__((weak)) int main(void)
{
	return test_run(NULL, NULL);
}
