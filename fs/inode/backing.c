/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include "fs/inode/cred.h"
#include "fs/fs.h"
#include "fs/loop/loop.h"

#define ID_REFUSED (-1)
/* A file that one or two requests read. */
#define SMALL_SIZE 65536

/* ---- whether passthrough is possible ---- */

void backing_want(struct fs *fs, struct fuse_conn_info *conn)
{
	struct statfs st;

	/* On these filesystems stores to a mapping never change the
	 * timestamps. */
	if (!fs->options.no_passthrough && fs->root_user &&
	    fstatfs(fs->root->fd, &st) == 0 && st.f_type != TMPFS_MAGIC &&
	    st.f_type != RAMFS_MAGIC)
		atomic_store(&fs->passthrough, protocol_want_passthrough(conn));
}

void backing_show(struct fuse_file_info *fi, int id)
{
	protocol_show_backing(fi, id);
	/* Mappings still pass through. */
	fi->direct_io =
		fi->direct_io || (id && fi->flags & (O_DIRECT | O_APPEND));
}

/* ---- the kernel's ids ---- */

/* From <linux/fuse.h>, which is older than passthrough on some systems. */
struct backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};

#define BACKING_OPEN _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

static int id_open(struct fs *fs, const struct inode *inode)
{
	struct backing_map map = { .fd = inode->fd };
	bool dropped = cred_drop_setid_for_all(fs);
	int id = ioctl(fuse_session_fd(fs->session), BACKING_OPEN, &map);

	/* The kernel refuses it for the whole mount in a container (EPERM), or
	 * on a stacked filesystem (ELOOP). */
	if (id <= 0 &&
	    (errno == EPERM || (errno == ELOOP && inode->dev == fs->device)))
		atomic_store(&fs->passthrough, false);
	if (dropped)
		cred_raise_setid(fs);
	return id > 0 ? id : ID_REFUSED;
}

void backing_stop(struct fs *fs)
{
	atomic_store(&fs->passthrough, false);
}

/* ---- one inode ---- */

/*
 * With -o cross, files on other filesystems are hashed, too.  The engine does
 * not ask the mount whether these are open, so they do not pass through.
 *
 * A write of the caller may leave setuid or setgid bits: root's always does, and
 * a member's of the group leaves setgid without S_IXGRP.
 */
static bool may_pass(fuse_req_t req, const struct fs *fs,
		     const struct inode *inode, int flags,
		     const struct stat *st)
{
	if (inode->dev != fs->device && fs->options.cross)
		return false;
	if ((flags & O_ACCMODE) == O_RDONLY)
		return st->st_size > SMALL_SIZE;
	return !(st->st_mode & (S_ISUID | S_ISGID)) ||
	       (fuse_req_ctx(req)->uid != 0 &&
		(st->st_mode & (S_ISGID | S_IXGRP)) != S_ISGID);
}

static bool maps_to_write(int flags)
{
	return (flags & O_ACCMODE) == O_RDWR;
}

int backing_begin(fuse_req_t req, struct fs *fs, struct inode *inode, int flags,
		  const struct stat *known)
{
	bool may = atomic_load(&fs->passthrough) && inode->fd >= 0;
	struct stat now;
	bool passes;
	int id;

	if (may && !known) {
		may = fstat(inode->fd, &now) == 0;
		known = &now;
	}
	may = may && may_pass(req, fs, inode, flags, known);
	inode_lock(fs, inode);
	passes = inode->passing || (may && !inode->cached);
	if (may && passes && !inode->backing_id)
		inode->backing_id = id_open(fs, inode);
	passes = passes && inode->backing_id > 0;
	if (passes)
		inode->passing++;
	else
		inode->cached++;
	if (passes && maps_to_write(flags))
		atomic_fetch_add(&inode->mappers, 1);
	id = passes ? inode->backing_id : 0;
	inode_unlock(fs, inode);
	return id;
}

void backing_end(struct fs *fs, struct inode *inode, int flags, bool passes)
{
	inode_lock(fs, inode);
	if (passes)
		inode->passing--;
	else
		inode->cached--;
	if (passes && maps_to_write(flags))
		atomic_fetch_sub(&inode->mappers, 1);
	inode_unlock(fs, inode);
}

void backing_release(struct fs *fs, struct inode *inode)
{
	if (inode->backing_id > 0 && atomic_load(&fs->passthrough))
		(void)ioctl(fuse_session_fd(fs->session), BACKING_CLOSE,
			    &inode->backing_id);
}
