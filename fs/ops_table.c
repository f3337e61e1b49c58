/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops.h"

#include "fs/backing.h"
#include "fs/protocol.h"
#include "fs/serve.h"

#define WRITE_BYTES (1u << 20)

/*
 * Not wanted, with reasons:
 * - writeback cache: size and times must be those of the file below at every
 *   moment, for others who change it and for the digests;
 * - HANDLE_KILLPRIV (of libfuse's defaults): the kernel works out which
 *   setuid bits go and tells us, a root daemon's own writes would keep them;
 * - moving pages into the reply: what was read is no longer cached below, is
 *   read from the disk to be hashed, and the kernel complains of pages that
 *   were read with RWF_DONTCACHE; copying them takes no longer;
 * - splice for requests: most are short, and libfuse then makes a pipe for
 *   each (3.18); long ones are writes, which passthrough does better;
 * - io_uring for requests: the kernel takes back what a thread has submitted
 *   when it ends, and with it the place for a request (those that wait for a
 *   lock end); who waits holds such a place, so that a few stop everybody;
 *   libfuse (3.18) passes no interrupt on, not even of a killed process.
 *   FUSE_URING_ENABLE in the environment asks libfuse for it;
 * - export support: the kernel would come back with nodeids it has forgotten,
 *   and a nodeid is an address.  NFS exports get ESTALE instead.
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

static void ops_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;

	conn->want |= wanted & conn->capable;
	conn->want &= ~unwanted;
	refuse_uring(conn);
	backing_want(fs, conn);
	/* Else the kernel asks for security.capability before every write. */
	fs->killpriv = protocol_want_killpriv(conn);
	conn->max_write = WRITE_BYTES;
	conn->max_background = UINT16_MAX; /* see loop_caught_up() */
	conn->congestion_threshold = 48;
	conn->time_gran = 1;
	serve_ready(fs);
}

const struct fuse_lowlevel_ops ops_table = {
	.init = ops_init,
	.lookup = ops_entry_lookup,
	.forget = ops_forget,
	.forget_multi = ops_forget_multi,
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
	.fsyncdir = ops_fsyncdir,
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
