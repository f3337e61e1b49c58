/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_OPS_H
#define FS_OPS_OPS_H

#include <fuse_lowlevel.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/fs.h"
#include "fs/inode/inode.h"

/*
 * The operations of the mount, in a source file for each group below.
 * Each leaves a node of the virtual tree to the operation of that name in
 * similar_ops; those that change something refuse such a node.
 *
 * Helpers return 0 or a negative errno.  The operation replies exactly once,
 * after it has released its locks and the caller's credentials.  It must not
 * use the inode after the reply, because the kernel may have forgotten it.
 */

/* The operations of the session. */
extern const struct fuse_lowlevel_ops ops_table;

/* For inodes_open(): frees what the operations keep with an inode. */
void ops_release_inode(struct fs *fs, struct inode *inode);

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

/* ---- names ---- */
void ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
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
/* Also for directories. */
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

/* ---- locks ---- */
void ops_getlk(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       struct flock *lock);
void ops_setlk(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       struct flock *lock, int sleep);
void ops_flock(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       int op);

/* ---- lookup.c ---- */

/* Looks up name for the kernel and counts a lookup.  known: the file is likely
 * in the table of inodes; this is faster if it is, and slower if not.  With
 * -ENOENT, out has the time for which the kernel may cache the negative
 * entry. */
int lookup_name(struct fs *fs, struct inode *parent, int parent_fd,
		const char *name, bool known, struct fuse_entry_param *out);

/* Looks up name for the daemon itself; takes a reference. */
int lookup_find(struct fs *fs, struct inode *parent, int parent_fd,
		const char *name, struct stat *st, struct inode **inode_out);

/* Fills in the entry of an inode; a reference of the caller becomes a lookup
 * count. */
void lookup_fill_entry(struct fs *fs, struct inode *inode,
		       const struct stat *st, struct fuse_entry_param *out);

/* Replies with an entry.  Drops the lookup count if the request was
 * interrupted. */
void lookup_reply_entry(struct fuse_req *req, struct fs *fs,
			const struct fuse_entry_param *e);

/* The inode number that the mount shows (core/base/inode_number.h).  Bit 63 is
 * set in virtual nodes only. */
uint64_t lookup_number(struct fs *fs, dev_t dev, ino_t ino);

#endif
