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

static int compare_int64(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int source_listing_tell_apart(struct source_listing *l, bool whole,
			      int64_t directory_mtime_ns)
{
	int64_t *times, *at;
	size_t i = 0;

	while (i < l->count && !l->entries[i].known_by_name)
		i++;
	if (i == l->count)
		return 0;
	times = calloc(l->count + 1, sizeof(*times));
	if (!times)
		return -ENOMEM;
	for (i = 0; i < l->count; i++)
		times[i] = l->entries[i].identity.mtime_ns;
	times[i] = directory_mtime_ns;
	qsort(times, l->count + 1, sizeof(*times), compare_int64);
	for (i = 0; i < l->count; i++) {
		struct source_entry *e = &l->entries[i];

		if (e->directory || !e->known_by_name)
			continue;
		at = bsearch(&e->identity.mtime_ns, times, l->count + 1,
			     sizeof(*times), compare_int64);
		e->known_by_name = whole && !(at > times && at[-1] == *at) &&
				   !(at < times + l->count && at[1] == *at);
	}
	free(times);
	return 0;
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
