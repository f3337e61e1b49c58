/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fs/cred.h"
#include "fs/notify.h"
#include "fs/similar.h"
#include "fs/metadata_change.h"

/* Names that go away or move. */

int ops_may_change(struct fs *fs, fuse_ino_t parent, const char *name,
		   int claimed)
{
	if (similar_is_node(parent))
		return -EROFS;
	if (parent == FUSE_ROOT_ID && similar_claims(fs, name))
		return claimed;
	return 0;
}

static int unlink_as_caller(fuse_req_t req, struct fs *fs, int dir_fd,
			    const char *name, int flags)
{
	struct cred saved;
	int err = cred_assume(fs, req, &saved);

	if (err)
		return err;
	if (unlinkat(dir_fd, name, flags) != 0)
		err = -errno;
	cred_restore(fs, &saved);
	return err;
}

/* For the file of that name, if the mount knows it.  goes: rather than moves.
 * Nobody asks for the content of a file that is gone with its only name. */
static void metadata_change_begin_at(struct fs *fs, int dir_fd,
				     const char *name, bool goes,
				     struct metadata_change *out)
{
	struct inode *inode = NULL;
	struct stat st;

	out->inode = NULL;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode))
		inode = inode_find(fs, st.st_dev, st.st_ino);
	if (!inode)
		return;
	if (!goes || st.st_nlink > 1 || inode_is_open(fs, inode))
		metadata_change_begin(fs, inode, out);
	inode_unref(fs, inode);
}

static int remove_name(fuse_req_t req, fuse_ino_t parent, const char *name,
		       int flags)
{
	struct fs *fs = fs_of(req);
	struct inode *dir;
	struct path_fd at;
	struct metadata_change touch;
	int err = ops_may_change(fs, parent, name, -EROFS);

	if (err)
		return err;
	dir = inode_of(fs, parent);
	err = inode_path_fd(fs, dir, &at);
	if (err)
		return err;
	metadata_change_begin_at(fs, at.fd, name, true, &touch);
	err = unlink_as_caller(req, fs, at.fd, name, flags);
	metadata_change_end(fs, &touch); /* it may have another name */
	path_fd_close(&at);
	if (!err)
		notify_removed(fs, dir, name);
	return err;
}

void ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	reply_error(req, remove_name(req, parent, name, 0));
}

void ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	reply_error(req, remove_name(req, parent, name, AT_REMOVEDIR));
}

struct renaming {
	struct inode *dir;
	int dir_fd;
	const char *name;
	struct inode *new_dir;
	int new_dir_fd;
	const char *new_name;
	unsigned flags;
};

static int rename_as_caller(fuse_req_t req, struct fs *fs,
			    const struct renaming *r)
{
	struct cred saved;
	int err = cred_assume(fs, req, &saved);

	if (err)
		return err;
	if (renameat2(r->dir_fd, r->name, r->new_dir_fd, r->new_name,
		      r->flags) != 0)
		err = -errno;
	cred_restore(fs, &saved);
	return err;
}

/* st is of what moved, all zero when that is not known.  Other files than
 * regular ones and directories are not told of. */
static void tell_moved(struct fs *fs, const struct renaming *r,
		       const struct stat *st)
{
	struct moved m = {
		.parent = r->dir,
		.name = r->name,
		.new_parent = r->new_dir,
		.new_name = r->new_name,
		.exchange = r->flags & RENAME_EXCHANGE,
	};

	if (!m.exchange && st->st_mode && !S_ISREG(st->st_mode) &&
	    !S_ISDIR(st->st_mode)) {
		notify_removed(fs, r->new_dir, r->new_name);
		return;
	}
	if (!m.exchange && st->st_mode)
		m.child = inode_find(fs, st->st_dev, st->st_ino);
	notify_moved(fs, &m);
	if (m.child)
		inode_unref(fs, m.child);
}

static int rename_between(fuse_req_t req, struct fs *fs,
			  const struct renaming *r)
{
	bool exchange = r->flags & RENAME_EXCHANGE;
	struct metadata_change moved, other;
	struct stat st = { 0 };
	bool begun;
	int err;

	/* Outside of the lock: they may have to find an inode by its name,
	 * for which they take it. */
	metadata_change_begin_at(fs, r->dir_fd, r->name, false, &moved);
	metadata_change_begin_at(fs, r->new_dir_fd, r->new_name, !exchange,
				 &other);
	(void)fstatat(r->dir_fd, r->name, &st, AT_SYMLINK_NOFOLLOW);
	begun = inodes_rename_begin(fs);
	err = rename_as_caller(req, fs, r);
	if (begun && !err)
		inodes_rename_moved(fs, r->new_dir, r->new_dir_fd, r->new_name);
	if (begun && !err && exchange)
		inodes_rename_moved(fs, r->dir, r->dir_fd, r->name);
	inodes_rename_end(fs, begun);
	metadata_change_end(fs, &moved);
	metadata_change_end(fs, &other);
	if (!err)
		tell_moved(fs, r, &st);
	return err;
}

static int rename_name(fuse_req_t req, fuse_ino_t parent, fuse_ino_t new_parent,
		       struct renaming *r)
{
	struct fs *fs = fs_of(req);
	struct path_fd at;
	struct path_fd new_at;
	int err = ops_may_change(fs, parent, r->name, -EROFS);

	if (!err)
		err = ops_may_change(fs, new_parent, r->new_name, -EROFS);
	if (err)
		return err;
	r->dir = inode_of(fs, parent);
	r->new_dir = inode_of(fs, new_parent);
	err = inode_path_fd(fs, r->dir, &at);
	if (err)
		return err;
	err = inode_path_fd(fs, r->new_dir, &new_at);
	if (!err) {
		r->dir_fd = at.fd;
		r->new_dir_fd = new_at.fd;
		err = rename_between(req, fs, r);
		path_fd_close(&new_at);
	}
	path_fd_close(&at);
	return err;
}

void ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		fuse_ino_t new_parent, const char *new_name, unsigned flags)
{
	struct renaming r = {
		.name = name,
		.new_name = new_name,
		.flags = flags,
	};

	reply_error(req, rename_name(req, parent, new_parent, &r));
}
