/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SERVE_H
#define FS_SERVE_H

struct fs;

/*
 * Sets everything up, mounts, serves until unmounted or told to end by a
 * signal, and takes everything down again.  Returns the exit status of the
 * program, after a message when it is not 0.  source_fd is taken.
 */
int serve(struct fs *fs, int source_fd, const char *catalog_dir);

#endif
