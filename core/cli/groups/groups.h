/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_GROUPS_H
#define CORE_CLI_GROUPS_GROUPS_H

#include <stdbool.h>
#include <stdio.h>

#include "core/act/export/export.h"
#include "core/act/groups/groups.h"
#include "core/cli/cli.h"
#include "core/cli/table.h"

/* Functions that the commands of this folder share. */

/* ---- groups_ask.c ---- */

/* Where the groups of a command come from, and which ones: those of a mount, or
 * of a file that kin groups --json printed. */

/* Of the operands MOUNT [PATH]..., one or more: adds the path of each, owned,
 * below the root of the mount, which is found by the first if it is not known.
 * MOUNT by itself is all of it; with paths behind it only these count. */
int name_list_find(struct name_list *l, struct mount *mount, char **operands);

/* The first field of a command's job, where the options are. */
struct groups_asking {
	struct groups_wish wish;
	struct best best;   /* limit: of groups */
	const char *file;   /* instead of a mount; "-": standard input */
	struct mount mount; /* of the first path that was given */
	struct groups groups;
};

#define GROUPS_ASKING_OPTIONS                                                 \
	{ "exact", 0, NULL, "only identical files",                           \
	  OPTION_FLAG(struct groups_asking, wish.exact) },                    \
		BEST_OPTIONS(struct groups_asking, best),                     \
		FILTER_OPTIONS(struct groups_asking, wish.filter),            \
		{ "across", 0, "DIR",                                         \
		  "only groups with files below two of these; repeat it",     \
		  OPTION_TAKE(groups_asking_across) },                        \
		{ "keep", 0, "oldest|newest|shortest|DIR",                    \
		  "which exact copy stays (oldest); all below a DIR stay",    \
		  OPTION_TAKE(groups_asking_keep) },                          \
	{                                                                     \
		"vcs", 0, NULL,                                               \
			"also what lies in trashes, snapshots, .git, caches", \
			OPTION_FLAG(struct groups_asking, wish.internal)      \
	}

int groups_asking_across(void *asking, const char *directory);
int groups_asking_keep(void *asking, const char *text);

/* The operands, MOUNT [PATH]..., and what goes with what. */
int groups_asking_operands(struct groups_asking *a,
			   const struct command *command, char **operands);

/* Opens the file, or asks the mount; then progress_groups_next()
 * has a->groups one after the other. */
int groups_asking_begin(struct groups_asking *a);

/* Explains a negative errno of groups_asking_begin() or of a->groups; any other
 * code is as it was. */
int groups_asking_explain(const struct groups_asking *a, int code);

/* ---- groups.c ---- */

struct groups_printer {
	struct table table;
	struct mount *mount; /* of the files, to compare them; or NULL */
	const char *root;    /* of the mount */
	size_t printed;      /* groups */
	size_t refused;      /* with -0: files that are no copies */
};

/* Puts the members in order from new to old. */
int groups_print(struct groups_printer *p, struct found_group *group,
		 int threshold);
int groups_print_totals(struct groups_printer *p,
			const struct groups_totals *totals);

/* ---- export.c ---- */

/* Says what ended reading early, if anything did.  EXIT_OK or EXIT_FAILED. */
int export_complain(const struct export_reader *r);

#endif
