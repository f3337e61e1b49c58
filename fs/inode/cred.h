/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_CRED_H
#define FS_INODE_CRED_H

#include <stdbool.h>
#include <sys/types.h>

struct fs;
struct fuse_req;
struct credentials;

/*
 * Doing things as the caller.
 *
 * A daemon that is root serves other users; what they make must be theirs and
 * what they may not do must fail.  The calling thread becomes the caller (see
 * struct credentials) for one operation; a caller that is root keeps the
 * daemon's groups.  A caller from another pid namespace has no groups that
 * could be looked up; it acts with its group alone.
 */
struct cred {
	bool changed;
};

/* Done once, before the first request: -ENOMEM or errno. */
int cred_init(struct fs *fs);

/* The credentials of the caller.  credentials_release() frees them; -ENOMEM. */
int cred_of(struct fuse_req *req, struct credentials *out);

/* Whether the caller of a request is root or the user whose daemon this is. */
bool cred_owns_mount(const struct fs *fs, struct fuse_req *req);

/* Whether the caller of a request has these credentials; of who owns the mount,
 * in which no group is asked for, but for the groups.  False also when there is
 * no memory to find out. */
bool cred_is(struct fs *fs, struct fuse_req *req, const struct credentials *p);

/* Gives the thread the caller's credentials; nothing to do when the daemon is
 * not root or the caller is root.  On failure nothing has changed. */
int cred_assume(struct fs *fs, struct fuse_req *req, struct cred *saved_out);

/* Gives the thread those of the daemon back.  A thread that cannot go back must
 * not go on: ends the process. */
void cred_restore(struct fs *fs, const struct cred *saved);

/* For a call that makes a file: gives the thread the caller's umask, too, so
 * that the filesystem below applies it, or a default ACL instead.  mode_out is
 * the mode to pass to that call. */
int cred_assume_create(struct fs *fs, struct fuse_req *req, mode_t mode,
		       struct cred *saved_out, mode_t *mode_out);

/*
 * Takes CAP_FSETID off the calling thread, so that a file it writes to loses
 * its setuid bits, and its setgid bit if the group may execute it or if the
 * writer is not of the group.  Returns whether the thread had it; it is to be
 * given back then, and nothing else to be done before.
 *
 * The first is to write to the file behind fd for a caller: where the group
 * decides, the thread gets the caller's groups.  The second is of no group.
 */
bool cred_drop_setid(struct fs *fs, struct fuse_req *req, int fd);
bool cred_drop_setid_for_all(struct fs *fs);
void cred_raise_setid(struct fs *fs);

#endif
