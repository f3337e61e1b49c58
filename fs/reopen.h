/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_REOPEN_H
#define FS_REOPEN_H

#include <stdbool.h>
#include <stddef.h>

#include "fs/inode.h"

/*
 * Finding the file of an inode that has no descriptor (see inode.h).  Private
 * to inode.c and reopen.c.
 */

#define FILE_HANDLE_MAX 128 /* MAX_HANDLE_SZ */

/* What name_to_handle_at() says; bytes is 0 where the filesystem has none. */
struct file_handle_copy {
	bool read; /* the rest is filled in */
	int mount_id;
	int type;
	unsigned bytes;
	unsigned char data[FILE_HANDLE_MAX];
};

struct mount;

struct reopen {
	struct mount *mount;  /* open by handle; NULL: by name */
	struct inode *parent; /* holds a reference; names lock */
	char *name;           /* names lock */
	int handle_type;
	unsigned handle_bytes; /* 0: none, identity is (dev, ino) alone */
	unsigned char handle[];
};

struct reopener;

/* source_fd: O_PATH of SOURCE, borrowed. */
int reopener_new(int source_fd, struct reopener **out);
void reopener_free(struct reopener *r);

void file_handle_read(int fd, struct file_handle_copy *out);

/* How to find the file again. */
int reopen_new(struct reopener *r, const struct found *found,
	       const struct file_handle_copy *handle, struct reopen **out);

/* Returns the parent, whose reference goes to the caller; NULL if none. */
struct inode *reopen_free(struct reopener *r, struct reopen *reopen);

bool reopen_same_handle(const struct reopen *reopen,
			const struct file_handle_copy *handle);

/* The file was seen under this name. */
void reopen_named(struct fs *fs, struct reopener *r, struct inode *inode,
		  struct inode *parent, const char *name);

/* A new O_PATH descriptor of an inode that has none, verified to be of the
 * same file: -ESTALE otherwise. */
int reopen_open(struct fs *fs, struct reopener *r, struct inode *inode);

struct reopener *inodes_reopener(struct fs *fs);

/* Raises RLIMIT_NOFILE as far as allowed (root may go beyond its hard limit,
 * up to what the kernel has room for) and returns it. */
unsigned descriptors_raise(void);

/* Makes room for so many.  The kernel would enlarge its table by and by, and
 * once there are several threads, it waits for all processors each time: for
 * milliseconds, in the middle of a request. */
void descriptors_reserve(int fd, unsigned count);

#endif
