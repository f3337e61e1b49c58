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
#include "fs/inode/descriptor.h"
#include "fs/ops/notify.h"
#include "fs/ops/reply.h"
#include "fs/similar/similar.h"

static void reply_result(fuse_req_t req, int err,
			 const struct fuse_entry_param *e)
{
	if (err)
		reply_error(req, err);
	else
		lookup_reply_entry(req, fs_of(req), e);
}

void ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct inode *dir = inode_of(fs, parent);
	struct fuse_entry_param e = { 0 };
	int err, at = -ESTALE;

	if (similar_claims(fs, parent, name)) {
		similar_lookup_root(req, fs);
		return;
	}
	if (similar_is_node(parent)) {
		similar_ops.lookup(req, parent, name);
		return;
	}
	/* These two are looked up for NFS export only. */
	if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		at = inode_fd(fs, dir);
	err = at < 0 ? at :
		       lookup_name(fs, dir, at, name,
				   !atomic_load(&dir->new_names), &e);
	inode_fd_close(dir, at);
	if (!err)
		cache_count_lookup(fs, dir);
	else if (err == -ENOENT && fs->options.timeout_s > 0 &&
		 e.entry_timeout > 0)
		err = 0;
	else if (err == -EMFILE || err == -ENFILE)
		/* With any other error the kernel drops the name that it has, and
		 * unmounts what is mounted there. */
		err = -ENOMEM;
	reply_result(req, err, &e);
}

void ops_readlink(fuse_req_t req, fuse_ino_t node)
{
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);
	char target[PATH_MAX + 1];
	ssize_t len = 0;
	int fd, err;

	if (similar_is_node(node)) {
		similar_ops.readlink(req, node);
		return;
	}
	fd = inode_fd(fs, inode);
	if (fd >= 0)
		len = readlinkat(fd, "", target, sizeof(target));
	err = fd < 0 ? fd : len < 0 ? -errno : 0;
	inode_fd_close(inode, fd);
	if (!err && len == sizeof(target))
		err = -ENAMETOOLONG;
	if (err) {
		reply_error(req, err);
	} else {
		target[len] = '\0';
		fuse_reply_readlink(req, target);
	}
}

/* ---- creating ---- */

/* mknod, mkdir or symlink.  mode has S_IFMT; target: of a symlink. */
static void make_file(fuse_req_t req, fuse_ino_t parent, const char *name,
		      mode_t mode, dev_t rdev, const char *target)
{
	struct fs *fs = fs_of(req);
	struct inode *dir = inode_of(fs, parent);
	struct fuse_entry_param e;
	mode_t masked;
	int at, r, err;

	if (similar_refuses_name(req, parent, name, -EEXIST))
		return;
	at = inode_fd(fs, dir);
	if (at < 0) {
		reply_error(req, at);
		return;
	}
	err = cred_assume_create(fs, req, mode, &masked);
	if (!err) {
		if (target)
			r = symlinkat(target, at, name);
		else if (S_ISDIR(mode))
			r = mkdirat(at, name, masked & ~(mode_t)S_IFMT);
		else
			r = mknodat(at, name, masked, rdev);
		err = r == 0 ? 0 : -errno;
		cred_restore(fs, req);
	}
	if (!err) {
		err = lookup_name(fs, dir, at, name, false, &e);
		if (err)
			notify_lost(fs);
		else if (S_ISREG(mode) || S_ISDIR(mode))
			notify_added(fs, dir, name, inode_of(fs, e.ino));
	}
	inode_fd_close(dir, at);
	reply_result(req, err, &e);
}

void ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       dev_t rdev)
{
	make_file(req, parent, name, mode & S_IFMT ? mode : mode | S_IFREG,
		  rdev, NULL);
}

void ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	make_file(req, parent, name, (mode & ~(mode_t)S_IFMT) | S_IFDIR, 0,
		  NULL);
}

void ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		 const char *name)
{
	make_file(req, parent, name, S_IFLNK | 0777, 0, target);
}

/* Makes the link; reads the inode's new attributes. */
static int link_to(fuse_req_t req, struct fs *fs, struct inode *inode,
		   int dir_fd, const char *name, struct stat *st)
{
	struct metadata_change change;
	int fd = inode_fd(fs, inode), err;

	if (fd < 0)
		return fd;
	metadata_change_begin(fs, inode, &change);
	/* AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH. */
	err = CRED_CALL(fs, req,
			linkat(AT_FDCWD, fd_path(fd).text, dir_fd, name,
			       AT_SYMLINK_FOLLOW));
	metadata_change_end(fs, &change);
	if (!err && fstat(fd, st) != 0)
		err = -errno;
	inode_fd_close(inode, fd);
	return err;
}

