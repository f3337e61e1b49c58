/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_EXPORT_MOUNT_H
#define CORE_CLI_GROUPS_EXPORT_MOUNT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/act/export/export.h"
#include "core/client/client.h"

/* Writes the export of a mount, or of what is below the path in it, as far as
 * the filter takes it; seeds: see export_write().  EXIT_OK, or EXIT_FAILED and a
 * message. */
int export_mount(const struct mount *mount, const struct filter *filter,
		 FILE *out, bool seeds, bool *incomplete_out);

/* Of an operand that is a mount or in one, exports it to a file without a name.
 * EXIT_OK, or EXIT_FAILED and a message. */
int export_source_prepare(struct export_source *s);
void export_source_release(struct export_source *s);

/* Says what an error of a reader means, at that line.  EXIT_FAILED. */
int export_complain(const char *path, size_t line, int err);

#endif
