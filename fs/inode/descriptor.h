/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_DESCRIPTOR_H
#define FS_INODE_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/stat.h>

struct fs;
struct handle;
struct inode;

/*
 * Descriptors of inodes and of open files.
 */

/* ---- inodes ---- */

/* A descriptor of the inode for one operation: O_PATH, or one of an open handle.
 * Called with the daemon's own credentials.  -ESTALE: the file cannot be found any
 * more. */
int inode_fd(struct fs *fs, struct inode *inode);
/* Ends the operation.  Nothing happens with an error in place of a descriptor. */
void inode_fd_close(const struct inode *inode, int fd);
int inode_stat(struct fs *fs, struct inode *inode, struct stat *out);

/* ---- names ---- */

/* Called around a rename, to update the names of inodes that are opened by
 * name.  No inode may be opened by name in between. */
bool inodes_rename_begin(struct fs *fs);
void inodes_rename_moved(struct fs *fs, struct inode *parent, int parent_fd,
			 const char *name);
void inodes_rename_end(struct fs *fs, bool begun);

/* ---- handles ---- */

/* Adds a handle to its inode's list and takes a reference; removes it and drops
 * the reference. */
void handle_attach(struct fs *fs, struct inode *inode, struct handle *h);
void handle_detach(struct fs *fs, struct handle *h);

/* The descriptor of an open file.  It is opened when it is first needed.  A
 * negative errno. */
int handle_fd(struct fs *fs, struct handle *h);

/* Whether the inode has a handle. */
bool inode_is_open(struct fs *fs, struct inode *inode);

#endif
