/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_REPORT_MOUNT_H
#define CORE_CLI_GROUPS_REPORT_MOUNT_H

#include "core/cli/cli.h"
#include "core/act/report/report.h"

/*
 * The parts of a report beside the groups, asked of the mount: which of the
 * directories with most to save resemble others, from their .dirs views, and
 * which files have no digests.  Shows progress on a terminal.
 */

/* Complains itself: EXIT_OK or EXIT_FAILED. */
int report_ask_mount(struct report *report, const struct mount *mount);

#endif
