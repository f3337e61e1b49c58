/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/notice.h"
#include "fs/similar.h"

#define DIRECT_ALIGNMENT 4096
/* One request must not keep a thread for minutes; callers go on. */
#define COPY_MAX ((size_t)128 << 20)

/* ---- read ---- */

/* O_DIRECT wants aligned memory, which a pipe or libfuse's buffer is not. */
static void read_direct(fuse_req_t req, const struct handle *h, size_t size,
			off_t off)
{
	void *data = NULL;
	ssize_t len;

	if (posix_memalign(&data, DIRECT_ALIGNMENT, size ? size : 1) != 0) {
		reply_error(req, -ENOMEM);
		return;
	}
	len = pread(h->fd, data, size, off);
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
	const struct handle *h;

	if (similar_is_node(node)) {
		reply_error(req, -EBADF);
		return;
	}
	h = handle_of(fi);
	if (h->flags & O_DIRECT) {
		read_direct(req, h, size, off);
		return;
	}
	data.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	data.buf[0].fd = h->fd;
	data.buf[0].pos = off;
	fuse_reply_data(req, &data, FUSE_BUF_SPLICE_MOVE);
}

/* ---- write ---- */

/* In one call from aligned memory: for O_DIRECT, and for O_APPEND, where
 * splice() does not work and pieces could land apart. */
static ssize_t write_whole(const struct handle *h, struct fuse_bufvec *in,
			   size_t size, off_t off)
{
	struct fuse_bufvec copy = FUSE_BUFVEC_INIT(size);
	void *data = NULL;
	ssize_t len;

	if (posix_memalign(&data, DIRECT_ALIGNMENT, size ? size : 1) != 0)
		return -ENOMEM;
	copy.buf[0].mem = data;
	len = fuse_buf_copy(&copy, in, 0);
	if (len > 0) {
		len = pwrite(h->fd, data, (size_t)len, off);
		if (len < 0)
			len = -errno;
	}
	free(data);
	return len;
}

static ssize_t write_spliced(const struct handle *h, struct fuse_bufvec *in,
			     size_t size, off_t off)
{
	struct fuse_bufvec out = FUSE_BUFVEC_INIT(size);

	out.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	out.buf[0].fd = h->fd;
	out.buf[0].pos = off;
	return fuse_buf_copy(&out, in, 0);
}

void ops_write_buf(fuse_req_t req, fuse_ino_t node, struct fuse_bufvec *in,
		   off_t off, struct fuse_file_info *fi)
{
	size_t size = fuse_buf_size(in);
	const struct handle *h;
	ssize_t len;

	if (similar_is_node(node)) {
		reply_error(req, -EBADF);
		return;
	}
	h = handle_of(fi);
	notice_writes(h->inode);
	if (h->flags & (O_DIRECT | O_APPEND))
		len = write_whole(h, in, size, off);
	else
		len = write_spliced(h, in, size, off);
	if (len < 0)
		reply_error(req, (int)len);
	else
		fuse_reply_write(req, (size_t)len);
}

/* ---- the rest ---- */

void ops_fsync(fuse_req_t req, fuse_ino_t node, int datasync,
	       struct fuse_file_info *fi)
{
	int err = 0;
	int fd;

	if (!similar_is_node(node)) {
		fd = handle_of(fi)->fd;
		if ((datasync ? fdatasync(fd) : fsync(fd)) != 0)
			err = -errno;
	}
	reply_error(req, err);
}

void ops_fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t off,
		   off_t len, struct fuse_file_info *fi)
{
	int err = 0;

	if (!similar_is_node(node))
		notice_writes(handle_of(fi)->inode);
	if (similar_is_node(node))
		err = -EROFS;
	else if (fallocate(handle_of(fi)->fd, mode, off, len) != 0)
		err = -errno;
	reply_error(req, err);
}

void ops_copy_file_range(fuse_req_t req, fuse_ino_t node_in, off_t off_in,
			 struct fuse_file_info *fi_in, fuse_ino_t node_out,
			 off_t off_out, struct fuse_file_info *fi_out,
			 size_t len, int flags)
{
	ssize_t copied;

	if (similar_is_node(node_in) || similar_is_node(node_out)) {
		reply_error(req, -EROFS);
		return;
	}
	notice_writes(handle_of(fi_out)->inode);
	copied = copy_file_range(
		handle_of(fi_in)->fd, &off_in, handle_of(fi_out)->fd, &off_out,
		len < COPY_MAX ? len : COPY_MAX, (unsigned)flags);
	if (copied < 0)
		reply_error(req, -errno);
	else
		fuse_reply_write(req, (size_t)copied);
}

void ops_lseek(fuse_req_t req, fuse_ino_t node, off_t off, int whence,
	       struct fuse_file_info *fi)
{
	off_t at;

	if (similar_is_node(node)) {
		reply_error(req, -EINVAL);
		return;
	}
	at = lseek(handle_of(fi)->fd, off, whence);
	if (at < 0)
		reply_error(req, -errno);
	else
		fuse_reply_lseek(req, at);
}

void ops_ioctl(fuse_req_t req, fuse_ino_t node, unsigned cmd, void *arg,
	       struct fuse_file_info *fi, unsigned flags, const void *in,
	       size_t in_size, size_t out_size)
{
	(void)node;
	(void)cmd;
	(void)arg;
	(void)fi;
	(void)flags;
	(void)in;
	(void)in_size;
	(void)out_size;
	reply_error(req, -ENOTTY);
}
