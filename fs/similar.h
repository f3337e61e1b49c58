/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_H
#define FS_SIMILAR_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct engine_caller;
struct fs;

/*
 * The virtual tree /.similar.
 *
 * Its nodes stand for paths: a directory of SOURCE, a regular file (which is
 * a directory here) or one of the links in it.  A node lives while the kernel
 * counts lookups of it, something is below it, or it is open.  Its nodeid is
 * the node's address with the lowest bit set.
 *
 * Nothing here is cached by the kernel: every lookup and listing comes to us
 * and is answered for the caller, with the caller's credentials.
 */
int similar_open(struct fs *fs);
void similar_free(struct fs *fs);

static inline bool similar_is_node(fuse_ino_t node)
{
	return (node & 1) && node != FUSE_ROOT_ID;
}

/* Whether name in the root of the mount is the virtual tree's. */
bool similar_claims(struct fs *fs, const char *name);
/* Whether readdir of the root shows it. */
bool similar_in_listing(struct fs *fs);
/* Its inode number, for that. */
uint64_t similar_root_number(struct fs *fs);

void similar_lookup_root(fuse_req_t req, struct fs *fs);
void similar_forget(struct fs *fs, fuse_ino_t node, uint64_t count);

void similar_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
int similar_stat(struct fs *fs, fuse_ino_t node, struct stat *out);
void similar_readlink(fuse_req_t req, fuse_ino_t node);
void similar_open_file(fuse_req_t req, fuse_ino_t node,
		       struct fuse_file_info *fi);
void similar_read(fuse_req_t req, fuse_ino_t node, size_t size,
		  struct fuse_file_info *fi);
void similar_ioctl(fuse_req_t req, fuse_ino_t node, unsigned command,
		   const void *in, size_t in_size, struct fuse_file_info *fi);
void similar_write(fuse_req_t req, fuse_ino_t node, struct fuse_bufvec *in,
		   struct fuse_file_info *fi);
void similar_release(fuse_req_t req, fuse_ino_t node,
		     struct fuse_file_info *fi);
void similar_opendir(fuse_req_t req, fuse_ino_t node,
		     struct fuse_file_info *fi);
void similar_readdir(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
		     struct fuse_file_info *fi);
void similar_readdirplus(fuse_req_t req, fuse_ino_t node, size_t size,
			 off_t off, struct fuse_file_info *fi);
void similar_releasedir(fuse_req_t req, fuse_ino_t node,
			struct fuse_file_info *fi);
void similar_getxattr(fuse_req_t req, fuse_ino_t node, const char *name,
		      size_t size);
void similar_listxattr(fuse_req_t req, fuse_ino_t node, size_t size);

/* Who asks.  credentials_release() frees who it is. */
int similar_caller(struct fs *fs, fuse_req_t req, struct engine_caller *out);

#endif
