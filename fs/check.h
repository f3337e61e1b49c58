/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_CHECK_H
#define FS_CHECK_H

struct fs;

/*
 * Checks before the mount.  Each function returns 0, or a negative errno after
 * a message that tells the user what to do.
 */

/* Checks SOURCE and the mount point; opens SOURCE (O_PATH) and sets fs->source
 * and fs->mountpoint. */
int check_places(struct fs *fs, int *source_fd_out);

/* Checks the directory of the catalog, and makes it if it is missing.  The
 * caller frees *directory_out. */
int check_catalog(struct fs *fs, int source_fd, char **directory_out);

#endif
