/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_GROUPS_PRINT_H
#define CORE_CLI_GROUPS_GROUPS_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/act/groups/groups.h"
#include "core/cli/table.h"

struct groups_printer {
	struct table table;
	struct column columns[8];
	const char *root; /* of the mount */
	bool terminal;    /* titles in bold */
	size_t printed;   /* groups */
};

/* keeps: which files are to be kept is told of each. */
void groups_printer_init(struct groups_printer *p, const struct output *output,
			 bool keeps);

/* 0, or a negative errno.  Puts the members in order from new to old. */
int groups_print(struct groups_printer *p, struct found_group *group,
		 int threshold);
int groups_print_totals(struct groups_printer *p,
			const struct groups_totals *totals);

#endif
