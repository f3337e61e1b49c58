/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_FILE_H
#define CORE_SOURCE_FILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/catalog/catalog.h"

/*
 * Reaching files without trusting paths: everything is opened below a
 * directory descriptor without following a symbolic link, O_PATH first, and
 * believed only when its stat and handle say that it is the file meant.
 */

/* Opens a relative path of any length below root_fd.  "" is root itself. */
int file_open_beneath(int root_fd, const char *path, int flags);

/* Calls visit for each name in a directory open for reading that may be that
 * of a regular file or a directory, and ends when it returns anything but 0,
 * with that.  Once for a descriptor. */
typedef int file_visit_fn(void *arg, int dir_fd, const char *name);
int file_each_in(int dir_fd, file_visit_fn *visit, void *arg);

/* A descriptor for reading the regular file behind an O_PATH one. */
int file_reopen(int path_fd);

/*
 * Before a file is hashed; fd is open for reading, and no other descriptor
 * shares its description.
 * A store through a mapping moves the times of the file when its page was
 * clean before, and no store to it moves them afterwards.  So what may be
 * dirty through a mapping, made by whomever, is written out: from then on the
 * next store moves the times first.  Waits for the disk then.
 */
void file_write_out(int fd, const struct file_identity *id);

/* As pread(), but leaves the page cache as it was, where the kernel can do
 * that: pages that were there before stay.  A negative errno. */
ssize_t file_read_uncached(int fd, void *buffer, size_t len, uint64_t offset);

#endif
