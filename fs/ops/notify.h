/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_NOTIFY_H
#define FS_OPS_NOTIFY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "core/catalog/catalog.h"
#include "fs/inode/inode.h"

struct fs;
struct engine_options;

/*
 * Between the mount and the engine: what the mount does is told to the engine,
 * what the engine wants to know of the mount it gets here.  None of these
 * waits for anything.
 */

/* Fills in options->host. */
void notify_host(struct fs *fs, struct engine_options *options);

/* The engine's key of a file; computed once. */
int notify_key(struct fs *fs, struct inode *inode, struct file_key *out);

/* A lookup or getattr of a regular file got this from the disk. */
void notify_looked_up(struct fs *fs, struct inode *inode,
		      const struct stat *st);

/* The file was opened for writing by fd; before the caller hears of it. */
void notify_opened(struct fs *fs, struct inode *inode, int fd);

/* A descriptor for writing was closed, perhaps not the last one. */
void notify_flushed(struct fs *fs, struct inode *inode, int fd);

/* Before the content is changed. */
static inline void notify_writes(struct inode *inode)
{
	if (atomic_load(&inode->flushed))
		atomic_store(&inode->flushed, false);
}

/* The last handle for writing was closed; fd is one of the file. */
void notify_closed(struct fs *fs, struct inode *inode, int fd);

/* Names of regular files and directories changed. */
void notify_added(struct fs *fs, struct inode *parent, const char *name,
		  struct inode *child);
/* One was made, and what became of it is not known. */
void notify_lost(struct fs *fs);
void notify_removed(struct fs *fs, struct inode *parent, const char *name);
struct moved {
	struct inode *parent, *new_parent;
	const char *name, *new_name;
	struct inode *child; /* what moved; NULL: not known */
	bool exchange;
};

void notify_moved(struct fs *fs, const struct moved *m);

#endif
