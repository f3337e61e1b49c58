/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_METADATA_CHANGE_H
#define FS_OPS_METADATA_CHANGE_H

#include "core/catalog/catalog.h"

struct fs;
struct inode;

/*
 * Around an operation that moves the ctime of a regular file and leaves its
 * content alone (rename, link, chmod, ...): what was known of the content
 * stays known, and the file need not be read again.  That holds under two
 * conditions; where one is missing, the file is hashed again.
 *
 * No process changes the content between the two looks at the file's times: a
 * read lease, held from before the first to after the second, says so.
 *
 * A change after the second look moves the ctime once more.  Where it is
 * counted in clock ticks or in seconds, a change within the same one does not.
 * So the filesystem must give a change that follows a stat() a time of its own
 * (the multigrain timestamps of Linux 6.13 and newer), which is found out with
 * the first file whose metadata changes.
 */
struct metadata_change {
	struct inode *inode; /* NULL: nothing to do; else a reference */
	int fd;              /* holds the lease; -1: there is none */
	struct file_identity before;
};

enum metadata_change_times {
	METADATA_TIMES_UNKNOWN, /* so far */
	METADATA_TIMES_FINE,    /* a change after a look has another ctime */
	METADATA_TIMES_COARSE,
};

void metadata_change_begin(struct fs *fs, struct inode *inode,
			   struct metadata_change *out);
void metadata_change_end(struct fs *fs, struct metadata_change *change);

#endif
