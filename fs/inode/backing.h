/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_BACKING_H
#define FS_INODE_BACKING_H

#include <fuse_lowlevel.h>
#include <stdbool.h>

struct fs;
struct handle;
struct inode;

/*
 * Passthrough: the kernel reads, writes and maps the file below by itself.
 *
 * The kernel is given the O_PATH descriptor of an inode once and answers with
 * an id, kept as long as the inode.  All open files of an inode pass through
 * or none does, so the first one decides: no inode without a descriptor, no
 * small file that is read (to open it below takes longer than to read it, and
 * the next time it is read from the kernel's cache), and no file that is to be
 * written to by a caller that may keep its setuid bits (see below).
 *
 * The kernel opens the file below with the flags of the caller's open() and
 * knows of no others: what fcntl() makes of O_APPEND and O_DIRECT later would
 * be lost (dd writes its last block that way).  So files opened with one of
 * them pass through for mappings only, their reads and writes are requests.
 *
 * The kernel acts with the credentials of the thread that registered the file.
 * It registers without CAP_FSETID and without groups, so that every write
 * clears the setuid bits.
 *
 * What is changed this way is seen by its times, when the last writer closes.
 * Only mappings outlive that; see file_write_out() of the engine for these.
 * Where it cannot work (tmpfs), there is no passthrough.
 */

/* In init(): asks the kernel for it where it is wanted and possible. */
void backing_want(struct fs *fs, struct fuse_conn_info *conn);

/* Before the session goes: nothing is given back from then on. */
void backing_stop(struct fs *fs);

/* Counts one more open file with these flags.  known is its stat, NULL if that
 * was not asked for.  Returns the id to open it with, or 0 when it does not
 * pass through. */
int backing_begin(fuse_req_t req, struct fs *fs, struct inode *inode, int flags,
		  const struct stat *known);
/* Counts one open file less.  The flags are those of backing_begin(); passes:
 * whether that gave an id. */
void backing_end(struct fs *fs, struct inode *inode, int flags, bool passes);

/* Puts the id into what is replied. */
void backing_show(struct fuse_file_info *fi, int id);

/* The inode goes. */
void backing_release(struct fs *fs, struct inode *inode);

#endif
