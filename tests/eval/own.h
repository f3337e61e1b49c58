/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_OWN_H
#define TESTS_EVAL_OWN_H

#include "tests/eval/plan.h"

/* The C sources below a directory, in the order of their paths: bases that
 * somebody wrote. */
struct own {
	struct bytes *contents;
	size_t count;
};

/* A directory of this repository; own lives as long as the corpus. */
void own_add(struct own *own, struct corpus *c, const struct plan *plan,
	     const char *directory);
void own_release(struct own *own);

#endif
