/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_STATUS_LIST_H
#define CORE_CLI_STATUS_LIST_H

#include "core/client/client.h"

/* The files below a path of a mount that have no digests, by their states. */
struct status_list {
	bool failed;  /* "error:EIO" */
	bool skipped; /* "skipped:RULE"; a directory stands for all in it */
	/* Called for each; not 0 ends it. */
	int (*take)(void *arg, const char *state, const char *path);
	void *arg;

	/* Of the last one. */
	size_t pending;  /* files whose state is not known yet */
	bool is_damaged; /* some could not be asked for, and that was said */
};

/* 0, a negative errno, or what take returned. */
int status_list_each(struct status_list *l, const struct mount *mount);

#endif
