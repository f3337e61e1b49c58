/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_INDEX_COUNT_H
#define TESTS_SUPPORT_INDEX_COUNT_H

#include "core/index/index_impl.h"

/* The contents that an index has, while no thread changes it. */
static inline size_t index_count(const struct index *ix)
{
	return ix->count - ix->dead;
}

#endif
