/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_CACHE_H
#define FS_INODE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct fs;
struct inode;

/*
 * What the kernel may cache, and for how long: attributes, names, pages and
 * listings.
 *
 * Where changes behind the mount are reported (core/watch/watch.h), the kernel
 * may cache attributes and names for CACHE_LONG_S, and an event invalidates its
 * cache (fs/ops/notify.h).  Elsewhere it caches for -o timeout.
 *
 * Attributes are not cached while a file can change without the kernel's
 * knowledge.  A store to a mapping that passes through changes the timestamps
 * of the backing file, and a write request clears setuid bits.  When a file is
 * opened for one of these, the kernel's attributes are invalidated.
 *
 * inode->kept says for how long the kernel may cache the attributes that it was
 * sent; an event of the file resets it.  A reply may be on its way to the kernel
 * while an event is handled, and must not bring old attributes for long.  There
 * are two cases:
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
 * No event reports a store to a mapping.  So attributes of a file that any
 * process has open for writing are not cached for long.  To find out, the daemon
 * takes a read lease, which fails then, and returns it at once.  It does so
 * before attributes are cached for long, and when an event reports that the file
 * was opened.
 *
 * Names, also negative ones.  An event says which name in which directory has
 * changed, and the kernel is told to look up that name again, if a name in the
 * directory was sent for long (inode->names_kept, which is set before the name is
 * looked up).  No other names are touched, and none is dropped: something may be
 * mounted there (protocol_expire_name()).  The kernel holds the lock of the
 * directory while it looks up a name that it does not have, so a reply on its way
 * is stored before the name expires.  It does not while it looks up once more a
 * name that it has; so the name expires a second time after AGAIN_MS.
 *
 * When events were lost, all names expire that were sent for long.  So these are
 * stored until they are older than CACHE_LONG_S; a name for which there is no
 * room is not sent for long.
 */
enum { CACHE_LONG_S = 600 };

/* Called before the first request.  Does nothing if fs->watch is NULL. */
int cache_open(struct fs *fs);
void cache_free(struct fs *fs);
/* The inode is freed: removes it from the table of watched ones. */
void cache_release(struct fs *fs, struct inode *inode);

/* Whether the kernel may cache anything for long. */
bool cache_is_watched(const struct fs *fs);

/* How long the kernel may cache the attributes, in seconds.  May read *st
 * again.  cache_short_timeout(): without regard to reported changes. */
double cache_attr_timeout(struct fs *fs, struct inode *inode, struct stat *st);
double cache_short_timeout(const struct fs *fs, const struct inode *inode,
			   const struct stat *st);

/* How long the kernel may cache a name in dir, whose descriptor is fd.  Called
 * before the name is looked up. */
double cache_name_timeout(struct fs *fs, struct inode *dir, int fd,
			  const char *name);
/* A file is about to be renamed through the mount to a name in dir, which the
 * kernel then caches for as long as the former one. */
void cache_name_moves(struct fs *fs, struct inode *dir, int fd,
		      const char *name);

/* Invalidates the attributes in the kernel; cache_forget_kept(): if they are
 * cached.  -ENOENT: the kernel does not know the inode. */
int cache_forget_attributes(struct fs *fs, struct inode *inode);
int cache_forget_kept(struct fs *fs, struct inode *inode);

/* The file was opened: whether its attributes are cached for long and it may be
 * open for writing. */
bool cache_may_be_written(struct fs *fs, struct inode *inode);

/* The next inode with that id after before, whose reference is dropped (NULL: the
 * first); takes a reference to the result. */
struct inode *cache_next_watched(struct fs *fs, uint64_t id,
				 struct inode *before);

/* Calls fn for every inode with attributes in the kernel's cache. */
void cache_each_kept(struct fs *fs,
		     void (*fn)(struct fs *fs, struct inode *inode));

/* The clock of inode->notified_ns, and half of -o timeout ago: attributes that
 * were sent before are sent again with a listing, as they expire soon. */
int64_t cache_clock_ns(void);
int64_t cache_recent_ns(const struct fs *fs);

/*
 * Whether the kernel's cached pages are valid: the file is as it was at the
 * previous open.  Stores the state of this open, unless its ctime is so young
 * that another change could have the same one.
 */
bool cache_keeps_pages(struct fs *fs, struct inode *inode,
		       const struct stat *st);
void cache_forget_pages(struct fs *fs, struct inode *inode);

/*
 * Whether the kernel may use its cached listing: the directory has not changed
 * since it was read, and the attributes that came with the listing have not
 * expired.  If they have, reading the listing again gets all of them at once,
 * unless the kernel has most of them by lookups.
 */
bool cache_keeps_listing(struct fs *fs, struct inode *inode,
			 const struct stat *st);

/* Counts the lookup of a name in dir, for cache_keeps_listing(). */
void cache_count_lookup(const struct fs *fs, struct inode *dir);

/* ---- names.c ---- */

/* Starts the thread that has names expire, and makes fs->names.  That waits for
 * requests, see protocol_expire_name(). */
int names_start(struct fs *fs);
void names_stop(struct fs *fs);
/* Ends the thread; called after the unmount. */
void names_free(struct fs *fs);

/* Stores that the name is sent for long; false: it must not be. */
bool names_keep(struct fs *fs, struct inode *dir, const char *name);

/* Has a name expire, or all; returns at once. */
void names_expire(struct fs *fs, struct inode *dir, const char *name);
void names_expire_all(struct fs *fs);

#endif
