/* SPDX-License-Identifier: Apache-2.0 */
#include "core/source/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

int source_listing_add(struct source_listing *l,
		       const struct source_entry *entry)
{
	struct source_entry *entries =
		array_with_room(l->entries, l->count, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	l->entries = entries;
	l->entries[l->count++] = *entry;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct source_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void source_listing_sort(struct source_listing *l)
{
	if (l->count)
		qsort(l->entries, l->count, sizeof(*l->entries), compare_names);
}

void source_listing_free(struct source_listing *l)
{
	size_t i;

	if (!l)
		return;
	for (i = 0; i < l->count; i++)
		free(l->entries[i].name);
	free(l->entries);
	free(l);
}
