/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_FILTER_H
#define CORE_BASE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which files a rule is about, by their relative paths and sizes.
 *
 * A glob without '/' matches any one component of a path, so "*.o" every object
 * file and "build" all that is below a directory of that name; one with '/'
 * matches the path or a leading part of it.  "**" between slashes stands for
 * any number of directories.  "./" before a glob means that it has a '/', and
 * '/' behind a glob means nothing.
 */
bool glob_matches_any(const char *path, const char *const *globs, size_t count);

/* Whether a path is that of a directory in which a program keeps files of its
 * own, or below it: a trash, a recycle bin, a snapshot, a store of old versions
 * or of a version control system, a cache.  What is there is no copy to rely
 * on: it goes when that program thinks so. */
bool path_is_internal(const char *path);

struct glob_list {
	struct glob {
		const char *pattern; /* borrowed */
		bool asked, matched; /* by a path so far */
	} * all;
	size_t count;
};

/* Zeroed: takes every file. */
struct filter {
	struct glob_list include; /* none: all */
	struct glob_list exclude;
	uint64_t min_size; /* in bytes */
};

/* -ENOMEM. */
int glob_list_add(struct glob_list *list, const char *glob);

/* Notes which globs match the path. */
bool filter_takes(const struct filter *f, const char *path, uint64_t size);

#endif
