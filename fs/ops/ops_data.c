/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/inode/cred.h"
#include "fs/ops/notify.h"
#include "fs/loop/loop.h"
#include "fs/inode/cache.h"
#include "fs/inode/descriptor.h"
#include "fs/ops/reply.h"
#include "fs/similar/similar.h"

#define DIRECT_ALIGNMENT 4096
/* Most bytes of a copy, so that a request does not occupy a thread for minutes;
 * callers repeat the call for the rest. */
#define COPY_MAX ((size_t)128 << 20)

/* The present flags of the caller's descriptor, which fcntl() may have changed.
 * A write of mapped pages has no flags. */
static int flags_now(const struct fuse_file_info *fi)
{
	return fi->writepage ? 0 : fi->flags;
}

/*
 * The handle's descriptor, or a new one if O_DIRECT differs from the request's:
 * changing the flag of the handle's descriptor would affect other requests.
 * *extra_out: the new one, to be closed after the reply, when the handle may be
 * freed; or -1.
 */
static int data_fd(struct handle *h, int flags, int *extra_out)
{
	int own = handle_fd(h);
	int fd = -1;

	if (own >= 0 && (h->flags ^ flags) & O_DIRECT)
		fd = fd_reopen(own,
			       (h->flags & (O_ACCMODE | O_SYNC | O_DSYNC)) |
				       (flags & O_DIRECT));
	*extra_out = fd < 0 ? -1 : fd;
	return fd < 0 ? own : fd;
}

/* ---- read ---- */

void ops_read(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
	      struct fuse_file_info *fi)
{
	struct fuse_bufvec data = FUSE_BUFVEC_INIT(size);
	void *aligned = NULL;
	ssize_t len;
	int fd, extra;

	if (similar_is_node(node)) {
		similar_ops.read(req, node, size, off, fi);
		return;
	}
	fd = data_fd(handle_of(fi), flags_now(fi), &extra);
	if (fd < 0) {
		reply_error(req, fd);
	} else if (!(fi->flags & O_DIRECT)) {
		data.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
		data.buf[0].fd = fd;
		data.buf[0].pos = off;
		fuse_reply_data(req, &data, 0);
	} else if (posix_memalign(&aligned, DIRECT_ALIGNMENT,
				  size ? size : 1) != 0) {
		reply_error(req, -ENOMEM);
	} else {
		/* O_DIRECT needs aligned memory, which neither a pipe nor
		 * libfuse's buffer is. */
		len = pread(fd, aligned, size, off);
		if (len < 0)
			reply_error(req, -errno);
		else
			fuse_reply_buf(req, aligned, (size_t)len);
		free(aligned);
	}
	if (extra >= 0)
		close(extra);
}

/* ---- write ---- */

/* With HANDLE_KILLPRIV_V2 the daemon clears setuid bits.  Prepares the thread
 * so that its write clears them as the caller's own write would. */
static bool drop_setid(fuse_req_t req, const struct fuse_file_info *fi, int fd)
{
	struct fs *fs = fs_of(req);
	bool drop = fuse_req_ctx(req)->uid != 0 || protocol_kills_setid(fi);

	return drop && fs->killpriv && cred_drop_setid(fs, req, fd);
}

/* Writes with one call and from aligned memory, as O_DIRECT needs; with
 * O_APPEND several calls could be interleaved with other writers. */
static ssize_t write_whole(int fd, struct fuse_bufvec *in, size_t size,
			   off_t off, bool append)
{
	struct fuse_bufvec copy = FUSE_BUFVEC_INIT(size);
	struct iovec all;
	void *data = NULL;
	ssize_t len;

	if (posix_memalign(&data, DIRECT_ALIGNMENT, size ? size : 1) != 0)
		return -ENOMEM;
	copy.buf[0].mem = data;
	len = fuse_buf_copy(&copy, in, 0);
	if (len > 0) {
		all = (struct iovec){ .iov_base = data,
				      .iov_len = (size_t)len };
		len = pwritev2(fd, &all, 1, off, append ? RWF_APPEND : 0);
		if (len < 0)
			len = -errno;
	}
	free(data);
	return len;
}

void ops_write_buf(fuse_req_t req, fuse_ino_t node, struct fuse_bufvec *in,
		   off_t off, struct fuse_file_info *fi)
{
	size_t size = fuse_buf_size(in);
	struct fuse_bufvec out = FUSE_BUFVEC_INIT(size);
	int flags = flags_now(fi), fd, extra;
	bool dropped;
	ssize_t len;

	if (similar_is_node(node)) {
		similar_ops.write_buf(req, node, in, off, fi);
		return;
	}
	notify_writes(handle_of(fi)->inode);
	fd = data_fd(handle_of(fi), flags, &extra);
	dropped = drop_setid(req, fi, fd);
	if (flags & (O_DIRECT | O_APPEND)) {
		len = write_whole(fd, in, size, off, flags & O_APPEND);
	} else {
		out.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
		out.buf[0].fd = fd;
		out.buf[0].pos = off;
		len = fuse_buf_copy(&out, in, 0);
	}
	if (dropped)
		cred_raise_setid(fs_of(req));
	if (extra >= 0)
		close(extra);
	if (len < 0)
		reply_error(req, (int)len);
	else
		fuse_reply_write(req, (size_t)len);
}

