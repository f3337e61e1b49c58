/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <errno.h>

#include "fs/inode/backing.h"
#include "fs/inode/watched.h"
#include "fs/loop/locks.h"
#include "fs/loop/protocol.h"
#include "fs/ops/reply.h"
#include "fs/similar/similar.h"

#define WRITE_BYTES (1u << 20)

/* ---- the beginning of a session ---- */

/*
 * Capabilities that are not used, and why:
 * - writeback cache: size and timestamps must always be those of the file
 *   below, for processes that change it there and for the digests;
 * - HANDLE_KILLPRIV (a default of libfuse): without it the kernel finds out
 *   which setuid bits a write clears, and sends a setattr; writes of a root
 *   daemon would keep them;
 * - moving pages into the reply: they leave the page cache of the file below,
 *   which is then read from disk again to be hashed, and the kernel warns about
 *   pages that were read with RWF_DONTCACHE.  Copying is as fast;
 * - splice for requests: most are short, and libfuse makes a pipe for each
 *   (3.18).  Long requests are writes, for which passthrough is better;
 * - io_uring for requests: when a thread ends (as those do that wait for a
 *   lock), the kernel takes back its submissions, and with them the slots for
 *   requests.  A parked request keeps its slot, so a few of them block all
 *   others.  And libfuse (3.18) does not pass on interrupts, not even for a
 *   killed process.  FUSE_URING_ENABLE in the environment would enable it;
 * - export support: the kernel would use nodeids that it has forgotten, and a
 *   nodeid is an address.  NFS exports get ESTALE instead.
 */
static const unsigned wanted =
	FUSE_CAP_ASYNC_READ | FUSE_CAP_POSIX_LOCKS | FUSE_CAP_ATOMIC_O_TRUNC |
	FUSE_CAP_DONT_MASK | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_FLOCK_LOCKS |
	FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS |
	FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_ASYNC_DIO |
	FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_POSIX_ACL | FUSE_CAP_CACHE_SYMLINKS;
static const unsigned unwanted = FUSE_CAP_WRITEBACK_CACHE |
				 FUSE_CAP_HANDLE_KILLPRIV |
				 FUSE_CAP_SPLICE_READ | FUSE_CAP_EXPORT_SUPPORT;

static void refuse_uring(struct fuse_conn_info *conn)
{
#ifdef FUSE_CAP_OVER_IO_URING
	conn->want &= ~(unsigned)FUSE_CAP_OVER_IO_URING;
#else
	(void)conn;
#endif
}

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;

	conn->want |= wanted & conn->capable;
	conn->want &= ~unwanted;
	refuse_uring(conn);
	backing_want(fs, conn);
	/* Otherwise the kernel asks for security.capability before every
	 * write. */
	fs->killpriv = protocol_want_killpriv(conn);
	fs->can_expire_names = protocol_can_expire_names(conn);
	conn->max_write = WRITE_BYTES;
	conn->max_background = UINT16_MAX; /* see loop_caught_up() */
	conn->congestion_threshold = 48;
	conn->time_gran = 1;
	atomic_store(&fs->ready, true);
	if (fs->report)
		fs->report(fs);
}

/* ---- the choice between SOURCE and the virtual tree ---- */

/* The operations that the virtual tree has, too. */
static const struct fuse_lowlevel_ops source_ops = {
	.lookup = ops_lookup,
	.getattr = ops_getattr,
	.readlink = ops_readlink,
	.open = ops_open,
	.read = ops_read,
	.write_buf = ops_write_buf,
	.flush = ops_flush,
	.release = ops_release,
	.fsync = ops_fsync,
	.opendir = ops_opendir,
	.readdir = ops_readdir,
	.readdirplus = ops_readdirplus,
	.releasedir = ops_releasedir,
	.fsyncdir = ops_fsync,
	.statfs = ops_statfs,
	.getxattr = ops_getxattr,
	.listxattr = ops_listxattr,
	.ioctl = ops_ioctl,
#if FUSE_VERSION >= 318
	.statx = ops_statx,
#endif
};

/* Called for every request, so that the engine knows that the host is busy. */
static struct fs *note_request(fuse_req_t req)
{
	struct fs *fs = fs_of(req);

	if (!atomic_load_explicit(&fs->had_requests, memory_order_relaxed))
		atomic_store_explicit(&fs->had_requests, true,
				      memory_order_relaxed);
	return fs;
}

static const struct fuse_lowlevel_ops *table_of(fuse_req_t req, fuse_ino_t node)
{
	(void)note_request(req);
	return similar_is_node(node) ? &similar_ops : &source_ops;
}

/* For an operation that changes node: if the node is virtual, replies err and
 * returns true. */
static bool refuse_change(fuse_req_t req, fuse_ino_t node, int err)
{
	struct fs *fs = note_request(req);

	if (!similar_is_node(node)) {
		similar_expire(fs);
		return false;
	}
	reply_error(req, err);
	return true;
}

