/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_REMOVE_TREE_H
#define TESTS_SUPPORT_REMOVE_TREE_H

#include "tests/support/test.h"

#include <ftw.h>
#include <stdio.h>

static inline int remove_one(const char *path, const struct stat *st, int type,
			     struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void remove_tree(const char *path)
{
	assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
