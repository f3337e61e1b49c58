/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include "fs/inode/backing.h"
#include "fs/inode/cache.h"
#include "fs/loop/loop.h"
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
static const unsigned wanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_POSIX_LOCKS |
			       FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_DONT_MASK |
			       FUSE_CAP_SPLICE_WRITE | FUSE_CAP_FLOCK_LOCKS |
			       FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS |
			       FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_ASYNC_DIO |
			       FUSE_CAP_POSIX_ACL | FUSE_CAP_CACHE_SYMLINKS;
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
	/* What one user waits for in a directory keeps nobody else out. */
	protocol_want_parallel(conn);
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

/* ---- the operations of the session ---- */

static void forget_one(struct fs *fs, fuse_ino_t node, uint64_t count)
{
	if (similar_is_node(node)) {
		similar_forget(fs, node, count);
	} else if (node != FUSE_ROOT_ID) {
		/* The kernel may no longer know the inode. */
		atomic_store(&inode_of(fs, node)->attr_sent, false);
		inode_forget(fs, inode_of(fs, node), count);
	}
}

static void on_forget(fuse_req_t req, fuse_ino_t node, uint64_t count)
{
	forget_one(fs_of(req), node, count);
	fuse_reply_none(req);
}

static void on_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	struct fs *fs = fs_of(req);

	for (size_t i = 0; i < count; i++)
		forget_one(fs, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

const struct fuse_lowlevel_ops ops_table = {
	.init = on_init,
	.forget = on_forget,
	.forget_multi = on_forget_multi,
	.lookup = ops_lookup,
	.getattr = ops_getattr,
	.setattr = ops_setattr,
	.readlink = ops_readlink,
	.mknod = ops_mknod,
	.mkdir = ops_mkdir,
	.unlink = ops_unlink,
	.rmdir = ops_rmdir,
	.symlink = ops_symlink,
	.rename = ops_rename,
	.link = ops_link,
	.open = ops_open,
	.create = ops_create,
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
	.setxattr = ops_setxattr,
	.listxattr = ops_listxattr,
	.removexattr = ops_removexattr,
	.getlk = ops_getlk,
	.setlk = ops_setlk,
	.flock = ops_flock,
	.ioctl = ops_ioctl,
	.fallocate = ops_fallocate,
	.copy_file_range = ops_copy_file_range,
	.lseek = ops_lseek,
#if FUSE_VERSION >= 317
	.tmpfile = ops_tmpfile,
#endif
#if FUSE_VERSION >= 318
	.statx = ops_statx,
#endif
};

void ops_release_inode(struct fs *fs, struct inode *inode)
{
	locks_forget(inode);
	backing_release(fs, inode);
	cache_release(fs, inode);
}
