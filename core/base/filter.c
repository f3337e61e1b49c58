/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

static bool component_matches(const char *path, const char *glob)
{
	char name[NAME_MAX + 1];

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len <= NAME_MAX) {
			memcpy(name, path, len);
			name[len] = '\0';
			if (fnmatch(glob, name, 0) == 0)
				return true;
		}
		path += len;
		path += *path == '/';
	}
	return false;
}

bool glob_matches_any(const char *path, const char *const *globs, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const char *glob = globs[i];

		if (!strchr(glob, '/')) {
			if (component_matches(path, glob))
				return true;
			continue;
		}
		glob += *glob == '/';
		if (fnmatch(glob, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0)
			return true;
	}
	return false;
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

void filter_release(struct filter *f)
{
	free(f->include.all);
	free(f->exclude.all);
	*f = (struct filter){ 0 };
}
