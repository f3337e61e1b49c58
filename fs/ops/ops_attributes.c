/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fs/inode/cred.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/cache.h"
#include "fs/ops/notify.h"
#include "fs/ops/reply.h"
#include "fs/similar/similar.h"

static int stat_node(struct fs *fs, struct inode *inode,
		     const struct fuse_file_info *fi, struct stat *st)
{
	if (fi && fi->fh && handle_of(fi)->fd >= 0)
		return fstat(handle_of(fi)->fd, st) == 0 ? 0 : -errno;
	return inode_stat(fs, inode, st);
}

/* The attributes for the kernel, and for how long it may cache them. */
static int show_node(struct fs *fs, fuse_ino_t node,
		     const struct fuse_file_info *fi, struct stat *st,
		     double *timeout_out)
{
	struct inode *inode = inode_of(fs, node);
	int err;

	*timeout_out = 0;
	if (similar_is_node(node))
		return similar_stat(fs, node, st);
	err = stat_node(fs, inode, fi, st);
	if (err)
		return err;
	*timeout_out = cache_attr_timeout(fs, inode, st);
	notify_looked_up(fs, inode, st);
	st->st_ino = lookup_number(fs, st->st_dev, st->st_ino);
	return 0;
}

void ops_getattr(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	struct stat st;
	double timeout;
	int err = show_node(fs_of(req), node, fi, &st, &timeout);

	if (err)
		reply_error(req, err);
	else
		fuse_reply_attr(req, &st, timeout);
}

#if FUSE_VERSION >= 318
static void fill_statx(const struct stat *st, struct statx *out)
{
	*out = (struct statx){
		.stx_mask = STATX_BASIC_STATS,
		.stx_blksize = (uint32_t)st->st_blksize,
		.stx_nlink = (uint32_t)st->st_nlink,
		.stx_uid = st->st_uid,
		.stx_gid = st->st_gid,
		.stx_mode = (uint16_t)st->st_mode,
		.stx_ino = st->st_ino,
		.stx_size = (uint64_t)st->st_size,
		.stx_blocks = (uint64_t)st->st_blocks,
		.stx_atime.tv_sec = st->st_atim.tv_sec,
		.stx_atime.tv_nsec = (uint32_t)st->st_atim.tv_nsec,
		.stx_mtime.tv_sec = st->st_mtim.tv_sec,
		.stx_mtime.tv_nsec = (uint32_t)st->st_mtim.tv_nsec,
		.stx_ctime.tv_sec = st->st_ctim.tv_sec,
		.stx_ctime.tv_nsec = (uint32_t)st->st_ctim.tv_nsec,
		.stx_rdev_major = major(st->st_rdev),
		.stx_rdev_minor = minor(st->st_rdev),
	};
}

/* Fills in the basic fields and the time of birth; the kernel uses no
 * others. */
void ops_statx(fuse_req_t req, fuse_ino_t node, int flags, int mask,
	       struct fuse_file_info *fi)
{
	const bool wants_birth = mask & STATX_BTIME && !similar_is_node(node);
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);
	struct statx all, below;
	struct stat st;
	double timeout;
	int fd, err = show_node(fs, node, fi, &st, &timeout);

	(void)flags;
	if (err) {
		reply_error(req, err);
		return;
	}
	fill_statx(&st, &all);
	fd = wants_birth ? inode_fd(fs, inode) : -1;
	if (fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &below) == 0 &&
	    below.stx_mask & STATX_BTIME) {
		all.stx_mask |= STATX_BTIME;
		all.stx_btime = below.stx_btime;
	}
	if (wants_birth)
		inode_fd_close(inode, fd);
	fuse_reply_statx(req, 0, &all, timeout);
}
#endif

/* ---- setattr ---- */

#define KILL_SUIDGID (1 << 11) /* FATTR_KILL_SUIDGID */

/* The file whose attributes change. */
struct target {
	struct inode *inode;
	int fd; /* of a handle, or O_PATH */
	bool is_handle;
	bool kills; /* the daemon has to clear setuid bits */
};

static int set_size(fuse_req_t req, struct fs *fs, const struct target *t,
		    off_t size)
{
	bool dropped;
	int err;

	if (!S_ISREG(t->inode->type))
		return S_ISDIR(t->inode->type) ? -EISDIR : -EINVAL;
	if (t->is_handle) {
		dropped = t->kills && cred_drop_setid(fs, req, t->fd);
		err = ftruncate(t->fd, size) == 0 ? 0 : -errno;
		if (dropped)
			cred_raise_setid(fs);
		return err;
	}
	err = CRED_CALL(fs, req, truncate(fd_path(t->fd).text, size));
	if (!err && !atomic_load(&t->inode->writers))
		notify_closed(fs, t->inode, t->fd);
	return err;
}

