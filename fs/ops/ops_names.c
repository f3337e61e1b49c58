/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/inode/cache.h"
#include "fs/inode/cred.h"
#include "fs/ops/lookup.h"
#include "fs/ops/metadata_change.h"
#include "fs/ops/notify.h"
#include "fs/ops/reply.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/reopen.h"

/* ---- lookup ---- */

static int lookup_in(struct fs *fs, fuse_ino_t parent, const char *name,
		     struct fuse_entry_param *out)
{
	struct inode *dir = inode_of(fs, parent);
	struct path_fd at;
	int err;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -ESTALE; /* used for NFS export only */
	err = inode_path_fd(fs, dir, &at);
	if (err)
		return err;
	err = lookup_name(fs, dir, at.fd, name, !atomic_load(&dir->new_names),
			  out);
	path_fd_close(&at);
	if (!err)
		cache_count_lookup(fs, dir);
	return err;
}

void ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param e = { 0 };
	int err;

	err = lookup_in(fs, parent, name, &e);
	if (err == -ENOENT && fs->options.timeout_s > 0 && e.entry_timeout > 0)
		err = 0;
	if (err)
		reply_error(req, err);
	else
		lookup_reply_entry(req, fs, &e);
}

static int readlink_of(struct fs *fs, struct inode *inode, char *target,
		       size_t size)
{
	struct path_fd p;
	ssize_t len;
	int err = inode_path_fd(fs, inode, &p);

	if (err)
		return err;
	len = readlinkat(p.fd, "", target, size);
	err = len < 0 ? -errno : 0;
	path_fd_close(&p);
	if (err)
		return err;
	if ((size_t)len == size)
		return -ENAMETOOLONG;
	target[len] = '\0';
	return 0;
}

void ops_readlink(fuse_req_t req, fuse_ino_t node)
{
	struct fs *fs = fs_of(req);
	char target[PATH_MAX + 1];
	int err;

	err = readlink_of(fs, inode_of(fs, node), target, sizeof(target));
	if (err)
		reply_error(req, err);
	else
		fuse_reply_readlink(req, target);
}

/* ---- creating ---- */

/* The arguments of mknod, mkdir or symlink. */
struct making {
	fuse_ino_t parent;
	const char *name;
	mode_t mode; /* with S_IFMT */
	dev_t rdev;
	const char *target; /* symlink only */
};

static int make_at(int dir_fd, const struct making *m, mode_t mode)
{
	int r;

	if (m->target)
		r = symlinkat(m->target, dir_fd, m->name);
	else if (S_ISDIR(m->mode))
		r = mkdirat(dir_fd, m->name, mode & ~(mode_t)S_IFMT);
	else
		r = mknodat(dir_fd, m->name, mode, m->rdev);
	return r == 0 ? 0 : -errno;
}

static int make_as_caller(fuse_req_t req, struct fs *fs, int dir_fd,
			  const struct making *m)
{
	struct cred saved;
	mode_t mode;
	int err = cred_assume_create(fs, req, m->mode, &saved, &mode);

	if (err)
		return err;
	err = make_at(dir_fd, m, mode);
	cred_restore(fs, &saved);
	return err;
}

static int make_file(fuse_req_t req, const struct making *m,
		     struct fuse_entry_param *out)
{
	struct fs *fs = fs_of(req);
	struct inode *dir = inode_of(fs, m->parent);
	struct path_fd at;
	bool made;
	int err = inode_path_fd(fs, dir, &at);

	if (err)
		return err;
	err = make_as_caller(req, fs, at.fd, m);
	made = !err;
	if (made)
		err = lookup_name(fs, dir, at.fd, m->name, false, out);
	path_fd_close(&at);
	if (made && err)
		notify_lost(fs);
	if (!err && (S_ISREG(m->mode) || S_ISDIR(m->mode)))
		notify_added(fs, dir, m->name, inode_of(fs, out->ino));
	return err;
}

