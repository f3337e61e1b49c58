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
 * The daemon registers the O_PATH descriptor of an inode with the kernel once,
 * and gets an id that is valid as long as the inode.  The open files of an
 * inode either all pass through, or none does; the first one decides.  These do
 * not: an inode without a descriptor; a small file that is opened for reading
 * (opening the backing file takes longer than reading); a file that is opened
 * for writing by a caller whose writes keep setuid bits (see below).
 *
 * The kernel opens the backing file with the flags of the caller's open(), and
 * later changes of O_APPEND and O_DIRECT by fcntl() do not reach it (dd changes
 * O_DIRECT before its last block).  So files opened with one of these flags
 * pass through for mappings only, and their reads and writes are requests.
 *
 * The kernel writes with the credentials of the thread that registered the
 * file.  That thread has no CAP_FSETID and no groups meanwhile, so every write
 * clears the setuid bits.
 *
 * A change by passthrough is detected by the timestamps when the last writer
 * closes.  Stores to a mapping may come later; for these see file_write_out()
 * in core/source/file.h.  On filesystems where mappings never change timestamps
 * (tmpfs) there is no passthrough.
 */

/* Called by init(): asks the kernel for passthrough if it is possible. */
void backing_want(struct fs *fs, struct fuse_conn_info *conn);

/* Called before the session ends: ids are no longer released. */
void backing_stop(struct fs *fs);

/* Counts an open file with these flags.  known is its stat; NULL: not known.
 * Returns the id to reply with; 0: the file does not pass through. */
int backing_begin(fuse_req_t req, struct fs *fs, struct inode *inode, int flags,
		  const struct stat *known);
/* Ends the counting.  flags as for backing_begin(); passes: it returned an
 * id. */
void backing_end(struct fs *fs, struct inode *inode, int flags, bool passes);

/* Sets the id in the reply to an open. */
void backing_show(struct fuse_file_info *fi, int id);

/* The inode is freed: releases its id. */
void backing_release(struct fs *fs, struct inode *inode);

/* ---- mapped.c ---- */

/*
 * Writes out pages that were changed through a shared mapping of the mount.
 *
 * The kernel writes such pages back later, and until then the timestamps of the
 * file below do not change.  So before a digest of a file that may be mapped
 * for writing is used, the kernel is told to write its pages back.  That waits
 * for write requests to the daemon, so a thread of its own does it.
 */
int mapped_open(struct fs *fs);
/* From now on done is called with -ECANCELED. */
void mapped_stop(struct fs *fs);
/* Ends the thread; called after the unmount. */
void mapped_free(struct fs *fs);

/* Whether a writable mapping can exist: a handle is open for reading and
 * writing. */
bool mapped_is_possible(struct fs *fs, struct inode *inode);

/* Calls done() once, from the thread, after the pages have been written.  Its
 * result is 0 or -ECANCELED.  The caller holds a reference to inode until then.
 * -ENOMEM. */
int mapped_write_out(struct fs *fs, struct inode *inode,
		     void (*done)(void *arg, int result), void *arg);

#endif
