/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SEAL_H
#define TESTS_SUPPORT_SEAL_H

#include <fcntl.h>
#include <unistd.h>

#include "core/catalog/catalog_impl.h"
#include "tests/support/test.h"

/* Seals the data file that is in the directory of a catalog now. */
static inline void seal_directory(const char *directory)
{
	struct catalog c = { .dir = open(directory, O_RDONLY | O_CLOEXEC) };

	assert_int_equal(seal_write(&c), 0);
	assert_int_equal(close(c.dir), 0);
}

#endif
