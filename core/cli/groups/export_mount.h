/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_EXPORT_MOUNT_H
#define CORE_CLI_GROUPS_EXPORT_MOUNT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/export/export.h"

/* Writes the export of a mount.  EXIT_OK, or EXIT_FAILED and a message. */
int export_mount(const char *root, FILE *out, bool *incomplete_out);

/* Opens a file, as export_open() does; to be closed in any case. */
int export_open_path(const char *path, struct export_reader *out);

/* Says what an error of a reader means, at that line.  EXIT_FAILED. */
int export_complain(const char *path, size_t line, int err);

#endif
