/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/cred.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/fs.h"

#define GROUPS_USUAL 64
/* A group that owns no files. */
#define NO_GROUP ((gid_t)-2)

/* The thread has left CLONE_FS, and its umask is umask_now. */
static _Thread_local bool umask_is_own;
static _Thread_local mode_t umask_now;
/* cred_drop_setid() has changed the thread's groups. */
static _Thread_local bool groups_are_other;

static pthread_once_t umask_shared_once = PTHREAD_ONCE_INIT;

int cred_init(struct fs *fs)
{
	fs->root_user = geteuid() == 0;
	return credentials_own(&fs->own);
}

int cred_of(fuse_req_t req, struct credentials *out)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	int count, size = GROUPS_USUAL;
	gid_t *groups;

	for (;;) {
		groups = calloc((size_t)size, sizeof(*groups));
		if (!groups)
			return -ENOMEM;
		count = fuse_req_getgroups(req, size, groups);
		if (count <= size)
			break;
		free(groups);
		size = count;
	}
	*out = (struct credentials){ .uid = ctx->uid,
				     .gid = ctx->gid,
				     .groups = groups,
				     .group_count =
					     count < 0 ? 0 : (size_t)count };
	return 0;
}

bool cred_owns_mount(const struct fs *fs, fuse_req_t req)
{
	uid_t uid = fuse_req_ctx(req)->uid;

	return uid == 0 || uid == fs->own.uid;
}

bool cred_is(struct fs *fs, fuse_req_t req, const struct credentials *p)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct credentials caller;
	bool equal;

	if (ctx->uid != p->uid || ctx->gid != p->gid)
		return false;
	if (cred_owns_mount(fs, req))
		return true;
	if (cred_of(req, &caller))
		return false;
	equal = credentials_equal(&caller, p);
	credentials_release(&caller);
	return equal;
}

/* Whether the caller's credentials are not the daemon's. */
static bool is_other(const struct fs *fs, fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	return fs->root_user && (ctx->uid || ctx->gid);
}

int cred_assume(struct fs *fs, fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct credentials caller = { 0 }, root = fs->own;
	int err;

	if (!is_other(fs, req))
		return 0;
	if (ctx->uid == 0) {
		root.gid = ctx->gid;
		err = credentials_enter(&root, &fs->own);
	} else {
		err = cred_of(req, &caller);
		if (!err)
			err = credentials_enter(&caller, &fs->own);
		credentials_release(&caller);
	}
	return err;
}

void cred_restore(struct fs *fs, fuse_req_t req)
{
	if (is_other(fs, req))
		credentials_leave(&fs->own);
}

static bool set_fsetid(bool on)
{
	/* A thread's capabilities with the daemon's credentials never change,
	 * so they are read once. */
	static _Thread_local struct __user_cap_data_struct
		own[_LINUX_CAPABILITY_U32S_3];
	static _Thread_local bool known;
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	uint32_t bit = CAP_TO_MASK(CAP_FSETID);

	if (!known)
		known = syscall(SYS_capget, &head, own) == 0;
	memcpy(sets, own, sizeof(sets));
	if (!known || !(sets[0].effective & bit))
		return false;
	if (!on)
		sets[0].effective &= ~bit;
	return syscall(SYS_capset, &head, sets) == 0;
}

static void take_groups(struct fs *fs, const struct credentials *groups)
{
	struct credentials p = *groups;

	p.uid = fs->own.uid;
	groups_are_other = credentials_enter(&p, &fs->own) == 0;
}

bool cred_drop_setid(struct fs *fs, fuse_req_t req, int fd)
{
	struct credentials caller;
	struct stat st;

	if (!fs->root_user || !set_fsetid(false))
		return false;
	/* The writer's groups decide whether this setgid bit is cleared. */
	if (fstat(fd, &st) == 0 &&
	    (st.st_mode & (S_ISGID | S_IXGRP)) == S_ISGID) {
		if (cred_of(req, &caller) != 0)
			caller = (struct credentials){ .gid = NO_GROUP };
		take_groups(fs, &caller);
		credentials_release(&caller);
	}
	return true;
}

bool cred_drop_setid_for_all(struct fs *fs)
{
	const struct credentials nobody = { .gid = NO_GROUP };

	if (!fs->root_user || !set_fsetid(false))
		return false;
	take_groups(fs, &nobody);
	return true;
}

void cred_raise_setid(struct fs *fs)
{
	if (groups_are_other)
		credentials_leave(&fs->own);
	groups_are_other = false;
	(void)set_fsetid(true);
}

static void umask_clear(void)
{
	umask(0);
}

/*
 * Threads share their umask until they unshare CLONE_FS.  Some containers
 * forbid that; then the umask is applied to the mode here, even if there is a
 * default ACL.
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
		       mode_t *mode_out)
{
	int err = cred_assume(fs, req);

	if (err)
		return err;
	*mode_out = umask_assume(fuse_req_ctx(req)->umask & 0777, mode);
	return 0;
}
