/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_CHECK_H
#define CORE_CLI_CHECK_H

#include "core/cli/cli.h"
#include "core/check/check.h"

/* What is asked for, and what came of it. */
struct check {
	const char *operand; /* SOURCE or MOUNT; NULL with db */
	const char *db;
	bool read, repair, as_json;

	char *source;
	char *directory; /* of the catalog */
	int64_t written; /* when it last was, before; 0: not known */
	struct audit_counts counts;
	bool damaged;        /* the catalog as a whole */
	struct buf moved_to; /* it was set aside */
	uint64_t told;       /* findings that were printed or kept */
	json_t *findings;
	int err; /* of keeping findings */
};

/* Prints a finding, or keeps it for the JSON; path may be NULL. */
void check_tell(struct check *c, const char *kind, const char *path,
		const char *text);

/* Prints what is left to say; the exit code. */
int check_answer(struct check *c);

/* Lets the daemon do it. */
int check_mount(struct check *c, const struct mount *mount);

#endif
