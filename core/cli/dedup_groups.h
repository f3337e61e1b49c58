/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_DEDUP_GROUPS_H
#define CORE_CLI_DEDUP_GROUPS_H

#include <stddef.h>

/*
 * Reads what kin groups --json printed: an object a line, whose "members" are
 * contents, each with the "files" that have it.  take gets the paths of each
 * member with two files or more, absolute.
 *
 * path "-" is standard input.  Complains itself: EXIT_OK or EXIT_FAILED.
 */
int dedup_groups_read(const char *path,
		      int (*take)(void *arg, const char *const *paths,
				  size_t count),
		      void *arg);

#endif
