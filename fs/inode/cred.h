/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_CRED_H
#define FS_INODE_CRED_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

struct fs;
struct fuse_req;
struct credentials;

/*
 * Operations with the caller's credentials.
 *
 * A daemon that is root serves other users: their files must belong to them,
 * and the kernel must check their permissions.  So the thread takes the
 * caller's credentials (struct credentials) for one operation.  For a caller
 * that is root it keeps the daemon's groups.  The groups of a caller in another
 * pid namespace cannot be read, so such a caller has its primary group only.
 */

/* Called once, before the first request.  A negative errno. */
int cred_init(struct fs *fs);

/* The credentials of the caller; free with credentials_release().  -ENOMEM. */
int cred_of(struct fuse_req *req, struct credentials *out);

/* Whether the caller is root or the user that runs the daemon. */
bool cred_owns_mount(const struct fs *fs, struct fuse_req *req);

/* Whether the caller has these credentials.  Groups are not compared if the
 * caller owns the mount.  False also when there is no memory. */
bool cred_is(struct fs *fs, struct fuse_req *req, const struct credentials *p);

/* Gives the thread the caller's credentials.  Does nothing if the daemon is not
 * root or the caller is root.  On failure nothing has changed. */
int cred_assume(struct fs *fs, struct fuse_req *req);

/* Gives the thread the daemon's credentials again; ends the process if that
 * fails. */
void cred_restore(struct fs *fs, struct fuse_req *req);

/*
 * To be called when a system call with the caller's credentials has failed with
 * err: true if the caller has capabilities that the thread lacked, and err may
 * come of that.  The thread has these then until cred_restore(), and the call is
 * to be repeated.  In a user namespace other than the daemon's, capabilities
 * count for a file (fd; -1: none) whose owner and group are mapped there.
 */
bool cred_raise(struct fs *fs, struct fuse_req *req, int err, int fd);

/* A system call with the caller's credentials, on the file behind fd or -1: 0 or
 * a negative errno. */
#define CRED_CALL_ON(fs, req, fd, call)                                 \
	({                                                              \
		int err_of_call_ = cred_assume(fs, req);                \
                                                                        \
		if (!err_of_call_) {                                    \
			err_of_call_ = (call) < 0 ? -errno : 0;         \
			if (err_of_call_ &&                             \
			    cred_raise(fs, req, err_of_call_, fd))      \
				err_of_call_ = (call) < 0 ? -errno : 0; \
			cred_restore(fs, req);                          \
		}                                                       \
		err_of_call_;                                           \
	})
#define CRED_CALL(fs, req, call) CRED_CALL_ON(fs, req, -1, call)

/* As cred_assume(), before a call that creates a file.  Also sets the thread's
 * umask to the caller's, so that the filesystem below applies the umask or a
 * default ACL.  mode_out is the mode for that call. */
int cred_assume_create(struct fs *fs, struct fuse_req *req, mode_t mode,
		       mode_t *mode_out);

/*
 * These two remove CAP_FSETID from the calling thread, so that a write clears
 * the setuid bit of the file, and the setgid bit if the group may execute the
 * file or the writer is not in the group.  If they return true, the thread must
 * call cred_raise_setid() right after the write.
 *
 * cred_drop_setid() is for a write to the file behind fd for a caller; the
 * thread takes the caller's groups if the setgid bit depends on them.  After
 * cred_drop_setid_for_all() the thread is in no group.
 */
bool cred_drop_setid(struct fs *fs, struct fuse_req *req, int fd);
bool cred_drop_setid_for_all(struct fs *fs);
void cred_raise_setid(struct fs *fs);

#endif
