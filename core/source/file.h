/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_FILE_H
#define CORE_SOURCE_FILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/engine/engine.h"

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

/* An O_PATH descriptor of the file with that key and its stat: through the
 * host if it knows it, else by its names.  -ENOENT when it cannot be found. */
int file_find(struct engine *e, const struct file_key *key, int *fd_out,
	      struct stat *st_out);

/* The same, but it may be a directory, too. */
int file_find_any(struct engine *e, const struct file_key *key, int *fd_out,
		  struct stat *st_out);

/* Its path relative to SOURCE as it is now; -ENOENT when it has none or lies
 * outside. */
int file_path(const struct engine *e, int fd, char **path_out);

/* Whether a relative path is excluded: a glob without '/' matches any one
 * component, one with '/' matches the path or a leading part of it. */
bool path_is_excluded(const char *path, const char *const *globs, size_t count);

/* The rule that keeps a regular file from being hashed, or NULL. */
const char *file_skip_rule(const struct engine *e, int fd,
			   const struct stat *st);

/*
 * Before a file is hashed; fd is one of its for reading, shared with nobody.
 * A store through a mapping moves the times of the file when its page was
 * clean before, and no store to it moves them afterwards.  So what may be
 * dirty through a mapping, made by whomever, is written out: from then on the
 * next store moves the times first.  Waits for the disk then.
 */
void file_write_out(int fd, const struct file_identity *id);

/* The device part of a key. */
uint32_t file_device(const struct engine *e, dev_t device);

/* The key of an entry of an open directory, or with the name "" of fd itself,
 * in a tree whose root is on source_dev. */
void file_key_make(dev_t source_dev, int fd, const char *name,
		   const struct stat *st, struct file_key *out);

/* The key of an entry of an open directory. */
void file_key_at(const struct engine *e, int dir_fd, const char *name,
		 const struct stat *st, struct file_key *out);

/* As pread(), but leaves the page cache as it was, where the kernel can do
 * that: pages that were there before stay.  A negative errno. */
ssize_t file_read_uncached(int fd, void *buffer, size_t len, uint64_t offset);

#endif
