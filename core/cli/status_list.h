/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_STATUS_LIST_H
#define CORE_CLI_STATUS_LIST_H

#include <stdbool.h>

#include "core/cli/cli.h"
#include "core/cli/table.h"

/*
 * The files of a mount that have no digests, with the reason.  kin walks the
 * mount and asks for the state of each file as the caller, so a caller hears
 * only of files that it may read.  The owner of the mount is also told what
 * cannot be read: then the daemon cannot either.
 */
struct status_list {
	bool failed, skipped; /* which of them */
	struct output output;
};

/* Calls take for those at and below the path of mount, until it returns not 0,
 * with full paths.  Complains itself about a file that cannot be asked, and
 * goes on. */
int status_list_each(const struct status_list *what, const struct mount *mount,
		     int (*take)(void *arg, const char *state,
				 const char *path),
		     void *arg);

/* Prints those at and below the path of mount, relative to base (table.h).  An
 * exit code. */
int status_list_print(const struct status_list *what, const struct mount *mount,
		      const char *base);

#endif
