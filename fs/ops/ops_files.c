/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "fs/inode/backing.h"
#include "fs/inode/cred.h"
#include "fs/ops/notify.h"
#include "fs/inode/cache.h"
#include "fs/inode/descriptor.h"
#include "fs/loop/loop.h"
#include "fs/ops/reply.h"
#include "fs/similar/similar.h"

/* ---- handles ---- */

/* The flags for the open below.  Without O_NOFOLLOW, because the link in
 * /proc/self/fd must be followed; without O_ASYNC, because the daemon wants no
 * signals. */
static int flags_below(int flags)
{
	return flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL | O_NOCTTY | O_ASYNC);
}

static bool flags_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
}

/*
 * Takes fd on success.  fd may be -1 if id is one for passthrough.
 *
 * O_APPEND is cleared below, because each write request has its own flag:
 * fcntl() may change it, and writes of mapped pages never append.  On an
 * append-only file the flag cannot be cleared, and stays.
 *
 * The kernel may omit FLUSH when a descriptor of this handle is closed, unless
 * the file has locks or writers: by POSIX a close drops all locks of the
 * process on the file.  Locks set later through a handle without FLUSH are
 * dropped with its last descriptor.
 */
static int handle_new(fuse_req_t req, struct inode *inode, int fd, int id,
		      struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *h = calloc(1, sizeof(*h));
	int flags = flags_below(fi->flags);

	if (!h)
		return -ENOMEM;
	if (fd >= 0 && flags & O_APPEND)
		(void)fcntl(fd, F_SETFL, flags & ~O_APPEND);
	h->fd = fd;
	h->flags = fi->flags;
	h->uid = fuse_req_ctx(req)->uid;
	h->passes = id > 0;
	h->writes = flags_write(fi->flags);
	fi->noflush = !h->writes && !atomic_load(&inode->writers) &&
		      !atomic_load(&inode->owners);
	atomic_store(&inode->notified_ns, 0);
	handle_attach(fs, inode, h);
	backing_show(fi, id);
	fi->fh = (uint64_t)(uintptr_t)h;
	return 0;
}

static void handle_close(struct fs *fs, struct handle *h)
{
	struct inode *inode = h->inode;

	if (h->writes && atomic_fetch_sub(&inode->writers, 1) == 1)
		notify_closed(fs, inode, h->fd);
	if (atomic_load(&h->flushed))
		atomic_fetch_sub(&fs->flushed, 1);
	loop_release_counted();
	locks_handle_closed(fs, h);
	backing_end(fs, inode, h->flags, h->passes);
	handle_detach(fs, h);
	if (h->fd >= 0)
		close(h->fd);
	free(h);
}

/* ---- open ---- */

/* A file that is created and opened. */
struct creation {
	struct inode *dir;
	int dir_fd;
	const char *name; /* "": it gets none (O_TMPFILE) */
	mode_t mode;
	struct fuse_file_info *fi; /* of the request, and the handle */
	struct fuse_entry_param e; /* the reply */
	int fd;                    /* of the new file; the handle takes it */
	struct stat st;            /* its attributes */
};

/* FMODE_EXEC, which the kernel sets when it opens a file to execute it. */
#define OPEN_TO_EXECUTE 040

static int open_as_caller(fuse_req_t req, struct fs *fs, struct inode *inode,
			  int flags)
{
	int below = flags_below(flags), at = inode_fd(fs, inode), fd;
	bool may_run = false;

	if (at < 0)
		return at;
	fd = cred_assume(fs, req);
	if (!fd) {
		fd = fd_reopen(at, below);
		if (fd < 0 && cred_raise(fs, req, fd, at))
			fd = fd_reopen(at, below);
		/* A program may be executed by a caller who cannot read it: the
		 * daemon opens it then. */
		if (fd == -EACCES && flags & OPEN_TO_EXECUTE &&
		    !flags_write(flags)) {
			may_run = faccessat(AT_FDCWD, fd_path(at).text, X_OK,
					    AT_EACCESS) == 0;
		}
		cred_restore(fs, req);
	}
	if (may_run)
		fd = fd_reopen(at, below);
	inode_fd_close(inode, at);
	return fd;
}

/*
 * Whether the file has lost its last name behind the mount, and the kernel
 * found it by one that it had cached: what is written to it would be lost.  (A
 * file that is open in the mount can be opened again without a name.)  After
 * ESTALE the kernel looks the name up again.
 */
static bool is_removed(struct fs *fs, struct inode *inode,
		       const struct stat *st)
{
	return !st->st_nlink && !inode_is_open(fs, inode);
}

/* Opens the file and makes the handle.  The daemon need not open a file that
 * passes through for root, whose permission the kernel has checked. */
