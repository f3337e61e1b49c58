/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/groups/keep.h"

#include <stddef.h>
#include <string.h>

const char *const keep_order_names[KEEP_ORDERS] = {
	[KEEP_OLDEST] = "oldest",
	[KEEP_NEWEST] = "newest",
	[KEEP_SHORTEST] = "shortest",
};

bool keep_order_parse(const char *name, enum keep_order *out)
{
	int i;

	for (i = 0; i < KEEP_ORDERS; i++)
		if (!strcmp(name, keep_order_names[i])) {
			*out = (enum keep_order)i;
			return true;
		}
	return false;
}

int keep_compare(enum keep_order order, struct keep_candidate a,
		 struct keep_candidate b)
{
	int result = b.is_protected - a.is_protected;

	if (!result && order == KEEP_OLDEST)
		result = compare_numbers(a.mtime_ns, b.mtime_ns);
	if (!result && order == KEEP_NEWEST)
		result = compare_numbers(b.mtime_ns, a.mtime_ns);
	if (!result)
		result = compare_numbers((int64_t)strlen(a.path),
					 (int64_t)strlen(b.path));
	return result ? result : strcmp(a.path, b.path);
}

bool keep_is_internal(const char *path)
{
	static const char *const names[] = {
		".git",   ".hg", ".svn",   ".bzr",   "CVS",
		"_darcs", ".jj", ".pijul", ".cache", "__pycache__",
	};
	const char *slash;
	size_t i;

	for (; (slash = strchr(path, '/')); path = slash + 1)
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strlen(names[i]) == (size_t)(slash - path) &&
			    !strncmp(path, names[i], (size_t)(slash - path)))
				return true;
	return false;
}
