/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_SOURCE_H
#define CORE_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/catalog/catalog.h"
#include "core/source/times.h"

/*
 * SOURCE: the directory tree that is mounted, and the files in it.
 *
 * Three things say which file and which state of it is meant:
 *
 *   key       inode, generation and device (catalog.h).  It outlives every
 *             name; a path is only a hint where to look.
 *   identity  size, mtime and ctime.  Digests are those of one identity.
 *   times     how far the timestamps of an identity can be relied on (times.h).
 *
 * A file is reached through the host (the mount has it open), else through the
 * names that the catalog knows.  Either way it is opened O_PATH first and
 * believed only when its key is right.  file.h has the calls that do so without
 * following symbolic links.
 *
 * The struct is constant after source_init(), so all threads share it without a
 * lock.  This module never writes to SOURCE, never opens special files for
 * reading, and never trusts a path that it was given.
 */

/* Whether a file is open for writing through the host. */
enum source_use {
	SOURCE_UNUSED,
	SOURCE_WRITTEN,
	/* The writer has closed a descriptor since it wrote; whether that was
	 * the last one the host knows when it has caught up. */
	SOURCE_CLOSING,
};

/* Which regular files are hashed. */
struct source_rules {
	uint64_t min_size;           /* files below are skipped */
	uint64_t max_size;           /* files above are skipped; 0: no limit */
	const char *const *excludes; /* globs, see source_is_excluded() */
	size_t exclude_count;
	bool cross; /* also other filesystems mounted below SOURCE */
};

struct source {
	int fd;                    /* O_PATH directory; borrowed */
	const char *path;          /* absolute; borrowed */
	struct source_rules rules; /* strings borrowed */
	/* See struct engine_host; each may be NULL. */
	void *ctx;
	int (*open_known)(void *ctx, dev_t device, ino_t inode);
	enum source_use (*use)(void *ctx, dev_t device, ino_t inode);

	/* By source_init(). */
	dev_t device;
	struct file_key root;
	enum times_worth times;
};

/* Finds out the last three from the others; a negative errno. */
int source_init(struct source *s);

/* ---- keys and identities ---- */

/* The key of an open descriptor (O_PATH will do) whose stat is st. */
void source_get_key(const struct source *s, int fd, const struct stat *st,
		    struct file_key *out);

/* The key of an entry of an open directory. */
void source_get_entry_key(const struct source *s, int dir_fd, const char *name,
			  const struct stat *st, struct file_key *out);

/* Either of the two (name "": of fd itself) in a tree whose root is on
 * source_device. */
void source_make_key(dev_t source_device, int fd, const char *name,
		     const struct stat *st, struct file_key *out);

/* The device part of a key. */
uint32_t source_get_device(const struct source *s, dev_t device);

void source_get_identity(const struct stat *st, struct file_identity *out);

/* What the times of the file are worth.  Of other filesystems than that of
 * SOURCE nothing is known. */
enum times_worth source_get_times(const struct source *s,
				  const struct file_key *key);

/* ---- finding files ---- */

/* An O_PATH descriptor of the regular file with that key, or of the directory
 * (which), and its stat: through the host if it knows the file, else by its
 * names in the catalog.  -ENOENT when it cannot be found. */
enum source_which { SOURCE_FILE, SOURCE_FILE_OR_DIRECTORY };

int source_find(const struct source *s, struct catalog *catalog,
		const struct file_key *key, enum source_which which,
		int *fd_out, struct stat *st_out);

/* The present path of an open file, relative to SOURCE (free() it); -ENOENT
 * when it has none or lies outside. */
int source_get_path(const struct source *s, int fd, char **path_out);

enum source_use source_get_use(const struct source *s, const struct stat *st);

/* ---- rules ---- */

/* Whether a relative path matches one of the excluding globs: a glob without
 * '/' matches any one component, one with '/' matches the path or a leading
 * part of it. */
bool source_is_excluded(const struct source *s, const char *path);

/* The rule that keeps a regular file from being hashed ("min_size", ...), or
 * NULL. */
const char *source_skip_rule(const struct source *s, int fd,
			     const struct stat *st);

#endif
