/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_DIGEST_VARIANTS_H
#define TESTS_UNIT_DIGEST_VARIANTS_H

#include <stdio.h>
#include <stdlib.h>

#include "core/kernel/kernel.h"
#include "tests/support/vectors.h"

/* The main() of tests that run with every variant of the kernels. */

static inline int use_variant(void **state)
{
	kernel_use(*state);
	return 0;
}

static inline struct CMUnitTest with_variant(struct CMUnitTest test,
					     const struct kernel_ops *ops)
{
	char *name;

	assert_true(asprintf(&name, "%s, %s", test.name, ops->name) >= 0);
	test.name = name;
	test.setup_func = use_variant;
	test.initial_state = (void *)ops;
	return test;
}

int main(void)
{
	const struct kernel_ops *variants;
	struct CMUnitTest *all;
	size_t i, k, count, n = 0;
	int failed;

	variants = kernel_all(&count);
	all = calloc(count * unit_test_count, sizeof(*all));
	if (!all)
		return 1;
	for (i = 0; i < count; i++)
		for (k = 0; k < unit_test_count; k++)
			all[n++] = with_variant(unit_tests[k], &variants[i]);
	failed = _cmocka_run_group_tests("tests", all, n, NULL, NULL);
	while (n-- > 0)
		free((void *)all[n].name);
	free(all);
	return failed;
}

#endif
