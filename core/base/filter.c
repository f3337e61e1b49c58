/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/filter.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/limits.h>
#include <string.h>
#include <strings.h>

#include "core/base/array.h"

/* Behind its first components, which has as many as the glob. */
static const char *behind(const char *path, const char *glob)
{
	while (path && (glob = strchr(glob, '/'))) {
		path = strchr(path, '/');
		path += path != NULL;
		glob++;
	}
	path = path ? strchr(path, '/') : NULL;
	return path ? path + 1 : NULL;
}

/* anywhere: behind any slash, too. */
static bool matches(const char *path, const char *glob, bool anywhere)
{
	const char *stars = strstr(glob, "/**/"), *rest;
	size_t len = stars ? (size_t)(stars - glob) : strlen(glob);
	char head[PATH_MAX];

	while (!stars && len && glob[len - 1] == '/')
		len--;
	if (len >= sizeof(head))
		return false;
	memcpy(head, glob, len);
	head[len] = '\0';
	for (; path; path = anywhere ? strchr(path, '/') : NULL) {
		path += *path == '/';
		if (fnmatch(head, path, FNM_PATHNAME | FNM_LEADING_DIR) != 0)
			continue;
		rest = stars ? behind(path, head) : NULL;
		if (!stars || (rest && matches(rest, stars + 4, true)))
			return true;
	}
	return false;
}

static bool glob_matches(const char *path, const char *glob)
{
	const char *slash = strchr(glob, '/');
	bool anywhere = !slash || !slash[strspn(slash, "/")];

	while (!strncmp(glob, "./", 2))
		glob += 2;
	glob += strspn(glob, "/");
	while (!strncmp(glob, "**/", 3)) {
		glob += 3;
		anywhere = true;
	}
	return matches(path, glob, anywhere);
}

bool glob_matches_any(const char *path, const char *const *globs, size_t count)
{
	size_t i = 0;

	while (i < count && !glob_matches(path, globs[i]))
		i++;
	return i < count;
}

/* ---- what is no copy to rely on ---- */

/* Letter case does not count, as Windows and macOS write into the same
 * directories; a name that ends in '-' has a number behind it. */
static const char *const internal_names[] = {
	/* version control */
	".git",
	".hg",
	".svn",
	".bzr",
	"_darcs",
	".jj",
	".pijul",
	".ostree",
	/* trashes and recycle bins */
	".Trash",
	".Trash-",
	".Trashes",
	".local/share/Trash",
	"$RECYCLE.BIN",
	"RECYCLER",
	"RECYCLED",
	"#recycle",
	"@Recycle",
	".recycle",
	".Recycle.Bin",
	"files_trashbin",
	/* old versions and snapshots */
	".stversions",
	".sync/Archive",
	"files_versions",
	".snapshots",
	".snapshot",
	".snap",
	"#snapshot",
	"~snapshot",
	"@Recently-Snapshot",
	".zfs",
	"System Volume Information",
	/* caches, and what was found without a name */
	".cache",
	"__pycache__",
	".thumbnails",
	"@eaDir",
	".@__thumb",
	".dropbox.cache",
	"lost+found",
};

static bool begins_internal(const char *path)
{
	const char *name;
	size_t i, len;

	/* The directory cvs has somebody's curricula. */
	if (!strncmp(path, "CVS", 3) && (!path[3] || path[3] == '/'))
		return true;
	for (i = 0; i < sizeof(internal_names) / sizeof(internal_names[0]);
	     i++) {
		name = internal_names[i];
		if (tolower(*path) != tolower(*name))
			continue;
		len = strlen(name);
		if (strncasecmp(path, name, len) != 0)
			continue;
		if (name[len - 1] == '-')
			len += strspn(path + len, "0123456789");
		if (!path[len] || path[len] == '/')
			return true;
	}
	return false;
}

bool path_is_internal(const char *path)
{
	for (; path; path = strchr(path, '/')) {
		path += *path == '/';
		if (begins_internal(path))
			return true;
	}
	return false;
}

/* ---- filters ---- */

int glob_list_add(struct glob_list *list, const char *glob)
{
	struct glob *all =
		array_with_room(list->all, list->count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	list->all = all;
	all[list->count++] = (struct glob){ .pattern = glob };
	return 0;
}

static bool list_matches(const struct glob_list *list, const char *path)
{
	struct glob *glob = list->all;
	bool any = false;

	for (; glob < list->all + list->count; glob++) {
		glob->asked = true;
		if (!glob_matches(path, glob->pattern))
			continue;
		glob->matched = true;
		any = true;
	}
	return any;
}

bool filter_takes(const struct filter *f, const char *path, uint64_t size)
{
	const bool included = list_matches(&f->include, path),
		   excluded = list_matches(&f->exclude, path);

	return size >= f->min_size && (included || !f->include.count) &&
	       !excluded;
}
