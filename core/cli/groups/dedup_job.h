/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_DEDUP_JOB_H
#define CORE_CLI_GROUPS_DEDUP_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "core/act/dedup/dedup.h"
#include "core/cli/table.h"

/*
 * kin dedup.  dedup.c reads the options and the groups and makes the plan;
 * dedup_run.c prints the plan or carries it out.
 */

struct dedup_job {
	struct dedup_rules rules;
	const char **directories; /* of --keep; owned, and the strings */
	const char *undo;         /* a journal */
	const char *wanted_journal;
	char *journal;      /* owned; the one that is written */
	struct table table; /* its base is owned */
	int threshold;      /* of --blocks; 0: the mount's */
	bool apply, blocks, has_method;
	struct dedup_plan plan;
	struct dedup_mount mount;
	size_t done, left;
	uint64_t bytes; /* set free by what was done, or what would be */
};

/* Prints the plan, or carries it out.  Exit codes. */
int dedup_run_plan(struct dedup_job *job);
int dedup_take_back(const struct dedup_job *job);

/* A path of the plan that is left alone; arg is the job. */
void dedup_tell_skipped(void *arg, const char *path, const char *reason);

#endif
