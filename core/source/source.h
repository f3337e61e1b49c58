/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_SOURCE_H
#define CORE_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/catalog/catalog.h"
#include "core/source/filesystem.h"

/*
 * SOURCE: the directory tree that is mounted, and the files in it.
 *
 * Three terms describe a file and its state:
 *
 *   key       inode, generation and device (catalog.h).  It does not change
 *             when the file is renamed; a path is only a hint.  The device is
 *             0 on SOURCE's filesystem if that keeps its inode numbers, else a
 *             number for which the inode numbers are valid (filesystem.h).
 *   identity  size, mtime and ctime.  Digests are valid for one identity.
 *   times     whether the timestamps show every change of content (times.h).
 *
 * A file is opened through the host, if that has it open, else by its names in
 * the catalog.  Either way it is used only if its key is right.  file.h has the
 * calls for that, which follow no symbolic links.
 *
 * A file to be read is opened once, if the file at the path is the one of the
 * catalog's record at that moment.  Every other file is opened O_PATH first.
 * So a special file is not opened for reading, unless it takes the place of the
 * regular one between stat() and open(); it is closed unread then, and open()
 * has waited for nothing (O_NONBLOCK, O_NOCTTY).
 *
 * The struct is constant after source_init(), so all threads share it without a
 * lock.  This module never writes to SOURCE, never reads special files, and
 * never trusts a path that it was given.
 */

/* Whether a file is open for writing through the host. */
enum source_use {
	SOURCE_UNUSED,
	SOURCE_WRITTEN,
	/* A writer has closed a descriptor.  Whether that was the last one is
	 * known when the host has caught up (engine_host.catch_up). */
	SOURCE_CLOSING,
};

/* Which regular files are hashed. */
struct source_rules {
	uint64_t min_size;           /* files below are skipped */
	uint64_t max_size;           /* files above are skipped; 0: no limit */
	const char *const *excludes; /* globs, see source_is_excluded() */
	size_t exclude_count;
	bool cross; /* include filesystems mounted below SOURCE */
};

struct source {
	int fd;                    /* O_PATH directory; borrowed */
	const char *path;          /* absolute; borrowed */
	struct source_rules rules; /* strings borrowed */
	/* See struct engine_host; each may be NULL. */
	void *ctx;
	int (*open_known)(void *ctx, dev_t device, ino_t inode);
	enum source_use (*use)(void *ctx, dev_t device, ino_t inode);
	bool (*catch_up)(void *ctx);

	/* Set by source_init(). */
	dev_t device;
	struct file_key root;
	struct filesystem filesystem;
};

/* Sets device, root and filesystem.  A negative errno. */
int source_init(struct source *s);

/* ---- keys and identities ---- */

/* The key of an open descriptor (O_PATH will do) whose stat is st. */
void source_get_key(const struct source *s, int fd, const struct stat *st,
		    struct file_key *out);

/* The key of an entry of an open directory. */
void source_get_entry_key(const struct source *s, int dir_fd, const char *name,
			  const struct stat *st, struct file_key *out);

/* What the inode number of such an entry is worth. */
enum inode_numbers source_get_numbers(const struct source *s, int dir_fd,
				      const char *name, const struct stat *st);

/* Whether the key is of a file on SOURCE's own filesystem. */
static inline bool source_is_own(const struct source *s,
				 const struct file_key *key)
{
	return key->device == s->root.device;
}

/* Whether the inode number is that of such a key.  The generation may
 * differ. */
static inline bool source_has_number(const struct source *s,
				     const struct file_key *key,
				     const struct stat *st)
{
	return source_is_own(s, key) && st->st_dev == s->device &&
	       st->st_ino == key->inode;
}

void source_get_identity(const struct stat *st, struct file_identity *out);

/* TIMES_DOUBTFUL for every file on another filesystem than SOURCE. */
enum times_worth source_get_times(const struct source *s,
				  const struct file_key *key);

/* ---- finding files ---- */

enum source_which { SOURCE_FILE, SOURCE_FILE_OR_DIRECTORY };

struct source_found {
	int fd;        /* O_PATH, unless readable is set */
	bool readable; /* SOURCE_FILE only: fd is open for reading */
	struct stat st;
};

static inline void source_found_close(struct source_found *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* Opens the file with that key: through the host if that has it open, else by
 * its names in the catalog.  -ENOENT: it was not found, or is of another type.
 * The caller closes out->fd. */
int source_find(const struct source *s, struct catalog *catalog,
		const struct file_key *key, enum source_which which,
		struct source_found *out);

/* The present path of an open file, relative to SOURCE (free() it).  -ENOENT:
 * it has no name, or is not below SOURCE. */
int source_get_path(const struct source *s, int fd, char **path_out);

/* Whether the file has no name any more.  Some filesystems tell a link count of
 * 0 of files that have names. */
bool source_is_removed(const struct source *s, int fd, const struct stat *st);

enum source_use source_get_use(const struct source *s, const struct stat *st);
/* See engine_host.catch_up. */
bool source_catch_up(const struct source *s);

/* ---- rules ---- */

/* Whether a relative path matches one of the excluding globs (filter.h). */
bool source_is_excluded(const struct source *s, const char *path);

/* The rule that keeps a regular file, or all files in a directory, from being
 * hashed ("min_size", ...), or NULL.  The path is relative to SOURCE. */
const char *source_skip_rule(const struct source *s, const char *path,
			     const struct stat *st);
/* The same of an open file. */
const char *source_skip_rule_at(const struct source *s, int fd,
				const struct stat *st);

#endif
