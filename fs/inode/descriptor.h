/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_DESCRIPTOR_H
#define FS_INODE_DESCRIPTOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct found;
struct fs;
struct handle;
struct inode;
struct lower_mount;

/*
 * Descriptors of inodes and of open files, and how a file is opened again: one
 * behind a descriptor with other flags, or one of an inode that has no descriptor
 * (see inode.h).
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

/* Called around a rename, and for each file that it moved, to update the names of
 * inodes that are opened by name. */
void inodes_rename_begin(struct fs *fs);
void inodes_rename_moved(struct fs *fs, struct inode *parent, int parent_fd,
			 const char *name);
void inodes_rename_end(struct fs *fs);

/* ---- shares ---- */

/*
 * What a user has open, and what holds the user's locks, are descriptors of the
 * daemon.  Users may have three eighths of all (the rest is for inodes and the
 * daemon itself), and each as many as are left for the others (quota.h).  Those
 * of root and of the user that runs the daemon (own) are not counted.
 */
void shares_open(unsigned descriptors, uid_t own);
/* Before the open.  -EMFILE: the user has its share; -ENOMEM. */
int share_take(uid_t uid);
void share_give(uid_t uid);

/* ---- handles ---- */

/* Adds a handle, of which the share is taken, to its inode's list and takes a
 * reference; removes it, drops the reference and gives the share back. */
void handle_attach(struct fs *fs, struct inode *inode, struct handle *h);
void handle_detach(struct fs *fs, struct handle *h);

/* The descriptor of an open file.  It is opened when it is first needed.  A
 * negative errno. */
int handle_fd(struct handle *h);

/* Whether the inode has a handle. */
bool inode_is_open(struct fs *fs, struct inode *inode);

/* ---- reopen.c: inodes without a descriptor ---- */

#define FILE_HANDLE_MAX 128 /* MAX_HANDLE_SZ */

/* The result of name_to_handle_at(); bytes is 0 if the filesystem has no
 * handles. */
struct file_handle_copy {
	bool read; /* the other fields are valid */
	int mount_id;
	int type;
	unsigned bytes;
	unsigned char data[FILE_HANDLE_MAX];
};

struct reopen {
	struct lower_mount *mount; /* open by handle; NULL: by name */
	struct inode *parent;      /* holds a reference; names lock */
	char *name;                /* names lock */
	int handle_type;
	unsigned handle_bytes; /* 0: none, identity is (dev, ino) alone */
	unsigned char handle[];
};

/*
 * By handle: open_by_handle_at() needs a descriptor on the lower mount of the
 * file.  The first directory found there serves for that, and is tested once.
 * If the test fails, files on that lower mount are opened by name.
 *
 * By name: the names up to the nearest directory with a descriptor are copied
 * under the names lock and walked without it (descriptor.c).  If a walk fails and
 * a file was renamed through the mount meanwhile, or is being renamed, the walk is
 * repeated.  A rename may last, so no lock is held meanwhile.
 */
struct reopener {
	bool privileged;      /* open_by_handle_at() works */
	pthread_mutex_t lock; /* mounts */
	struct lower_mount *mounts;
	pthread_rwlock_t names; /* parent and name of all struct reopen */
	atomic_uint renaming;   /* renames that run */
	atomic_uint epoch;      /* incremented after each name they changed */
	atomic_size_t named;    /* number of inodes that are opened by name */
};

/* source_fd: O_PATH of SOURCE, borrowed. */
int reopener_new(int source_fd, struct reopener **out);
void reopener_free(struct reopener *r);

void file_handle_read(int fd, struct file_handle_copy *out);

/* Stores how the file can be opened again: by handle, else by name. */
int reopen_new(struct reopener *r, const struct found *found,
	       const struct file_handle_copy *handle, struct reopen **out);

/* Returns the parent, whose reference passes to the caller; or NULL. */
struct inode *reopen_free(struct reopener *r, struct reopen *reopen);

bool reopen_same_handle(const struct reopen *reopen,
			const struct file_handle_copy *handle);

/* The file was found by this name.  Returns the former parent, whose reference
 * passes to the caller; or NULL. */
struct inode *reopen_named(struct reopener *r, struct inode *inode,
			   struct inode *parent, const char *name);

/* Opens an inode by its handle; returns a new O_PATH descriptor. */
int reopen_by_handle(const struct reopen *reopen);

/* ---- reopen.c: descriptors ---- */

/* Raises RLIMIT_NOFILE as far as allowed and returns it.  Root can exceed its
 * hard limit, up to fs.nr_open. */
unsigned descriptors_raise(void);

/* Enlarges the descriptor table of the process for so many.  Otherwise the
 * kernel enlarges it step by step.  In a process with threads each step waits
 * for an RCU grace period: milliseconds in the middle of a request. */
void descriptors_reserve(int fd, unsigned count);

/* Makes /proc/self/fd the working directory of the process, which makes the
 * following calls faster by a third. */
int fd_paths_enable(void);

/* The path "N", relative to /proc/self/fd: the file behind a descriptor, for
 * system calls that take only a path. */
struct fd_path {
	char text[16];
};
struct fd_path fd_path(int fd);

/* Opens the file behind fd with other flags. */
int fd_reopen(int fd, int flags);

/* Opens the directory behind fd for listing. */
int directory_reopen(int fd);

#endif
