/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>

#include "fs/backing.h"
#include "fs/cred.h"
#include "fs/similar.h"

/*
 * The flags of a file (chattr(1), the project of a quota).  The kernel asks
 * for them and sets them by these requests, whichever way a program did, and
 * has checked the caller's rights; all other requests are refused, for they
 * may mean anything to the filesystem below.
 */
struct flag_request {
	unsigned command;
	bool sets;
	size_t size; /* of what is handed over, not what command says */
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

static int do_request(fuse_req_t req, struct fs *fs, struct handle *h,
		      const struct flag_request *request, union flags *flags)
{
	int fd = handle_fd(fs, h);
	int err = fd < 0 ?
			  fd :
			  ioctl_as_caller(req, fs, fd, request->command, flags);

	if (!err && request->sets) /* the time of change has moved */
		ops_forget_attributes(fs, h->inode);
	return err;
}

static void reply_flags(fuse_req_t req, struct fs *fs, struct handle *h,
			const struct flag_request *request, const void *in)
{
	union flags flags = { .flags = 0 };
	int err;

	if (request->sets)
		memcpy(&flags, in, request->size);
	err = do_request(req, fs, h, request, &flags);
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
	struct fs *fs = fs_of(req);

	(void)arg;
	(void)flags;
	if (similar_is_node(node))
		similar_ioctl(req, node, cmd, in, in_size, fi);
	else if (request &&
		 (request->sets ? in_size : out_size) == request->size)
		reply_flags(req, fs, handle_of(fi), request, in);
	else
		reply_error(req, -ENOTTY);
}
