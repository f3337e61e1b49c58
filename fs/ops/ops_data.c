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

#include "fs/inode/backing.h"
#include "fs/inode/cred.h"
#include "fs/ops/notify.h"
#include "fs/loop/protocol.h"
#include "fs/inode/cache.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/reopen.h"
#include "fs/ops/reply.h"

#define DIRECT_ALIGNMENT 4096
/* Most bytes of a copy, so that a request does not occupy a thread for minutes;
 * callers repeat the call for the rest. */
#define COPY_MAX ((size_t)128 << 20)

/* ---- flags of a request ---- */

/* The present flags of the caller's descriptor, which fcntl() may have changed.
 * A write of mapped pages has no flags. */
static int flags_now(const struct fuse_file_info *fi)
{
	return fi->writepage ? 0 : fi->flags;
}

/*
 * The handle's descriptor, or a new one if O_DIRECT differs from the request's.
 * Changing the flag of the handle's descriptor would affect other requests.
 */
static int data_fd(struct fs *fs, struct handle *h, int flags)
{
	int own = handle_fd(fs, h);
	int fd = -1;

	if (own >= 0 && (h->flags ^ flags) & O_DIRECT)
		fd = fd_reopen(own,
			       (h->flags & (O_ACCMODE | O_SYNC | O_DSYNC)) |
				       (flags & O_DIRECT));
	return fd < 0 ? own : fd;
}

/* The descriptor to be closed after the reply: fd, or -1 if it is the handle's.
 * The handle may be freed by then. */
static int data_fd_extra(const struct handle *h, int fd)
{
	return fd == h->fd ? -1 : fd;
}

/* ---- read ---- */

/* O_DIRECT needs aligned memory; a pipe or libfuse's buffer is not aligned. */
static void read_direct(fuse_req_t req, int fd, size_t size, off_t off)
{
	void *data = NULL;
	ssize_t len;

	if (posix_memalign(&data, DIRECT_ALIGNMENT, size ? size : 1) != 0) {
		reply_error(req, -ENOMEM);
		return;
	}
	len = pread(fd, data, size, off);
	if (len < 0)
		reply_error(req, -errno);
	else
		fuse_reply_buf(req, data, (size_t)len);
	free(data);
}

void ops_read(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
	      struct fuse_file_info *fi)
{
	struct fuse_bufvec data = FUSE_BUFVEC_INIT(size);
	struct handle *h = handle_of(fi);
	int fd = data_fd(fs_of(req), h, flags_now(fi));
	int extra;

	(void)node;
	if (fd < 0) {
		reply_error(req, fd);
		return;
	}
	extra = data_fd_extra(h, fd);
	if (fi->flags & O_DIRECT) {
		read_direct(req, fd, size, off);
	} else {
		data.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
		data.buf[0].fd = fd;
		data.buf[0].pos = off;
		fuse_reply_data(req, &data, 0);
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

static ssize_t write_spliced(int fd, struct fuse_bufvec *in, size_t size,
			     off_t off)
{
	struct fuse_bufvec out = FUSE_BUFVEC_INIT(size);

	out.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	out.buf[0].fd = fd;
	out.buf[0].pos = off;
	return fuse_buf_copy(&out, in, 0);
}

void ops_write_buf(fuse_req_t req, fuse_ino_t node, struct fuse_bufvec *in,
		   off_t off, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	int flags = flags_now(fi);
	size_t size = fuse_buf_size(in);
	struct handle *h = handle_of(fi);
	bool dropped;
	ssize_t len;
	int extra;
	int fd;

	(void)node;
	notify_writes(h->inode);
	fd = data_fd(fs, h, flags);
	extra = data_fd_extra(h, fd);
	dropped = drop_setid(req, fi, fd);
	if (flags & (O_DIRECT | O_APPEND))
		len = write_whole(fd, in, size, off, flags & O_APPEND);
	else
		len = write_spliced(fd, in, size, off);
	if (dropped)
		cred_raise_setid(fs);
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
	int fd = handle_fd(fs_of(req), handle_of(fi));
	int err = fd < 0 ? fd : 0;

	(void)node;
	if (!err && (datasync ? fdatasync(fd) : fsync(fd)) != 0)
		err = -errno;
	reply_error(req, err);
}

static int fallocate_as_caller(fuse_req_t req, struct fuse_file_info *fi,
			       int mode, off_t off, off_t len)
{
	bool dropped = drop_setid(req, fi, handle_of(fi)->fd);
	int err = 0;

	notify_writes(handle_of(fi)->inode);
	if (fallocate(handle_of(fi)->fd, mode, off, len) != 0)
		err = -errno;
	if (dropped)
		cred_raise_setid(fs_of(req));
	return err;
}

void ops_fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t off,
		   off_t len, struct fuse_file_info *fi)
{
	(void)node;
	reply_error(req, fallocate_as_caller(req, fi, mode, off, len));
}

void ops_copy_file_range(fuse_req_t req, fuse_ino_t node_in, off_t off_in,
			 struct fuse_file_info *fi_in, fuse_ino_t node_out,
			 off_t off_out, struct fuse_file_info *fi_out,
			 size_t len, int flags)
{
	struct fs *fs = fs_of(req);
	int fd = handle_fd(fs, handle_of(fi_in));
	ssize_t copied;
	bool dropped;

	(void)node_in;
	(void)node_out;
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
		cred_raise_setid(fs);
	if (copied < 0)
		reply_error(req, (int)copied);
	else
		fuse_reply_write(req, (size_t)copied);
}

void ops_lseek(fuse_req_t req, fuse_ino_t node, off_t off, int whence,
	       struct fuse_file_info *fi)
{
	int fd = handle_fd(fs_of(req), handle_of(fi));
	off_t at = fd < 0 ? fd : lseek(fd, off, whence);

