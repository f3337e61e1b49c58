/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_CHECK_H
#define CORE_CLI_CHECK_H

#include "core/cli/cli.h"
#include "core/check/check.h"

/* What a user asked for, and what was found. */
struct check_report {
	const char *operand; /* SOURCE or MOUNT; NULL with db */
	const char *db;
	bool read, as_json;

	char *source;
	char *directory; /* of the catalog */
	int64_t written; /* when it last was, before; 0: not known */
	struct check_counts counts;
	bool damaged;     /* the catalog as a whole */
	uint64_t told;    /* findings that were printed or kept */
	json_t *findings; /* that were kept */
	int err;          /* of keeping findings */
};

/* Prints a finding, or keeps it for the JSON; path may be NULL. */
void check_report_add(struct check_report *c, const char *kind,
		      const char *path, const char *text);

/* Prints the rest of the report; the exit code. */
int check_report_print(struct check_report *c);

/* Lets the daemon of a mount check its catalog; the exit code. */
int check_mount(struct check_report *c, const struct mount *mount);

#endif