static struct timespec time_to_set(const struct timespec *t, bool set, bool now)
{
	struct timespec omit = { .tv_nsec = UTIME_OMIT };
	struct timespec current = { .tv_nsec = UTIME_NOW };

	return now ? current : set ? *t : omit;
}

static int set_owner(const struct target *t, const struct stat *attr,
		     int to_set)
{
	return fchownat(t->fd, "",
			to_set & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1,
			to_set & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1,
			AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

static int set_mode(const struct target *t, mode_t mode)
{
	return t->is_handle ? fchmod(t->fd, mode) :
			      fchmodat(AT_FDCWD, fd_path(t->fd).text, mode, 0);
}

static int set_times(const struct target *t, const struct stat *attr,
		     int to_set)
{
	const struct timespec times[2] = {
		time_to_set(&attr->st_atim, to_set & FUSE_SET_ATTR_ATIME,
			    to_set & FUSE_SET_ATTR_ATIME_NOW),
		time_to_set(&attr->st_mtim, to_set & FUSE_SET_ATTR_MTIME,
			    to_set & FUSE_SET_ATTR_MTIME_NOW),
	};

	return utimensat(t->fd, "", times, AT_EMPTY_PATH);
}

/*
 * The kernel has checked owner and capabilities by the attributes that it
 * remembers, and sends the mode that a chown or a write leaves behind.  The file
 * may belong to somebody else by now, so all calls have the caller's
 * credentials.  The owner is set before the mode, because chown clears the setuid
 * bits.
 */
static int set_attributes(fuse_req_t req, struct fs *fs, const struct target *t,
			  const struct stat *attr, int to_set)
{
	const int times = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME |
			  FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW;
	int err = 0;

	if (to_set & FUSE_SET_ATTR_SIZE) {
		err = set_size(req, fs, t, attr->st_size);
		/* Which was set with the size; a writer need not be the
		 * owner. */
		if (to_set & FUSE_SET_ATTR_MTIME_NOW)
			to_set &= ~(FUSE_SET_ATTR_MTIME |
				    FUSE_SET_ATTR_MTIME_NOW);
	}
	/* No attribute at all: chown(-1, -1), which changes the ctime and clears
	 * the setuid bits; so does a write, of a user who need not be the
	 * owner. */
	if (!err &&
	    (!to_set || to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)))
		err = CRED_CALL_ON(fs, req, t->fd, set_owner(t, attr, to_set));
	if (err == -EPERM && !to_set && atomic_load(&t->inode->writers))
		err = set_owner(t, attr, to_set) == 0 ? 0 : -errno;
	if (!err && to_set & FUSE_SET_ATTR_MODE)
		err = CRED_CALL_ON(fs, req, t->fd,
				   set_mode(t, attr->st_mode & 07777));
	if (!err && to_set & times)
		err = CRED_CALL_ON(fs, req, t->fd, set_times(t, attr, to_set));
	return err;
}

static int set_inode(fuse_req_t req, struct fs *fs, struct inode *inode,
		     const struct stat *attr, int to_set,
		     const struct fuse_file_info *fi)
{
	struct target t = { .inode = inode };
	struct metadata_change change = { .inode = NULL };
	int err;

	t.kills = fs->killpriv &&
		  (fuse_req_ctx(req)->uid != 0 || to_set & KILL_SUIDGID);
	if (to_set & FUSE_SET_ATTR_SIZE)
		notify_writes(inode);
	else
		metadata_change_begin(fs, inode, &change);
	t.is_handle = fi && fi->fh && handle_of(fi)->fd >= 0;
	t.fd = t.is_handle ? (int)handle_of(fi)->fd : inode_fd(fs, inode);
	err = t.fd < 0 ? t.fd : set_attributes(req, fs, &t, attr, to_set);
	if (!t.is_handle)
		inode_fd_close(inode, t.fd);
	metadata_change_end(fs, &change);
	return err;
}

void ops_setattr(fuse_req_t req, fuse_ino_t node, struct stat *attr, int to_set,
		 struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);
	struct stat st;
	double timeout;
	int err;

	if (similar_refuses(req, node, -EROFS))
		return;
	err = set_inode(req, fs, inode, attr, to_set, fi);
	if (!err)
		err = show_node(fs, node, fi, &st, &timeout);
	if (err)
		reply_error(req, err);
	else
		fuse_reply_attr(req, &st, timeout);
}

void ops_statfs(fuse_req_t req, fuse_ino_t node)
{
	struct fs *fs = fs_of(req);
	struct inode *inode =
		similar_is_node(node) ? fs->root : inode_of(fs, node);
	int fd = inode_fd(fs, inode);
	struct statvfs st;
	int err = fd < 0 ? fd : fstatvfs(fd, &st) == 0 ? 0 : -errno;

	inode_fd_close(inode, fd);
	if (err)
		reply_error(req, err);
	else
		fuse_reply_statfs(req, &st);
}
