/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_REOPEN_H
#define FS_INODE_REOPEN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Opening again: a file behind a descriptor with other flags, and the file of
 * an inode that has no descriptor (see inode.h).
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

struct found;
struct inode;
struct lower_mount;

struct reopen {
	struct lower_mount *mount; /* open by handle; NULL: by name */
	struct inode *parent;      /* holds a reference; names lock */
	char *name;                /* names lock */
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

/* The file was seen under this name.  Returns the former parent, whose
 * reference goes to the caller; NULL if none. */
struct inode *reopen_named(struct reopener *r, struct inode *inode,
			   struct inode *parent, const char *name);

/* Renames between these two; the inodes that are found by name are told their
 * new names.  Nothing may be opened by name in between.  reopen_rename_moved()
 * returns as reopen_named() does. */
bool reopen_rename_begin(struct reopener *r);
struct inode *reopen_rename_moved(struct inode *inode, struct inode *parent,
				  const char *name);
void reopen_rename_end(struct reopener *r, bool begun);

/* Moves with each rename: a walk that failed across one is repeated. */
unsigned reopen_epoch(struct reopener *r);

/* A new O_PATH descriptor of an inode that is found by handle. */
int reopen_by_handle(const struct reopen *reopen);

/* Copies the names from the nearest ancestor that is not found by name down
 * to inode, each with its NUL; takes a reference to that ancestor.  The caller
 * frees the names. */
int reopen_copy_chain(struct reopener *r, struct inode *inode, char **names_out,
		      size_t *len_out, struct inode **base_out);

/* Walks such names from fd and returns a new descriptor; never follows a
 * symbolic link. */
int reopen_walk_chain(int fd, const char *names, size_t len);

/* ---- descriptors ---- */

/* Raises RLIMIT_NOFILE as far as allowed (root may go beyond its hard limit,
 * up to what the kernel has room for) and returns it. */
unsigned descriptors_raise(void);

/* Makes room for so many.  The kernel would enlarge its table by and by, and
 * once there are several threads, it waits for all processors each time: for
 * milliseconds, in the middle of a request. */
void descriptors_reserve(int fd, unsigned count);

/* Makes /proc/self/fd the working directory of the process: it costs each of
 * the following calls a third less than to walk there. */
int fd_paths_enable(void);

/* The path "N": the file behind an O_PATH descriptor, for the calls that take
 * a path only. */
struct fd_path {
	char text[16];
};
void fd_path_make(int fd, struct fd_path *out);

/* Opens the file behind fd again with other flags. */
int fd_reopen(int fd, int flags);

/* The directory behind fd, to be listed. */
int directory_reopen(int fd);

#endif
