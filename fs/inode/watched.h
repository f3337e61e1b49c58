/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_WATCHED_H
#define FS_INODE_WATCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct fs;
struct inode;

/*
 * How long the kernel may cache attributes and names.
 *
 * Where changes behind the mount are reported (core/watch/watch.h), the kernel
 * may cache for WATCHED_TIMEOUT_S, and an event invalidates its cache
 * (fs/ops/behind.h).  Elsewhere it caches for -o timeout.
 *
 * Attributes.  inode->kept says for how long the kernel may cache the
 * attributes that it was sent; an event of the file resets it.  A reply may be
 * on its way to the kernel while an event is handled, and must not bring old
 * attributes for long.  There are two cases:
 *
 *   The kernel knows the inode.  It ignores the attributes of a reply if they
 *   were invalidated after the request.  An inode that the kernel does not know
 *   cannot be invalidated, so the attributes of the first reply about an inode
 *   (inode->attr_sent is false) are never cached for long.
 *
 *   The daemon reads the attributes.  KEPT_LONG is set before that.  An event
 *   that is handled later invalidates them.  An event that was handled earlier
 *   is of a change that the daemon has read.
 *
 * A store to a mapping changes the timestamps of the file, and no event reports
 * that.  So attributes of a file that any process has open for writing are not
 * cached for long.  To find out, the daemon takes a read lease, which fails
 * then, and returns it at once.  It does so before attributes are cached for
 * long, and when an event reports that the file was opened.
 *
 * Names, also negative ones.  The kernel can be told to look up again all names
 * that it got before (protocol_expire_names()); that includes replies on their
 * way.  To avoid needless expiries, a directory has the epoch in which one of
 * its names was last sent for long; each expiry begins a new epoch.  The epoch
 * is stored before the name is looked up.
 */
enum { WATCHED_TIMEOUT_S = 600 };

/* Called before the first request.  Does nothing if fs->watch is NULL. */
int watched_open(struct fs *fs);
void watched_free(struct fs *fs);

/* Whether the kernel may cache anything for long. */
bool watched_is_on(const struct fs *fs);

/* How long the kernel may cache the attributes, in seconds.  May read *st
 * again. */
double watched_attr_timeout(struct fs *fs, struct inode *inode,
			    struct stat *st);

/* How long the kernel may cache a name in dir, whose descriptor is fd.  Called
 * before the name is looked up. */
double watched_name_timeout(struct fs *fs, struct inode *dir, int fd);

/* Invalidates the attributes in the kernel, if they are cached.  -ENOENT: the
 * kernel does not know the inode. */
int watched_forget_attributes(struct fs *fs, struct inode *inode);

/* The file was opened: whether its attributes are cached for long and it may be
 * open for writing. */
bool watched_may_be_written(struct fs *fs, struct inode *inode);

/* The next inode with that id after before, whose reference is dropped (NULL: the
 * first); takes a reference to the result. */
struct inode *watched_next(struct fs *fs, uint64_t id, struct inode *before);

/* Calls fn for every inode with attributes in the kernel's cache. */
void watched_each_kept(struct fs *fs,
		       void (*fn)(struct fs *fs, struct inode *inode));

/* The inode is freed: removes it from the table. */
void watched_release(struct fs *fs, struct inode *inode);

#endif