static int open_counted(fuse_req_t req, struct fs *fs, struct inode *inode,
			int id, struct fuse_file_info *fi)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	const int opens = O_ACCMODE | O_TRUNC | O_DIRECT | O_NONBLOCK;
	const bool writes = flags_write(fi->flags);
	struct stat st;
	int fd = -1, err = 0;

	if (!id || (fi->flags & opens) != O_RDONLY || ctx->uid != 0 ||
	    ctx->gid != 0) {
		fd = open_as_caller(req, fs, inode, fi->flags);
		if (fd < 0)
			return fd;
	}
	if ((writes || !id) && fstat(fd, &st) != 0) {
		err = -errno;
	} else if (writes && is_removed(fs, inode, &st)) {
		err = -ESTALE;
	} else if (id) {
		cache_forget_pages(fs, inode);
	} else {
		fi->keep_cache = cache_keeps_pages(fs, inode, &st);
		/* The kernel reads from its cache up to the size. */
		if (!writes && told_size_may_be_wrong(fd, (uint64_t)st.st_size))
			fi->direct_io = 1;
	}
	if (!err)
		err = handle_new(req, inode, fd, id, fi);
	if (err && fd >= 0)
		close(fd);
	return err;
}

/* Counts the writer before the open, so that a file that is being changed is
 * always busy.  c: it was created; else NULL. */
static int open_node(fuse_req_t req, struct fs *fs, struct inode *inode,
		     const struct creation *c, struct fuse_file_info *fi)
{
	bool writes = flags_write(fi->flags);
	struct stat st;
	int id, fd, err = -EOPNOTSUPP;

	if (writes) {
		atomic_fetch_add(&inode->writers, 1);
		(void)cache_forget_kept(fs, inode);
	}
	if (S_ISREG(inode->type)) { /* the kernel opens others itself */
		id = backing_begin(req, fs, inode, fi->flags,
				   c ? &c->st : NULL);
		err = c ? handle_new(req, inode, c->fd, id, fi) :
			  open_counted(req, fs, inode, id, fi);
		if (err)
			backing_end(fs, inode, fi->flags, id > 0);
	}
	if (err && writes)
		atomic_fetch_sub(&inode->writers, 1);
	if (err || !writes)
		return err;
	fd = handle_of(fi)->fd;
	notify_opened(fs, inode, fd);
	/* Attributes that may change without the kernel's knowledge, see
	 * cache_short_timeout(), or that the open has changed. */
	if (!c && (fi->flags & O_TRUNC || atomic_load(&inode->mappers) ||
		   fstat(fd, &st) != 0 || st.st_mode & (S_ISUID | S_ISGID)))
		(void)cache_forget_attributes(fs, inode);
	return 0;
}

void ops_open(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	int err;

	if (similar_is_node(node)) {
		similar_ops.open(req, node, fi);
		return;
	}
	err = share_take(fuse_req_ctx(req)->uid);
	if (!err) {
		err = open_node(req, fs, inode_of(fs, node), NULL, fi);
		if (err)
			share_give(fuse_req_ctx(req)->uid);
	}
	if (err)
		reply_error(req, err);
	else if (fuse_reply_open(req, fi) == -ENOENT)
		handle_close(fs, handle_of(fi)); /* interrupted */
}

/* ---- create ---- */

/* An open descriptor, or a negative errno.  With O_TMPFILE, O_EXCL means that
 * the file never gets a name. */
static int create_as_caller(fuse_req_t req, const struct creation *c)
{
	const int how = *c->name ? O_CREAT | O_EXCL | O_NOFOLLOW :
				   O_TMPFILE | (c->fi->flags & O_EXCL);
	struct fs *fs = fs_of(req);
	mode_t mode = c->mode;
	int fd = cred_assume_create(fs, req, mode, &mode);

	if (fd)
		return fd;
	fd = openat(c->dir_fd, *c->name ? c->name : ".",
		    flags_below(c->fi->flags) | how | O_CLOEXEC, mode & 07777);
	if (fd < 0)
		fd = -errno;
	cred_restore(fs, req);
	return fd;
}

