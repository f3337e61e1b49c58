/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_DEDUP_GROUPS_H
#define CORE_CLI_GROUPS_DEDUP_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/act/dedup/dedup.h"

/*
 * Reads what kin groups --json printed: an object a line, whose "members" are
 * contents, each with the "files" that have it.
 *
 * take gets the members of each group, with absolute paths; it is called for
 * no group of which a path leads outside.
 */
struct dedup_groups {
	/* Absolute, without symbolic links: groups of another "root" are not
	 * taken.  NULL: any are.  Paths are relative to that root and must not
	 * lead out of it.  Where neither says what the root is, relative paths
	 * are below the current directory, absolute ones may be anywhere. */
	const char *root;
	bool exact; /* of a mount: only exact copies are of interest */
	bool vcs;   /* also files for which keep_is_internal() */
	int (*take)(void *arg, const struct dedup_set *sets, size_t count);
	void *arg;
};

/* path "-" is standard input; a directory is a mount, whose groups are asked
 * for.  Complains itself: EXIT_OK or EXIT_FAILED. */
int dedup_groups_read(const struct dedup_groups *g, char *path);

#endif