/* For an operation that adds or removes a name: if that is below a virtual
 * node, or the name of the virtual tree, replies an error and returns true.
 * claimed is the error for the latter. */
static bool refuse_name_change(fuse_req_t req, fuse_ino_t parent,
			       const char *name, int claimed)
{
	const struct fs *fs = note_request(req);

	if (refuse_change(req, parent, -EROFS))
		return true;
	if (!similar_claims(fs, parent, name))
		return false;
	reply_error(req, claimed);
	return true;
}

/* ---- the operations of the session ---- */

/* The kernel may no longer know the inode, so inode->attr_sent is reset. */
static void forget_inode(struct fs *fs, struct inode *inode, uint64_t count)
{
	atomic_store(&inode->attr_sent, false);
	inode_forget(fs, inode, count);
}

static void forget_one(struct fs *fs, fuse_ino_t node, uint64_t count)
{
	if (similar_is_node(node))
		similar_forget(fs, node, count);
	else if (node != FUSE_ROOT_ID)
		forget_inode(fs, inode_of(fs, node), count);
}

static void on_forget(fuse_req_t req, fuse_ino_t node, uint64_t count)
{
	forget_one(note_request(req), node, count);
	fuse_reply_none(req);
}

static void on_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	struct fs *fs = note_request(req);

	for (size_t i = 0; i < count; i++)
		forget_one(fs, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = note_request(req);

	if (similar_claims(fs, parent, name))
		similar_lookup_root(req, fs);
	else
		table_of(req, parent)->lookup(req, parent, name);
}

static void on_getattr(fuse_req_t req, fuse_ino_t node,
		       struct fuse_file_info *fi)
{
	table_of(req, node)->getattr(req, node, fi);
}

static void on_setattr(fuse_req_t req, fuse_ino_t node, struct stat *attr,
		       int to_set, struct fuse_file_info *fi)
{
	if (!refuse_change(req, node, -EROFS))
		ops_setattr(req, node, attr, to_set, fi);
}

static void on_readlink(fuse_req_t req, fuse_ino_t node)
{
	table_of(req, node)->readlink(req, node);
}

static void on_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode, dev_t rdev)
{
	if (!refuse_name_change(req, parent, name, -EEXIST))
		ops_mknod(req, parent, name, mode, rdev);
}

static void on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode)
{
	if (!refuse_name_change(req, parent, name, -EEXIST))
		ops_mkdir(req, parent, name, mode);
}

static void on_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	if (!refuse_name_change(req, parent, name, -EROFS))
		ops_unlink(req, parent, name);
}

static void on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	if (!refuse_name_change(req, parent, name, -EROFS))
		ops_rmdir(req, parent, name);
}

static void on_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		       const char *name)
{
	if (!refuse_name_change(req, parent, name, -EEXIST))
		ops_symlink(req, target, parent, name);
}

static void on_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		      fuse_ino_t new_parent, const char *new_name,
		      unsigned flags)
{
	if (!refuse_name_change(req, parent, name, -EROFS) &&
	    !refuse_name_change(req, new_parent, new_name, -EROFS))
		ops_rename(req, parent, name, new_parent, new_name, flags);
}

static void on_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t new_parent,
		    const char *new_name)
{
	if (!refuse_name_change(req, new_parent, new_name, -EEXIST) &&
	    !refuse_change(req, node, -EROFS))
		ops_link(req, node, new_parent, new_name);
}

static void on_open(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	table_of(req, node)->open(req, node, fi);
}

static void on_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		      mode_t mode, struct fuse_file_info *fi)
{
	if (!refuse_name_change(req, parent, name, -EEXIST))
		ops_create(req, parent, name, mode, fi);
}

static void on_read(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	table_of(req, node)->read(req, node, size, off, fi);
}

static void on_write_buf(fuse_req_t req, fuse_ino_t node,
			 struct fuse_bufvec *in, off_t off,
			 struct fuse_file_info *fi)
{
	table_of(req, node)->write_buf(req, node, in, off, fi);
}

static void on_flush(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	table_of(req, node)->flush(req, node, fi);
}

static void on_release(fuse_req_t req, fuse_ino_t node,
		       struct fuse_file_info *fi)
{
	table_of(req, node)->release(req, node, fi);
}

static void on_fsync(fuse_req_t req, fuse_ino_t node, int datasync,
		     struct fuse_file_info *fi)
{
	table_of(req, node)->fsync(req, node, datasync, fi);
}

static void on_opendir(fuse_req_t req, fuse_ino_t node,
		       struct fuse_file_info *fi)
{
	table_of(req, node)->opendir(req, node, fi);
}

static void on_readdir(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	table_of(req, node)->readdir(req, node, size, off, fi);
}

static void on_readdirplus(fuse_req_t req, fuse_ino_t node, size_t size,
			   off_t off, struct fuse_file_info *fi)
{
	table_of(req, node)->readdirplus(req, node, size, off, fi);
}

static void on_releasedir(fuse_req_t req, fuse_ino_t node,
			  struct fuse_file_info *fi)
{
	table_of(req, node)->releasedir(req, node, fi);
}

