/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_FILE_H
#define CORE_SOURCE_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/catalog/catalog.h"

/*
 * Opens files without trusting their paths.  A file is opened below a directory
 * descriptor, without following symbolic links, as O_PATH first unless it is
 * known to be a regular one.  It is used only if its stat and file handle show
 * that it is the right one.
 */

/* Opens a relative path of any length below root_fd.  "" is root_fd itself. */
int file_open_beneath(int root_fd, const char *path, int flags);

/* The names in a directory that may be those of regular files or directories.
 * file_names_next() returns 1 with the next one, 0 at the end, or a negative
 * errno; closedir() ends the walk.  Moves the file offset of dir_fd, so there
 * can be one walk for a descriptor. */
int file_names_begin(int dir_fd, DIR **out);
int file_names_next(DIR *dir, const char **name_out);

/* As file_open_beneath(), for reading.  The caller knows that the path is one
 * of a regular file. */
int file_open_to_read(int root_fd, const char *path);

/* Opens the regular file behind an O_PATH descriptor for reading. */
int file_reopen(int path_fd);

/* Gives the file behind a descriptor, which may be O_PATH, another name. */
int file_link(int fd, int directory, const char *name);

/*
 * Writes out the pages that are dirty through mappings, before the file is
 * hashed.  The first store to a clean page of a mapping updates the timestamps,
 * and further stores to that page do not.  Once the pages are clean, the next
 * store changes the identity of the file.  May wait for the disk.  fd is open
 * for reading, and no other descriptor shares its file description.
 */
void file_write_out(int fd, const struct file_identity *id);

/* As pread(); a negative errno.  cached: else it adds no pages to the page cache, if
 * the kernel supports that (RWF_DONTCACHE). */
ssize_t file_pread(int fd, void *buffer, size_t len, uint64_t offset,
		   bool cached);

#endif