	(void)node;
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
struct flag_request {
	unsigned command;
	bool sets;
	size_t size; /* of the data, which differs from that in command */
};

static const struct flag_request requests[] = {
	{ (unsigned)FS_IOC_GETFLAGS, false, sizeof(int) },
	{ (unsigned)FS_IOC_SETFLAGS, true, sizeof(int) },
	{ (unsigned)FS_IOC_FSGETXATTR, false, sizeof(struct fsxattr) },
	{ (unsigned)FS_IOC_FSSETXATTR, true, sizeof(struct fsxattr) },
};

union flags {
	int flags;
	struct fsxattr all;
};

static const struct flag_request *find_request(unsigned command)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (requests[i].command == command)
			return &requests[i];
	return NULL;
}

static int ioctl_as_caller(fuse_req_t req, struct fs *fs, int fd,
			   unsigned command, union flags *flags)
{
	struct cred saved;
	int err = cred_assume(fs, req, &saved);

	if (err)
		return err;
	if (ioctl(fd, command, flags) != 0)
		err = -errno;
	cred_restore(fs, &saved);
	return err;
}

static int do_flag_request(fuse_req_t req, struct fs *fs, struct handle *h,
			   const struct flag_request *request,
			   union flags *flags)
{
	int fd = handle_fd(fs, h);
	int err = fd < 0 ?
			  fd :
			  ioctl_as_caller(req, fs, fd, request->command, flags);

	if (!err && request->sets) /* the ctime has changed */
		(void)cache_forget_attributes(fs, h->inode);
	return err;
}

static void reply_flags(fuse_req_t req, struct fs *fs, struct handle *h,
			const struct flag_request *request, const void *in)
{
	union flags flags = { .flags = 0 };
	int err;

	if (request->sets)
		memcpy(&flags, in, request->size);
	err = do_flag_request(req, fs, h, request, &flags);
	if (err)
		reply_error(req, err);
	else
		fuse_reply_ioctl(req, 0, &flags,
				 request->sets ? 0 : request->size);
}

void ops_ioctl(fuse_req_t req, fuse_ino_t node, unsigned cmd, void *arg,
	       struct fuse_file_info *fi, unsigned flags, const void *in,
	       size_t in_size, size_t out_size)
{
	const struct flag_request *request = find_request(cmd);

	(void)node;
	(void)arg;
	(void)flags;
	if (request && (request->sets ? in_size : out_size) == request->size)
		reply_flags(req, fs_of(req), handle_of(fi), request, in);
	else
		reply_error(req, -ENOTTY);
}
