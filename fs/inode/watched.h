/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_WATCHED_H
#define FS_INODE_WATCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct fs;
struct inode;

/*
 * How long the kernel may keep attributes and names.
 *
 * Where changes behind the mount are told (core/watch/watch.h), it may keep
 * them for WATCHED_TIMEOUT_S, as an event makes it forget them
 * (fs/ops/behind.h).  Where they are not, it keeps them for -o timeout.
 *
 * Attributes.  inode->kept says for how long the kernel was told attributes,
 * and an event of the file takes that back.  A reply that is on its way when
 * the event is handled must not bring old attributes back for long:
 *
 *   The kernel drops attributes of a reply when it was told to forget those of
 *   the inode after it had sent the request.  An inode that it does not know
 *   cannot be told of, so the first answer about an inode (inode->told is
 *   unset) is never for long.
 *   KEPT_LONG is set before the file is looked at.  An event that is handled after
 *   that makes the kernel forget; one that was handled before is of a change
 *   that the look has seen.
 *
 * A store to a mapping of the file moves its times, and the kernel tells
 * nothing of that.  So the attributes of a file that a process has open for
 * writing are not kept for long: a read lease is asked for, which is refused
 * then, before they are kept and when an event tells that the file was opened.
 * The lease is given back at once.
 *
 * Names, also those that do not exist.  The kernel can be made to look up all
 * that it learned before (protocol_expire_names()), replies on their way among
 * them.  So that this is done for no event that does not matter, a directory
 * has the epoch in which a name in it was last told for long; each expiry
 * begins a new one.  The epoch is set before the name is looked up.
 */
enum { WATCHED_TIMEOUT_S = 600 };

/* Before the first request; nothing is watched when fs->watch is NULL. */
int watched_open(struct fs *fs);
void watched_free(struct fs *fs);

/* Whether anything can be kept for long. */
bool watched_is_on(const struct fs *fs);

/* How long the kernel may keep the attributes, in seconds.  st, which was read
 * for this request, may be read anew. */
double watched_attr_timeout(struct fs *fs, struct inode *inode,
			    struct stat *st);

/* A name in dir, whose descriptor is fd, is about to be looked up for the
 * kernel.  How long it may keep the name. */
double watched_name_timeout(struct fs *fs, struct inode *dir, int fd);

/* The kernel is made to forget what it was told.  -ENOENT when the kernel does
 * not know the inode. */
int watched_forget_attributes(struct fs *fs, struct inode *inode);

/* The file was opened: the same if that can be for writing. */
int watched_file_opened(struct fs *fs, struct inode *inode);

/* The files with that id, one after the other: each has a reference, the one
 * before is given back. */
struct inode *watched_next(struct fs *fs, uint64_t id, struct inode *before);

/* Calls fn for every inode whose attributes are kept. */
void watched_each_kept(struct fs *fs,
		       void (*fn)(struct fs *fs, struct inode *inode));

/* The inode is freed. */
void watched_release(struct fs *fs, struct inode *inode);

#endif