/* ---- other operations on data ---- */

void ops_fsync(fuse_req_t req, fuse_ino_t node, int datasync,
	       struct fuse_file_info *fi)
{
	int fd, err;

	if (similar_is_node(node)) {
		reply_error(req, 0);
		return;
	}
	fd = handle_fd(handle_of(fi));
	err = fd < 0 ? fd : 0;
	if (!err && (datasync ? fdatasync(fd) : fsync(fd)) != 0)
		err = -errno;
	reply_error(req, err);
}

void ops_fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t off,
		   off_t len, struct fuse_file_info *fi)
{
	const struct handle *h = handle_of(fi);
	bool dropped;
	int err;

	if (similar_refuses(req, node, -EROFS))
		return;
	dropped = drop_setid(req, fi, h->fd);
	notify_writes(h->inode);
	err = fallocate(h->fd, mode, off, len) == 0 ? 0 : -errno;
	if (dropped)
		cred_raise_setid(fs_of(req));
	reply_error(req, err);
}

void ops_copy_file_range(fuse_req_t req, fuse_ino_t node_in, off_t off_in,
			 struct fuse_file_info *fi_in, fuse_ino_t node_out,
			 off_t off_out, struct fuse_file_info *fi_out,
			 size_t len, int flags)
{
	ssize_t copied;
	bool dropped;
	int fd;

	if (similar_refuses(req, node_in, -EROFS) ||
	    similar_refuses(req, node_out, -EROFS))
		return;
	fd = handle_fd(handle_of(fi_in));
	if (fd < 0) {
		reply_error(req, fd);
		return;
	}
	notify_writes(handle_of(fi_out)->inode);
	dropped = drop_setid(req, fi_out, handle_of(fi_out)->fd);
	copied = copy_file_range(fd, &off_in, handle_of(fi_out)->fd, &off_out,
				 len < COPY_MAX ? len : COPY_MAX,
				 (unsigned)flags);
	if (copied < 0)
		copied = -errno;
	if (dropped)
		cred_raise_setid(fs_of(req));
	if (copied < 0)
		reply_error(req, (int)copied);
	else
		fuse_reply_write(req, (size_t)copied);
}

void ops_lseek(fuse_req_t req, fuse_ino_t node, off_t off, int whence,
	       struct fuse_file_info *fi)
{
	off_t at;
	int fd;

	if (similar_refuses(req, node, -EINVAL))
		return;
	fd = handle_fd(handle_of(fi));
	at = fd < 0 ? fd : lseek(fd, off, whence);
	if (fd >= 0 && at < 0)
		at = -errno;
	if (at < 0)
		reply_error(req, (int)at);
	else
		fuse_reply_lseek(req, at);
}

/* ---- ioctl ---- */

/*
 * The flags of a file (chattr(1), quota projects).  The kernel gets and sets
 * them by these requests, and has checked the caller's permissions.  All other
 * requests are refused, because they may do anything on the filesystem below.
 */
static const struct flag_request {
	unsigned command;
	bool sets;
	size_t size; /* of the data, which differs from that in command */
} requests[] = {
	{ (unsigned)FS_IOC_GETFLAGS, false, sizeof(int) },
	{ (unsigned)FS_IOC_SETFLAGS, true, sizeof(int) },
	{ (unsigned)FS_IOC_FSGETXATTR, false, sizeof(struct fsxattr) },
	{ (unsigned)FS_IOC_FSSETXATTR, true, sizeof(struct fsxattr) },
};

/* flags: an int or a struct fsxattr. */
static int do_flag_request(fuse_req_t req, struct handle *h,
			   const struct flag_request *request, void *flags)
{
	struct fs *fs = fs_of(req);
	int fd = handle_fd(h);
	int err =
		fd < 0 ? fd :
			 CRED_CALL(fs, req, ioctl(fd, request->command, flags));

	if (!err && request->sets) /* the ctime has changed */
		(void)cache_forget_attributes(fs, h->inode);
	return err;
}

void ops_ioctl(fuse_req_t req, fuse_ino_t node, unsigned cmd, void *arg,
	       struct fuse_file_info *fi, unsigned flags, const void *in,
	       size_t in_size, size_t out_size)
{
	const struct flag_request *r = requests,
				  *end = r + sizeof(requests) / sizeof(*r);
	struct fsxattr data = { 0 };
	int err = -ENOTTY;

	if (similar_is_node(node)) {
		similar_ops.ioctl(req, node, cmd, arg, fi, flags, in, in_size,
				  out_size);
		return;
	}
	while (r < end && r->command != cmd)
		r++;
	if (r < end && (r->sets ? in_size : out_size) == r->size) {
		if (r->sets)
			memcpy(&data, in, r->size);
		err = do_flag_request(req, handle_of(fi), r, &data);
	}
	if (err)
		reply_error(req, err);
	else
		fuse_reply_ioctl(req, 0, &data, r->sets ? 0 : r->size);
}