static int add_created(fuse_req_t req, struct creation *c)
{
	struct found found = {
		.fd = -1,
		.st = &c->st,
		.parent = c->dir,
		.parent_fd = c->dir_fd,
		.name = c->name,
		.fresh = true,
	};
	struct fs *fs = fs_of(req);
	struct inode *inode;
	struct stat named;
	int err;

	if (fstat(c->fd, &c->st) != 0)
		return -errno;
	/* By name is faster, unless the name is one of another file by now. */
	if (*c->name)
		found.fd = openat(c->dir_fd, c->name,
				  O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (found.fd >= 0 &&
	    (fstat(found.fd, &named) != 0 || named.st_ino != c->st.st_ino ||
	     named.st_dev != c->st.st_dev)) {
		close(found.fd);
		found.fd = -1;
	}
	if (found.fd < 0)
		found.fd = fd_reopen(c->fd, O_PATH);
	err = found.fd < 0 ? found.fd : inode_enter(fs, &found, &inode);
	if (err)
		return err;
	lookup_fill_entry(fs, inode, &c->st, &c->e);
	err = open_node(req, fs, inode, c, c->fi);
	c->e.attr_timeout = cache_short_timeout(fs, inode, &c->st);
	if (err)
		inode_unref(fs, inode);
	else if (*c->name)
		notify_added(fs, c->dir, c->name, inode);
	return err;
}

/*
 * Another process has created the name meanwhile.  The kernel has its lock of the
 * directory, so the open must not wait for a lease.  -ESTALE makes the kernel
 * look the name up again, and open it without the lock; which is also right if it
 * is no regular file.
 */
static int open_existing(fuse_req_t req, struct creation *c)
{
	struct fs *fs = fs_of(req);
	const int flags = c->fi->flags;
	struct inode *inode;
	int fd, err = lookup_name(fs, c->dir, c->dir_fd, c->name, false, &c->e);

	if (err)
		return err == -ENOENT ? -ESTALE : err;
	inode = inode_of(fs, c->e.ino);
	c->fi->flags |= O_NONBLOCK;
	err = S_ISREG(inode->type) ? open_node(req, fs, inode, NULL, c->fi) :
				     -ESTALE;
	c->fi->flags = flags;
	c->e.attr_timeout = cache_short_timeout(fs, inode, &c->e.attr);
	if (err) {
		inode_unref(fs, inode);
		return err == -EWOULDBLOCK ? -ESTALE : err;
	}
	fd = handle_of(c->fi)->fd;
	if (fd >= 0 && !(flags & O_NONBLOCK))
		(void)fcntl(fd, F_SETFL, flags_below(flags) & ~O_APPEND);
	return 0;
}

static int create_in(fuse_req_t req, struct creation *c)
{
	int err;

	c->fd = create_as_caller(req, c);
	if (c->fd == -EEXIST && *c->name && !(c->fi->flags & O_EXCL))
		return open_existing(req, c);
	if (c->fd < 0)
		return c->fd;
	err = add_created(req, c);
	if (err)
		close(c->fd);
	if (err && *c->name)
		notify_lost(fs_of(req));
	return err;
}

static void create_and_reply(fuse_req_t req, fuse_ino_t parent,
			     struct creation *c)
{
	uid_t uid = fuse_req_ctx(req)->uid;
	struct fs *fs = fs_of(req);
	struct inode *inode;
	int err = share_take(uid);

	if (!err) {
		c->dir = inode_of(fs, parent);
		c->dir_fd = inode_fd(fs, c->dir);
		err = c->dir_fd < 0 ? c->dir_fd : create_in(req, c);
		inode_fd_close(c->dir, c->dir_fd);
		if (err)
			share_give(uid);
	}
	if (err) {
		reply_error(req, err);
		return;
	}
	inode = inode_of(fs, c->e.ino);
	if (fuse_reply_create(req, &c->e, c->fi) == -ENOENT) { /* interrupted */
		handle_close(fs, handle_of(c->fi));
		inode_unref(fs, inode);
	}
}

void ops_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		mode_t mode, struct fuse_file_info *fi)
{
	struct creation c = { .name = name, .mode = mode, .fi = fi };

	if (!similar_refuses_name(req, parent, name, -EEXIST))
		create_and_reply(req, parent, &c);
}

void ops_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode,
		 struct fuse_file_info *fi)
{
	struct creation c = { .name = "", .mode = mode, .fi = fi };

	if (!similar_refuses(req, parent, -EROFS))
		create_and_reply(req, parent, &c);
}

/* ---- close ---- */

void ops_flush(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *h = handle_of(fi);
	int fd, err = 0;

	if (similar_is_node(node)) {
		reply_error(req, 0);
		return;
	}
	if (h->writes) {
		/* Closing a duplicate gets the errors of earlier writes that
		 * the filesystem below reports to close(). */
		fd = dup(h->fd);
		err = fd >= 0 && close(fd) == 0 ? 0 : -errno;
		if (!atomic_exchange(&h->flushed, true))
			atomic_fetch_add(&fs->flushed, 1);
		notify_flushed(fs, h->inode, h->fd);
	}
	locks_owner_closed(fs, h->inode, fi->lock_owner);
	reply_error(req, err);
}

void ops_release(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	if (similar_is_node(node)) {
		similar_ops.release(req, node, fi);
		return;
	}
	handle_close(fs_of(req), handle_of(fi));
	reply_error(req, 0);
}
