/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_CRED_H
#define FS_CRED_H

#include <stdbool.h>
#include <sys/types.h>

struct fs;
struct fuse_req;

/*
 * Doing things as the caller.
 *
 * A daemon that is root serves other users; what they make must be theirs and
 * what they may not do must fail.  The calling thread (and no other: the raw
 * system calls act on one thread) takes the caller's fsuid, fsgid and groups
 * for one operation, which also takes away the capabilities that override
 * permissions.  A caller from another pid namespace has no groups that could
 * be looked up; it acts with its fsgid alone.
 */
struct cred {
	bool uid_changed;
	bool gid_changed;
	bool groups_changed;
};

/* Done once, before the first request: -ENOMEM or errno. */
int cred_init(struct fs *fs);

/* The caller's credentials; nothing to do when the daemon is not root or the
 * caller is root.  On failure nothing has changed. */
int cred_assume(struct fs *fs, struct fuse_req *req, struct cred *saved_out);

/* Back to the daemon's.  A thread that cannot go back must not go on: ends
 * the process. */
void cred_restore(struct fs *fs, const struct cred *saved);

/* The same for a call that makes a file: the caller's umask too, so that the
 * filesystem below applies it, or a default ACL instead.  mode_out is the mode
 * to pass to that call. */
int cred_assume_create(struct fs *fs, struct fuse_req *req, mode_t mode,
		       struct cred *saved_out, mode_t *mode_out);

#endif
