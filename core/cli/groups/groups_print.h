/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_GROUPS_PRINT_H
#define CORE_CLI_GROUPS_GROUPS_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/act/groups/groups.h"

enum groups_format {
	GROUPS_TEXT,
	GROUPS_JSON,
	GROUPS_NUL, /* the paths of exact copies that could go */
};

struct groups_printer {
	enum groups_format format;
	const char *root; /* of the mount */
	bool terminal;    /* text in bold and dim */
	size_t printed;   /* groups */
};

/* 0, or a negative errno. */
int groups_print(struct groups_printer *p, const struct found_group *group,
		 int threshold);
int groups_print_totals(struct groups_printer *p,
			const struct groups_totals *totals);

#endif