static void reply_making(fuse_req_t req, const struct making *m)
{
	struct fuse_entry_param e;
	int err = make_file(req, m, &e);

	if (err)
		reply_error(req, err);
	else
		lookup_reply_entry(req, fs_of(req), &e);
}

void ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       dev_t rdev)
{
	struct making m = {
		.parent = parent,
		.name = name,
		.mode = mode & S_IFMT ? mode : mode | S_IFREG,
		.rdev = rdev,
	};

	reply_making(req, &m);
}

void ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct making m = {
		.parent = parent,
		.name = name,
		.mode = (mode & ~(mode_t)S_IFMT) | S_IFDIR,
	};

	reply_making(req, &m);
}

void ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		 const char *name)
{
	struct making m = {
		.parent = parent,
		.name = name,
		.mode = S_IFLNK | 0777,
		.target = target,
	};

	reply_making(req, &m);
}

static int link_as_caller(fuse_req_t req, struct fs *fs, int fd, int dir_fd,
			  const char *name)
{
	struct fd_path path;
	struct cred saved;
	int err = cred_assume(fs, req, &saved);

	if (err)
		return err;
	/* AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH. */
	fd_path_make(fd, &path);
	if (linkat(AT_FDCWD, path.text, dir_fd, name, AT_SYMLINK_FOLLOW) != 0)
		err = -errno;
	cred_restore(fs, &saved);
	return err;
}

/* Makes the link; reads the inode's new attributes. */
static int link_to(fuse_req_t req, struct fs *fs, struct inode *inode,
		   int dir_fd, const char *name, struct stat *st)
{
	struct path_fd p;
	struct metadata_change change;
	int err = inode_path_fd(fs, inode, &p);

	if (err)
		return err;
	metadata_change_begin(fs, inode, &change);
	err = link_as_caller(req, fs, p.fd, dir_fd, name);
	metadata_change_end(fs, &change);
	if (!err && fstat(p.fd, st) != 0)
		err = -errno;
	path_fd_close(&p);
	return err;
}

static int make_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t new_parent,
		     const char *new_name, struct fuse_entry_param *out)
{
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);
	struct inode *dir = inode_of(fs, new_parent);
	struct path_fd at;
	struct stat st;
	int err = inode_path_fd(fs, dir, &at);

	if (err)
		return err;
	err = link_to(req, fs, inode, at.fd, new_name, &st);
	path_fd_close(&at);
	if (err)
		return err;
	inode_ref(inode);
	lookup_fill_entry(fs, inode, &st, out);
	if (S_ISREG(st.st_mode))
		notify_added(fs, dir, new_name, inode);
	return 0;
}

void ops_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t new_parent,
	      const char *new_name)
{
	struct fuse_entry_param e;
	int err = make_link(req, node, new_parent, new_name, &e);

	if (err)
		reply_error(req, err);
	else
		lookup_reply_entry(req, fs_of(req), &e);
}

/* ---- removing ---- */

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

/* As metadata_change_begin(), for the file of that name, if it has an inode.
 * goes: the name is removed.  Does nothing if it is the only name of a file
 * that is not open, as no request can reach the file then. */
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
	struct inode *dir = inode_of(fs, parent);
	struct path_fd at;
	struct metadata_change change;
	int err = inode_path_fd(fs, dir, &at);

	if (err)
		return err;
	metadata_change_begin_at(fs, at.fd, name, true, &change);
	err = unlink_as_caller(req, fs, at.fd, name, flags);
	metadata_change_end(fs, &change); /* the file may have another name */
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

/* st is that of the file that moved, all zero if it is not known.  The engine
 * knows only regular files and directories. */
static void report_moved(struct fs *fs, const struct renaming *r,
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
	if (st->st_mode)
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

	/* Before the names lock is taken, as these may open an inode by name,
	 * which takes that lock. */
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
		report_moved(fs, r, &st);
	return err;
}

static int rename_name(fuse_req_t req, fuse_ino_t parent, fuse_ino_t new_parent,
		       struct renaming *r)
{
	struct fs *fs = fs_of(req);
	struct path_fd at;
	struct path_fd new_at;
	int err;

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
