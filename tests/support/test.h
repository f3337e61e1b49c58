/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

/* clang-format off: cmocka wants these four before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* A unit test is TEST(name), followed by its body. test.c has the main() that
 * runs the tests of a file in their order there; a program that needs another
 * main() defines it. In the body, state is what the fixture set. */

#define TEST(name) TEST_WITH(name, NULL, NULL)

#define TEST_WITH(name, set_up, tear_down)                          \
	static void name(void **state);                             \
	__attribute__((constructor)) static void add_##name(void)   \
	{                                                           \
		test_add(#name, name, set_up, tear_down, __LINE__); \
	}                                                           \
	static void name(void **state __attribute__((unused)))

enum { TESTS_MAX = 64 };

extern struct CMUnitTest unit_tests[TESTS_MAX];
extern size_t unit_test_count;

void test_add(const char *name, CMUnitTestFunction run,
	      CMFixtureFunction set_up, CMFixtureFunction tear_down, int line);

/* What the main() of a program with a fixture for all its tests returns. */
int test_run(CMFixtureFunction set_up, CMFixtureFunction tear_down);

#endif
