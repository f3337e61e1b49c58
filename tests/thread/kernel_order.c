/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Linked into the daemon of SAN=thread: shows the thread sanitizer the order
 * that the kernel keeps.  A file is named in requests after the reply that
 * made it known, and a handle is released and a node forgotten after the
 * replies to all that was asked about them.
 *
 * The linker puts these in the place of libfuse's (see the Makefile).  Every
 * request that asks for the mount it is about comes after the replies that
 * were given before, whatever file they were about.  That is more than the
 * kernel promises: what is wrong between two requests shows when they are
 * under way at the same time.
 */
#include <fuse_lowlevel.h>

void __tsan_acquire(void *object);
void __tsan_release(void *object);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

const char *__tsan_default_options(void);

/* To the sanitizer every read of a file comes after every write to one, which
 * hides what is wrong between those that read and write files.  Not here. */
const char *__tsan_default_options(void)
{
	return "io_sync=0";
}

static char kernel;

/* ---- requests ---- */

void *__real_fuse_req_userdata(fuse_req_t req);
void *__wrap_fuse_req_userdata(fuse_req_t req);
void *__wrap_fuse_req_userdata(fuse_req_t req)
{
	__tsan_acquire(&kernel);
	return __real_fuse_req_userdata(req);
}

/* ---- replies ---- */

#define REPLY(name, parameters, arguments)      \
	int __real_##name parameters;           \
	int __wrap_##name parameters;           \
	int __wrap_##name parameters            \
	{                                       \
		__tsan_release(&kernel);        \
		return __real_##name arguments; \
	}

REPLY(fuse_reply_err, (fuse_req_t req, int err), (req, err))
REPLY(fuse_reply_entry, (fuse_req_t req, const struct fuse_entry_param *e),
      (req, e))
REPLY(fuse_reply_create,
      (fuse_req_t req, const struct fuse_entry_param *e,
       const struct fuse_file_info *fi),
      (req, e, fi))
REPLY(fuse_reply_attr, (fuse_req_t req, const struct stat *st, double timeout),
      (req, st, timeout))
REPLY(fuse_reply_readlink, (fuse_req_t req, const char *target), (req, target))
REPLY(fuse_reply_open, (fuse_req_t req, const struct fuse_file_info *fi),
      (req, fi))
REPLY(fuse_reply_write, (fuse_req_t req, size_t count), (req, count))
REPLY(fuse_reply_buf, (fuse_req_t req, const char *data, size_t len),
      (req, data, len))
REPLY(fuse_reply_statfs, (fuse_req_t req, const struct statvfs *st), (req, st))
REPLY(fuse_reply_xattr, (fuse_req_t req, size_t count), (req, count))
REPLY(fuse_reply_lock, (fuse_req_t req, const struct flock *lock), (req, lock))
REPLY(fuse_reply_lseek, (fuse_req_t req, off_t off), (req, off))

/* Reads from the handle's descriptor before it replies. */
int __real_fuse_reply_data(fuse_req_t req, struct fuse_bufvec *data,
			   enum fuse_buf_copy_flags flags);
int __wrap_fuse_reply_data(fuse_req_t req, struct fuse_bufvec *data,
			   enum fuse_buf_copy_flags flags);
int __wrap_fuse_reply_data(fuse_req_t req, struct fuse_bufvec *data,
			   enum fuse_buf_copy_flags flags)
{
	int err;

	__tsan_release(&kernel);
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	err = __real_fuse_reply_data(req, data, flags);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
	return err;
}
