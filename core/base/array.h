/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_ARRAY_H
#define CORE_BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * Room for one more item in an array that grows by one item at a time and
 * only through this function, which allocates for 8, 16, 32, ... items; items
 * may be taken off the end.  Returns the array, moved perhaps; NULL without
 * memory, and then items is as before.  A new array is NULL.
 */
static inline void *array_with_room(void *items, size_t count, size_t item_size)
{
	enum { FIRST = 8 };

	if (count == 0)
		return reallocarray(items, FIRST, item_size);
	if (count < FIRST || count & (count - 1))
		return items;
	return reallocarray(items, 2 * count, item_size);
}

/* Appends a string to such an array, which owns it then; it is taken also on
 * failure.  NULL: -ENOMEM. */
static inline int array_add_string(const char ***strings, size_t *count,
				   char *string)
{
	const char **all =
		string ? array_with_room(*strings, *count, sizeof(*all)) : NULL;

	if (!all) {
		free(string);
		return -ENOMEM;
	}
	*strings = all;
	all[(*count)++] = string;
	return 0;
}

#endif
