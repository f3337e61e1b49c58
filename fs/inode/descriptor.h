/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_DESCRIPTOR_H
#define FS_INODE_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

struct fs;
struct handle;
struct inode;

/*
 * Descriptors of inodes and of open files.
 */

/* ---- inodes ---- */

struct path_fd {
	int fd; /* O_PATH, or a descriptor of an open handle */
	bool owned;
};

/* A descriptor of the inode for one operation.  To be called with the
 * daemon's own credentials.  -ESTALE when it is not to be found any more. */
int inode_path_fd(struct fs *fs, struct inode *inode, struct path_fd *out);
void path_fd_close(struct path_fd *p);

/* ---- names ---- */

/* Around a rename: the inodes that are found by name are told their new names.
 * Nothing may be opened by name in between. */
bool inodes_rename_begin(struct fs *fs);
void inodes_rename_moved(struct fs *fs, struct inode *parent, int parent_fd,
			 const char *name);
void inodes_rename_end(struct fs *fs, bool begun);

/* ---- handles ---- */

/* Puts a handle on its inode's list (takes a reference) and off it again
 * (drops it). */
void handle_attach(struct fs *fs, struct inode *inode, struct handle *h);
void handle_detach(struct fs *fs, struct handle *h);

/* The descriptor of an open file, opened now if it was not needed so far; a
 * negative errno. */
int handle_fd(struct fs *fs, struct handle *h);

/* Whether the inode has a handle. */
bool inode_is_open(struct fs *fs, struct inode *inode);

#endif
