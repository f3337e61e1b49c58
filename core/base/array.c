/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/array.h"

#include <stdlib.h>

void *array_with_room(void *items, size_t count, size_t item_size)
{
	enum { FIRST = 8 };

	if (count == 0)
		return reallocarray(items, FIRST, item_size);
	if (count < FIRST || count & (count - 1))
		return items;
	return reallocarray(items, 2 * count, item_size);
}
