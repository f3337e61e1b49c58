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
 * Reports operations of the mount to the engine, and has the mount's callbacks
 * for the engine.  None of these functions waits.
 */

/* Fills in options->host. */
void notify_host(struct fs *fs, struct engine_options *options);

/* The engine's key of a file; computed once. */
int notify_key(struct fs *fs, struct inode *inode, struct file_key *out);

/* A lookup or getattr has read the stat of a file. */
void notify_looked_up(struct fs *fs, struct inode *inode,
		      const struct stat *st);

/* The file was opened for writing by fd.  Called before the reply. */
void notify_opened(struct fs *fs, struct inode *inode, int fd);

/* A descriptor for writing was closed; perhaps not the last one. */
void notify_flushed(struct fs *fs, struct inode *inode, int fd);

/* Called before the content is changed. */
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
/* A name was added, and its file cannot be examined: the tree is scanned. */
void notify_lost(struct fs *fs);
void notify_removed(struct fs *fs, struct inode *parent, const char *name);
struct moved {
	struct inode *parent, *new_parent;
	const char *name, *new_name;
	struct inode *child; /* the file that moved; NULL: not known */
	bool exchange;
};

void notify_moved(struct fs *fs, const struct moved *m);

#endif
