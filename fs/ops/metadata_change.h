/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_METADATA_CHANGE_H
#define FS_OPS_METADATA_CHANGE_H

#include "core/catalog/catalog.h"

struct fs;
struct inode;

/*
 * Used around an operation that changes the ctime of a regular file but not its
 * content (rename, link, chmod, ...), so that the digests stay valid and the
 * file need not be hashed again.  There are two conditions; if one is not met,
 * the file is hashed again.
 *
 * First, no process changes the content between the stat before the operation
 * and the stat after it.  A read lease that is held all the time ensures that.
 *
 * Second, a change after the second stat must get another ctime.  That is not
 * so if the filesystem counts in clock ticks or seconds.  It is so with the
 * multigrain timestamps of Linux 6.13 and newer: a change that follows a stat
 * gets a later time.  The first file whose metadata changes is used to find out
 * which kind SOURCE has.
 */
struct metadata_change {
	struct inode *inode; /* NULL: nothing to do; else a reference */
	int fd;              /* holds the lease; -1: there is none */
	struct file_identity before;
};

enum metadata_change_times {
	METADATA_TIMES_UNKNOWN, /* not found out yet */
	METADATA_TIMES_FINE,    /* a change after a stat has another ctime */
	METADATA_TIMES_COARSE,
};

void metadata_change_begin(struct fs *fs, struct inode *inode,
			   struct metadata_change *out);
void metadata_change_end(struct fs *fs, struct metadata_change *change);

#endif
