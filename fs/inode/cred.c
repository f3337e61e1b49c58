/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/cred.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
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
	/* With the user of the daemon the thread has these again. */
	if (is_other(fs, req))
		credentials_leave(&fs->own);
}

/* ---- capabilities of the caller ---- */

/* Those that decide about files; CAP_SYS_ADMIN is of attributes "trusted.". */
#define CAPABILITIES                                                  \
	(CAP_TO_MASK(CAP_CHOWN) | CAP_TO_MASK(CAP_DAC_OVERRIDE) |     \
	 CAP_TO_MASK(CAP_DAC_READ_SEARCH) | CAP_TO_MASK(CAP_FOWNER) | \
	 CAP_TO_MASK(CAP_FSETID) | CAP_TO_MASK(CAP_MKNOD) |           \
	 CAP_TO_MASK(CAP_SETFCAP) | CAP_TO_MASK(CAP_LINUX_IMMUTABLE))

static FILE *open_proc(pid_t pid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

/* The caller waits for the answer, so its thread has that number still. */
static uint32_t read_capabilities(pid_t pid)
{
	FILE *f = open_proc(pid, "status");
	unsigned long long caps = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (f)
		(void)fclose(f);
	return (uint32_t)caps & CAPABILITIES;
}

/* Whether the id is mapped in the caller's user namespace, by its uid_map or
 * gid_map; an id of -1: whether all are, as in the daemon's own. */
static bool is_mapped(pid_t pid, const char *map, uint32_t id)
{
	FILE *f = open_proc(pid, map);
	unsigned long inside, outside, count;
	bool found = false;

	while (f && !found &&
	       fscanf(f, "%lu %lu %lu", &inside, &outside, &count) == 3)
		found = id == UINT32_MAX ?
				count == UINT32_MAX :
				id >= outside && id - outside < count;
	if (f)
		(void)fclose(f);
	return found;
}

static bool raise_effective(uint32_t caps)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, sets) != 0)
		return false;
	sets[0].effective |= caps & sets[0].permitted;
	return syscall(SYS_capset, &head, sets) == 0;
}

bool cred_raise(struct fs *fs, fuse_req_t req, int err, int fd)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct stat st;
	uint32_t caps;

	if ((err != -EPERM && err != -EACCES) || !is_other(fs, req) ||
	    !ctx->pid || !(caps = read_capabilities(ctx->pid)))
		return false;
	if (!(is_mapped(ctx->pid, "uid_map", UINT32_MAX) &&
	      is_mapped(ctx->pid, "gid_map", UINT32_MAX)) &&
	    (fd < 0 || fstat(fd, &st) != 0 ||
	     !is_mapped(ctx->pid, "uid_map", st.st_uid) ||
	     !is_mapped(ctx->pid, "gid_map", st.st_gid)))
		return false;
	return raise_effective(caps);
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
