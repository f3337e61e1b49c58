/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_DEDUP_JOB_H
#define CORE_CLI_GROUPS_DEDUP_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/act/dedup/dedup.h"

/*
 * kin dedup.  dedup.c reads the options and makes the plan, dedup_groups.c
 * reads the groups, dedup_mount.c finds files below a mount, dedup_run.c prints
 * the plan or carries it out.
 */

/* The mount that the last path was in, remembered for the next one. */
struct dedup_mount {
	char *root, *source; /* owned */
	dev_t none;          /* a device that is no kinfs mount */
	bool has_none;
};

struct dedup_job {
	struct dedup_rules rules;
	const char **directories; /* of --keep; owned, and the strings */
	char *root;               /* of --root; owned */
	const char *undo;         /* a journal */
	char *journal;            /* owned */
	bool apply, json, blocks, has_method, vcs;
	struct dedup_plan plan;
	struct dedup_mount mount;
	size_t done, left;
	uint64_t bytes; /* set free by what was done, or what would be */
};

/* ---- dedup_mount.c ---- */

/* rules.real_path of a struct dedup_mount. */
char *dedup_mount_real_path(void *mount, const char *path);
void dedup_mount_release(struct dedup_mount *m);

/* ---- dedup_run.c: exit codes ---- */

int dedup_print_plan(struct dedup_job *job);
int dedup_carry_out(struct dedup_job *job);
int dedup_take_back(const struct dedup_job *job);

/* A path of the plan that is left alone; arg is the job. */
void dedup_tell_skipped(void *arg, const char *path, const char *reason);

#endif
