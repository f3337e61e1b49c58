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

/* Opens a file, as export_open() does; to be closed in any case. */
int export_open_path(const char *path, struct export_reader *out);

/* An operand that is an export, a mount or a directory of one: a file that can
 * be read again. */
struct export_side {
	const char *path; /* as given */
	bool seeds;       /* what seeds_read() needs of a mount is enough */
	FILE *copy;       /* of a mount: an unnamed file; else NULL */
	char *root;       /* owned; of the mount */
};

/* EXIT_OK, or EXIT_FAILED and a message. */
int export_side_prepare(struct export_side *s);
/* From its begin; as export_open(). */
int export_side_open(struct export_side *s, struct export_reader *out);
void export_side_release(struct export_side *s);

/* Says what an error of a reader means, at that line.  EXIT_FAILED. */
int export_complain(const char *path, size_t line, int err);

#endif
