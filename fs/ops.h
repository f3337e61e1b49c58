/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_H
#define FS_OPS_H

#include <fuse_lowlevel.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/fs.h"
#include "fs/inode.h"

/*
 * The operations of the mount, one file by what they serve, and what they
 * share.  A helper decides and returns 0 or a negative errno; the operation
 * replies exactly once, after locks and credentials were given back.  An
 * inode must not be touched after the reply: it may be forgotten by then.
 */
extern const struct fuse_lowlevel_ops ops_table;

/* ---- shared ---- */

/* Every operation calls it, and so the engine hears of every request. */
static inline struct fs *fs_of(fuse_req_t req)
{
	struct fs *fs = fuse_req_userdata(req);

	if (!atomic_load_explicit(&fs->had_requests, memory_order_relaxed))
		atomic_store_explicit(&fs->had_requests, true,
				      memory_order_relaxed);
	return fs;
}

/* Not for virtual nodes. */
static inline struct inode *inode_of(const struct fs *fs, fuse_ino_t node)
{
	return node == FUSE_ROOT_ID ? fs->root : (struct inode *)node;
}

static inline fuse_ino_t node_of(const struct fs *fs, const struct inode *inode)
{
	return inode == fs->root ? FUSE_ROOT_ID : (fuse_ino_t)inode;
}

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

/* err is 0 or a negative errno.  ENOSYS from below becomes EOPNOTSUPP: the
 * kernel would never ask again, for any file. */
void reply_error(fuse_req_t req, int err);

/* What every look at a file's stat is good for: remembered facts about it are
 * dropped, the engine is told. */
void ops_saw(struct fs *fs, struct inode *inode, const struct stat *st);

/* Prepares st for the kernel: the inode number that is shown. */
void ops_show(struct fs *fs, struct stat *st);

/* Of inode->notified_ns. */
int64_t ops_clock(void);

/* Half a timeout ago by that clock: what the kernel was told before, it would
 * ask for again too soon. */
int64_t ops_told_lately(const struct fs *fs);

/* Finds name and counts one lookup.  known: it is likely to be of a file that
 * is known, which takes fewer calls if it is and more if not. */
int ops_lookup(struct fs *fs, struct inode *parent, int parent_fd,
	       const char *name, bool known, struct fuse_entry_param *out);

/*
 * How long the kernel may keep the attributes of an inode.  While a file can
 * be changed without the kernel's knowledge, it must ask each time: a store to
 * a mapping that passes through moves the times of the file below, and a write
 * request clears the setuid bits.  So when such a file is opened, the kernel is
 * made to forget what it has.
 */
double ops_timeout(const struct fs *fs, const struct inode *inode,
		   const struct stat *st);
void ops_forget_attributes(struct fs *fs, struct inode *inode);

/* Fills out for an inode whose reference becomes a lookup count. */
void ops_entry(struct fs *fs, struct inode *inode, const struct stat *st,
	       struct fuse_entry_param *out);

/* Replies with an entry; takes the count back when nobody hears it. */
void reply_entry(fuse_req_t req, struct fs *fs,
		 const struct fuse_entry_param *e);

/* 0, or why name in parent cannot be made or removed: -EROFS inside the
 * virtual tree, or claimed for the name of the tree itself. */
int ops_may_change(struct fs *fs, fuse_ino_t parent, const char *name,
		   int claimed);

/* ---- entries ---- */
void ops_entry_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void ops_forget(fuse_req_t req, fuse_ino_t node, uint64_t count);
void ops_forget_multi(fuse_req_t req, size_t count,
		      struct fuse_forget_data *forgets);
void ops_readlink(fuse_req_t req, fuse_ino_t node);
void ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       dev_t rdev);
void ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
	       mode_t mode);
void ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		 const char *name);
void ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		fuse_ino_t new_parent, const char *new_name, unsigned flags);
void ops_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t new_parent,
	      const char *new_name);

