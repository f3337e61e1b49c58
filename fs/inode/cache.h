/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_CACHE_H
#define FS_INODE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct fs;
struct inode;

/*
 * What the kernel may cache: attributes, pages and listings.
 *
 * Attributes are not cached while a file can change without the kernel's
 * knowledge.  A store to a mapping that passes through changes the timestamps
 * of the backing file, and a write request clears setuid bits.  When a file is
 * opened for one of these, the kernel's attributes are invalidated.
 */

/* How long the kernel may cache the attributes of an inode, in seconds. */
double cache_attr_timeout(const struct fs *fs, const struct inode *inode,
			  const struct stat *st);
/* Invalidates the attributes in the kernel.  A negative errno. */
int cache_forget_attributes(struct fs *fs, struct inode *inode);

/* The clock of inode->notified_ns. */
int64_t cache_clock_ns(void);

/* Half of -o timeout ago, by that clock.  Attributes that were sent before are
 * sent again with a listing, as they expire soon. */
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

#endif
