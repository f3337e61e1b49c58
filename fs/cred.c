/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/cred.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/fs.h"

#define GROUPS_USUAL 64

/* The thread has a umask of its own, and which. */
static _Thread_local bool umask_is_own;
static _Thread_local mode_t umask_now;

static pthread_once_t umask_shared_once = PTHREAD_ONCE_INIT;

int cred_init(struct fs *fs)
{
	int count = getgroups(0, NULL);

	fs->root_user = geteuid() == 0;
	if (count < 0)
		return -errno;
	fs->groups = calloc((size_t)count + 1, sizeof(gid_t));
	if (!fs->groups)
		return -ENOMEM;
	count = getgroups(count, fs->groups);
	if (count < 0)
		return -errno;
	fs->group_count = (size_t)count;
	return 0;
}

static bool set_groups(size_t count, const gid_t *groups)
{
	return syscall(SYS_setgroups, count, groups) == 0;
}

/* setfsuid() and setfsgid() report nothing; asking again does. */
static bool set_fsuid(uid_t uid)
{
	setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid;
}

static bool set_fsgid(gid_t gid)
{
	setfsgid(gid);
	return (gid_t)setfsgid((gid_t)-1) == gid;
}

/* The groups of the caller, or none when they are not to be found out. */
static int assume_groups(fuse_req_t req)
{
	gid_t usual[GROUPS_USUAL];
	gid_t *groups = usual;
	gid_t *more = NULL;
	int count = fuse_req_getgroups(req, GROUPS_USUAL, usual);
	int err = 0;

	if (count > GROUPS_USUAL) {
		int size = count;

		more = calloc((size_t)size, sizeof(gid_t));
		if (!more)
			return -ENOMEM;
		groups = more;
		count = fuse_req_getgroups(req, size, groups);
		if (count > size)
			count = size;
	}
	if (!set_groups(count < 0 ? 0 : (size_t)count, groups))
		err = -errno;
	free(more);
	return err;
}

int cred_assume(struct fs *fs, fuse_req_t req, struct cred *saved_out)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct cred c = { .uid_changed = false };
	int err;

	*saved_out = c;
	if (!fs->root_user || (ctx->uid == 0 && ctx->gid == 0))
		return 0;
	if (ctx->uid != 0) {
		err = assume_groups(req);
		if (err)
			return err;
		c.groups_changed = true;
	}
	c.gid_changed = true;
	c.uid_changed = ctx->uid != 0;
	if (!set_fsgid(ctx->gid) || (c.uid_changed && !set_fsuid(ctx->uid))) {
		cred_restore(fs, &c);
		return -EPERM;
	}
	*saved_out = c;
	return 0;
}

void cred_restore(struct fs *fs, const struct cred *saved)
{
	if (saved->uid_changed && !set_fsuid(geteuid()))
		abort();
	if (saved->gid_changed && !set_fsgid(getegid()))
		abort();
	if (saved->groups_changed && !set_groups(fs->group_count, fs->groups))
		abort();
}

static void umask_clear(void)
{
	umask(0);
}

/*
 * Threads share their umask unless they leave the group of CLONE_FS.  Where
 * that is forbidden (some containers) the mask is taken off the mode, and
 * default ACLs are masked too.
 */
static mode_t umask_assume(mode_t mask, mode_t mode)
{
	if (!umask_is_own && unshare(CLONE_FS) != 0) {
		pthread_once(&umask_shared_once, umask_clear);
		return mode & ~mask;
	}
	if (!umask_is_own || umask_now != mask)
		umask(mask);
	umask_is_own = true;
	umask_now = mask;
	return mode;
}

int cred_assume_create(struct fs *fs, fuse_req_t req, mode_t mode,
		       struct cred *saved_out, mode_t *mode_out)
{
	int err = cred_assume(fs, req, saved_out);

	if (err)
		return err;
	*mode_out = umask_assume(fuse_req_ctx(req)->umask & 0777, mode);
	return 0;
}
