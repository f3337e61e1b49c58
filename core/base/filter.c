/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "core/base/array.h"

static bool glob_matches(const char *path, const char *glob)
{
	const bool anywhere = !strchr(glob, '/');

	glob += *glob == '/';
	while (fnmatch(glob, path, FNM_PATHNAME | FNM_LEADING_DIR) != 0) {
		path = anywhere ? strchr(path, '/') : NULL;
		if (!path++)
			return false;
	}
	return true;
}

bool glob_matches_any(const char *path, const char *const *globs, size_t count)
{
	size_t i = 0;

	while (i < count && !glob_matches(path, globs[i]))
		i++;
	return i < count;
}

int glob_list_add(struct glob_list *list, const char *glob)
{
	const char **all =
		array_with_room(list->all, list->count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	list->all = all;
	all[list->count++] = glob;
	return 0;
}

bool filter_takes(const struct filter *f, const char *path, uint64_t size)
{
	return size >= f->min_size &&
	       (!f->include.count ||
		glob_matches_any(path, f->include.all, f->include.count)) &&
	       !glob_matches_any(path, f->exclude.all, f->exclude.count);
}