void ops_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t new_parent,
	      const char *new_name)
{
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);
	struct inode *dir = inode_of(fs, new_parent);
	struct fuse_entry_param e;
	struct stat st;
	int at, err;

	if (similar_refuses_name(req, new_parent, new_name, -EEXIST) ||
	    similar_refuses(req, node, -EROFS))
		return;
	at = inode_fd(fs, dir);
	err = at < 0 ? at : link_to(req, fs, inode, at, new_name, &st);
	inode_fd_close(dir, at);
	if (!err) {
		inode_ref(inode);
		lookup_fill_entry(fs, inode, &st, &e);
		if (S_ISREG(st.st_mode))
			notify_added(fs, dir, new_name, inode);
	}
	reply_result(req, err, &e);
}

/* ---- removing ---- */

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

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name,
			int flags)
{
	struct fs *fs = fs_of(req);
	struct inode *dir = inode_of(fs, parent);
	struct metadata_change change;
	int at, err;

	if (similar_refuses_name(req, parent, name, -EROFS))
		return;
	at = inode_fd(fs, dir);
	if (at < 0) {
		reply_error(req, at);
		return;
	}
	metadata_change_begin_at(fs, at, name, true, &change);
	err = CRED_CALL(fs, req, unlinkat(at, name, flags));
	/* The file may have another name. */
	metadata_change_end(fs, &change);
	inode_fd_close(dir, at);
	if (!err)
		notify_removed(fs, dir, name);
	reply_error(req, err);
}

void ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, 0);
}

void ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, AT_REMOVEDIR);
}

/* ---- renaming ---- */

struct renaming {
	struct moved m;
	int dir_fd, new_dir_fd;
	unsigned flags;
};

static int rename_between(fuse_req_t req, struct fs *fs, struct renaming *r)
{
	struct metadata_change moved, other;
	struct moved *m = &r->m;
	struct stat st = { 0 };
	int err;

	metadata_change_begin_at(fs, r->dir_fd, m->name, false, &moved);
	metadata_change_begin_at(fs, r->new_dir_fd, m->new_name, !m->exchange,
				 &other);
	(void)fstatat(r->dir_fd, m->name, &st, AT_SYMLINK_NOFOLLOW);
	cache_name_moves(fs, m->new_parent, r->new_dir_fd, m->new_name);
	if (m->exchange)
		cache_name_moves(fs, m->parent, r->dir_fd, m->name);
	inodes_rename_begin(fs);
	err = CRED_CALL(fs, req,
			renameat2(r->dir_fd, m->name, r->new_dir_fd,
				  m->new_name, r->flags));
	if (!err)
		inodes_rename_moved(fs, m->new_parent, r->new_dir_fd,
				    m->new_name);
	if (!err && m->exchange)
		inodes_rename_moved(fs, m->parent, r->dir_fd, m->name);
	inodes_rename_end(fs);
	metadata_change_end(fs, &moved);
	metadata_change_end(fs, &other);
	if (err)
		return err;
	/* The engine knows only regular files and directories. */
	if (!m->exchange && st.st_mode && !S_ISREG(st.st_mode) &&
	    !S_ISDIR(st.st_mode)) {
		notify_removed(fs, m->new_parent, m->new_name);
		return 0;
	}
	if (st.st_mode)
		m->child = inode_find(fs, st.st_dev, st.st_ino);
	notify_moved(fs, m);
	if (m->child)
		inode_unref(fs, m->child);
	return 0;
}

void ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		fuse_ino_t new_parent, const char *new_name, unsigned flags)
{
	struct fs *fs = fs_of(req);
	struct renaming r = {
		.m = { .parent = inode_of(fs, parent),
		       .name = name,
		       .new_parent = inode_of(fs, new_parent),
		       .new_name = new_name,
		       .exchange = flags & RENAME_EXCHANGE },
		.flags = flags,
	};
	int err;

	if (similar_refuses_name(req, parent, name, -EROFS) ||
	    similar_refuses_name(req, new_parent, new_name, -EROFS))
		return;
	r.dir_fd = inode_fd(fs, r.m.parent);
	r.new_dir_fd = inode_fd(fs, r.m.new_parent);
	err = r.dir_fd < 0     ? r.dir_fd :
	      r.new_dir_fd < 0 ? r.new_dir_fd :
				 rename_between(req, fs, &r);
	inode_fd_close(r.m.parent, r.dir_fd);
	inode_fd_close(r.m.new_parent, r.new_dir_fd);
	reply_error(req, err);
}