static void on_fsyncdir(fuse_req_t req, fuse_ino_t node, int datasync,
			struct fuse_file_info *fi)
{
	table_of(req, node)->fsyncdir(req, node, datasync, fi);
}

static void on_statfs(fuse_req_t req, fuse_ino_t node)
{
	table_of(req, node)->statfs(req, node);
}

static void on_getxattr(fuse_req_t req, fuse_ino_t node, const char *name,
			size_t size)
{
	table_of(req, node)->getxattr(req, node, name, size);
}

static void on_setxattr(fuse_req_t req, fuse_ino_t node, const char *name,
			const char *value, size_t size, int flags)
{
	if (!refuse_change(req, node, -EROFS))
		ops_setxattr(req, node, name, value, size, flags);
}

static void on_listxattr(fuse_req_t req, fuse_ino_t node, size_t size)
{
	table_of(req, node)->listxattr(req, node, size);
}

static void on_removexattr(fuse_req_t req, fuse_ino_t node, const char *name)
{
	if (!refuse_change(req, node, -EROFS))
		ops_removexattr(req, node, name);
}

static void on_getlk(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
		     struct flock *lock)
{
	if (!refuse_change(req, node, -EBADF))
		ops_getlk(req, node, fi, lock);
}

static void on_setlk(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
		     struct flock *lock, int sleep)
{
	if (!refuse_change(req, node, -EBADF))
		ops_setlk(req, node, fi, lock, sleep);
}

static void on_flock(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
		     int op)
{
	if (!refuse_change(req, node, -EBADF))
		ops_flock(req, node, fi, op);
}

static void on_ioctl(fuse_req_t req, fuse_ino_t node, unsigned command,
		     void *arg, struct fuse_file_info *fi, unsigned flags,
		     const void *in, size_t in_size, size_t out_size)
{
	table_of(req, node)->ioctl(req, node, command, arg, fi, flags, in,
				   in_size, out_size);
}

static void on_fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t off,
			 off_t len, struct fuse_file_info *fi)
{
	if (!refuse_change(req, node, -EROFS))
		ops_fallocate(req, node, mode, off, len, fi);
}

static void on_copy_file_range(fuse_req_t req, fuse_ino_t node, off_t off_in,
			       struct fuse_file_info *fi_in,
			       fuse_ino_t node_out, off_t off_out,
			       struct fuse_file_info *fi_out, size_t len,
			       int flags)
{
	if (!refuse_change(req, node, -EROFS) &&
	    !refuse_change(req, node_out, -EROFS))
		ops_copy_file_range(req, node, off_in, fi_in, node_out, off_out,
				    fi_out, len, flags);
}

static void on_lseek(fuse_req_t req, fuse_ino_t node, off_t off, int whence,
		     struct fuse_file_info *fi)
{
	if (!refuse_change(req, node, -EINVAL))
		ops_lseek(req, node, off, whence, fi);
}

#if FUSE_VERSION >= 317
static void on_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode,
		       struct fuse_file_info *fi)
{
	if (!refuse_change(req, parent, -EROFS))
		ops_tmpfile(req, parent, mode, fi);
}
#endif

#if FUSE_VERSION >= 318
static void on_statx(fuse_req_t req, fuse_ino_t node, int flags, int mask,
		     struct fuse_file_info *fi)
{
	table_of(req, node)->statx(req, node, flags, mask, fi);
}
#endif

const struct fuse_lowlevel_ops ops_table = {
	.init = on_init,
	.forget = on_forget,
	.forget_multi = on_forget_multi,
	.lookup = on_lookup,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.readlink = on_readlink,
	.mknod = on_mknod,
	.mkdir = on_mkdir,
	.unlink = on_unlink,
	.rmdir = on_rmdir,
	.symlink = on_symlink,
	.rename = on_rename,
	.link = on_link,
	.open = on_open,
	.create = on_create,
	.read = on_read,
	.write_buf = on_write_buf,
	.flush = on_flush,
	.release = on_release,
	.fsync = on_fsync,
	.opendir = on_opendir,
	.readdir = on_readdir,
	.readdirplus = on_readdirplus,
	.releasedir = on_releasedir,
	.fsyncdir = on_fsyncdir,
	.statfs = on_statfs,
	.getxattr = on_getxattr,
	.setxattr = on_setxattr,
	.listxattr = on_listxattr,
	.removexattr = on_removexattr,
	.getlk = on_getlk,
	.setlk = on_setlk,
	.flock = on_flock,
	.ioctl = on_ioctl,
	.fallocate = on_fallocate,
	.copy_file_range = on_copy_file_range,
	.lseek = on_lseek,
#if FUSE_VERSION >= 317
	.tmpfile = on_tmpfile,
#endif
#if FUSE_VERSION >= 318
	.statx = on_statx,
#endif
};

void ops_release_inode(struct fs *fs, struct inode *inode)
{
	locks_forget(inode);
	backing_release(fs, inode);
	watched_release(fs, inode);
}