/* ---- attributes ---- */
void ops_getattr(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi);
#if FUSE_VERSION >= 318
void ops_statx(fuse_req_t req, fuse_ino_t node, int flags, int mask,
	       struct fuse_file_info *fi);
#endif
void ops_setattr(fuse_req_t req, fuse_ino_t node, struct stat *attr, int to_set,
		 struct fuse_file_info *fi);
void ops_statfs(fuse_req_t req, fuse_ino_t node);

/* ---- extended attributes ---- */
void ops_getxattr(fuse_req_t req, fuse_ino_t node, const char *name,
		  size_t size);
void ops_setxattr(fuse_req_t req, fuse_ino_t node, const char *name,
		  const char *value, size_t size, int flags);
void ops_listxattr(fuse_req_t req, fuse_ino_t node, size_t size);
void ops_removexattr(fuse_req_t req, fuse_ino_t node, const char *name);

/* Whether security.capability is known to be missing; and that what moved the
 * ctime since it was is known, too, and did not set it. */
bool ops_has_no_caps(const struct inode *inode);
void ops_keeps_no_caps(struct inode *inode);

/* The names of the real attributes of the file; the caller frees them. */
int xattr_lower_list(struct fs *fs, struct inode *inode, char **names_out,
		     size_t *len_out);

/* The length of a real attribute's value, or a negative errno. */
ssize_t xattr_lower_size(struct fs *fs, struct inode *inode, const char *name);

/* The names that only CAP_SYS_ADMIN may see ("trusted.") are cut out of a
 * list for a caller that is not root. */
void xattr_drop_hidden(fuse_req_t req, char *names, size_t *len);

/* ---- files ---- */
void ops_open(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi);
void ops_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		mode_t mode, struct fuse_file_info *fi);
void ops_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode,
		 struct fuse_file_info *fi);
void ops_flush(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi);
void ops_release(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi);

/* ---- data ---- */
void ops_read(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
	      struct fuse_file_info *fi);
void ops_write_buf(fuse_req_t req, fuse_ino_t node, struct fuse_bufvec *in,
		   off_t off, struct fuse_file_info *fi);
void ops_fsync(fuse_req_t req, fuse_ino_t node, int datasync,
	       struct fuse_file_info *fi);
void ops_fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t off,
		   off_t len, struct fuse_file_info *fi);
void ops_copy_file_range(fuse_req_t req, fuse_ino_t node_in, off_t off_in,
			 struct fuse_file_info *fi_in, fuse_ino_t node_out,
			 off_t off_out, struct fuse_file_info *fi_out,
			 size_t len, int flags);
void ops_lseek(fuse_req_t req, fuse_ino_t node, off_t off, int whence,
	       struct fuse_file_info *fi);
void ops_ioctl(fuse_req_t req, fuse_ino_t node, unsigned cmd, void *arg,
	       struct fuse_file_info *fi, unsigned flags, const void *in,
	       size_t in_size, size_t out_size);

/* ---- directories ---- */
void ops_opendir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi);
void ops_readdir(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
		 struct fuse_file_info *fi);
void ops_readdirplus(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
		     struct fuse_file_info *fi);
void ops_releasedir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi);
void ops_fsyncdir(fuse_req_t req, fuse_ino_t node, int datasync,
		  struct fuse_file_info *fi);

/* ---- locks ---- */
void ops_getlk(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       struct flock *lock);
void ops_setlk(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       struct flock *lock, int sleep);
void ops_flock(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       int op);

int locks_open(struct fs *fs);

/* Ends every wait with EINTR and waits until nobody waits. */
void locks_stop(struct fs *fs);
void locks_free(struct fs *fs);

/* close() of a descriptor of the owner: its POSIX locks go. */
void locks_owner_closed(struct fs *fs, struct inode *inode, uint64_t owner);

/* The handle goes: so do the locks of those who used nothing but it. */
void locks_handle_closed(struct fs *fs, const struct handle *h);

/* The inode goes: closes what is left. */
void locks_forget(struct inode *inode);

#endif
