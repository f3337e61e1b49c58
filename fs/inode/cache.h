/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_CACHE_H
#define FS_INODE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct fs;
struct inode;

/*
 * What the kernel may keep: attributes, pages and listings.
 *
 * Attributes: while a file can be changed without the kernel's knowledge, the
 * kernel must ask each time.  A store to a mapping that passes through moves
 * the times of the file below, and a write request clears the setuid bits.  So
 * when such a file is opened, the kernel is made to forget what it has.
 */

/* How long the kernel may keep the attributes of an inode, in seconds. */
double cache_attr_timeout(const struct fs *fs, const struct inode *inode,
			  const struct stat *st);
/* A negative errno of the kernel. */
int cache_forget_attributes(struct fs *fs, struct inode *inode);

/* The clock of inode->notified_ns. */
int64_t cache_clock_ns(void);

/* Half a timeout ago by that clock: what the kernel was told before, it would
 * ask for again too soon. */
int64_t cache_recent_ns(const struct fs *fs);

/*
 * Whether the pages the kernel kept of this file are still its content: when
 * the file is as the previous open saw it.  Remembers what this open sees.  A
 * timestamp too young to be trusted is not remembered.
 */
bool cache_keeps_pages(struct fs *fs, struct inode *inode,
		       const struct stat *st);
void cache_forget_pages(struct fs *fs, struct inode *inode);

/*
 * Whether the kernel may list from its memory: the directory is as it was when
 * it last asked, and that is not so long ago that it forgets the attributes
 * which came with the listing.  To ask for a listing again gets them all at
 * once, if they are not known anyway.
 */
bool cache_keeps_listing(struct fs *fs, struct inode *inode,
			 const struct stat *st);

/* A name was looked up in dir: a caller that looks up most names of a listing
 * has their attributes already. */
void cache_count_lookup(const struct fs *fs, struct inode *dir);

#endif
