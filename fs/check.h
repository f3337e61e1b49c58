/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_CHECK_H
#define FS_CHECK_H

struct fs;

/*
 * What is looked at before anything is mounted.  Each returns 0 or a negative
 * errno after a message that says what to do.
 */

/* Opens SOURCE (O_PATH) and fills in fs->source and fs->mountpoint. */
int check_places(struct fs *fs, int *source_fd_out);

/* The directory of the catalog, made when missing; the caller frees it. */
int check_catalog(struct fs *fs, int source_fd, char **directory_out);

#endif
