/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_DEDUP_JOB_H
#define CORE_CLI_GROUPS_DEDUP_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/act/dedup/dedup.h"
#include "core/base/filter.h"
#include "core/cli/table.h"

/*
 * kin dedup.  dedup.c reads the options and makes the plan, dedup_groups.c
 * reads the groups, dedup_run.c prints the plan or carries it out.
 */

struct dedup_job {
	struct dedup_rules rules;
	const char **directories; /* of --keep; owned, and the strings */
	char *root;               /* of --root; owned */
	const char *undo;         /* a journal */
	const char *wanted_journal;
	char *journal; /* owned; the one that is written */
	struct filter filter;
	struct table table; /* its base is owned */
	int threshold;      /* of --blocks; 0: the mount's */
	bool apply, blocks, has_method, vcs;
	struct dedup_plan plan;
	struct dedup_mount mount;
	size_t done, left;
	uint64_t bytes; /* set free by what was done, or what would be */
};

/* ---- dedup.c ---- */

/* Adds a group to the plan, a set for each content.  -ENOMEM. */
int dedup_plan_group(struct dedup_job *job, const struct dedup_set *sets,
		     size_t count);

/* ---- dedup_groups.c ---- */

/*
 * Plans the groups of a mount, of a file that kin groups --json wrote, or of
 * standard input ("-").  Paths are relative to the root that the file says or
 * the user (job->root), and must not lead out of it.  Where neither says it,
 * relative paths are below the current directory, absolute ones may be anywhere.
 * Complains itself: EXIT_OK or EXIT_FAILED.
 */
int dedup_groups_read(struct dedup_job *job, char *path);

/* ---- dedup_run.c: exit codes ---- */

/* Prints the plan, or carries it out. */
int dedup_run_plan(struct dedup_job *job);
int dedup_take_back(const struct dedup_job *job);

/* A path of the plan that is left alone; arg is the job. */
void dedup_tell_skipped(void *arg, const char *path, const char *reason);

#endif
