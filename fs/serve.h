/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SERVE_H
#define FS_SERVE_H

struct fs;

/*
 * Mounts, and serves requests until the filesystem is unmounted or a signal
 * comes.  Returns the exit status of the program; not 0: after a message.
 * Takes source_fd.
 */
int serve(struct fs *fs, int source_fd, const char *catalog_dir);

#endif
