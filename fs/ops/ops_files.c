/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/inode/backing.h"
#include "fs/inode/cred.h"
#include "fs/ops/notify.h"
#include "fs/inode/cache.h"
#include "fs/inode/watched.h"
#include "fs/inode/descriptor.h"
#include "fs/loop/locks.h"
#include "fs/ops/lookup.h"
#include "fs/inode/reopen.h"
#include "fs/ops/reply.h"

/* ---- handles ---- */

/* The flags for opening below; the special link of a descriptor must be
 * followed, and a signal that the daemon did not ask for must not come. */
static int flags_below(int flags)
{
	return flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL | O_NOCTTY | O_ASYNC);
}

/* Each write says by itself whether it appends: fcntl() can change that, and
 * the pages of a shared map never do.  A file that only grows keeps the
 * flag. */
static void append_by_request(int fd, int flags)
{
	if (flags & O_APPEND)
		(void)fcntl(fd, F_SETFL, flags & ~O_APPEND);
}

static bool flags_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
}

/*
 * Whether the kernel may leave out FLUSH when a descriptor of this handle is
 * closed.  POSIX lets go all locks that the closing process has on the file,
 * whichever descriptor they were set through, so FLUSH is needed once the file
 * has locks or writers.  A handle that is opened before there are any is not
 * flushed; locks set through it go with its last descriptor.
 */
static bool needs_no_flush(struct inode *inode, const struct handle *h)
{
	return !h->writes && !atomic_load(&inode->writers) &&
	       !atomic_load(&inode->owners);
}

/* fd (taken on success) may be -1 when there is an id to pass through. */
static int handle_new(struct fs *fs, struct inode *inode, int fd, int id,
		      struct fuse_file_info *fi)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	if (fd >= 0)
		append_by_request(fd, flags_below(fi->flags));
	h->fd = fd;
	h->flags = fi->flags;
	h->passes = id > 0;
	h->writes = flags_write(fi->flags);
	fi->noflush = needs_no_flush(inode, h);
	atomic_store(&inode->notified_ns, 0);
	handle_attach(fs, inode, h);
	backing_show(fi, id);
	fi->fh = (uint64_t)(uintptr_t)h;
	return 0;
}

static void handle_close(struct fs *fs, struct handle *h)
{
	struct inode *inode = h->inode;
	bool last_writer =
		h->writes && atomic_fetch_sub(&inode->writers, 1) == 1;

	if (last_writer)
		notify_closed(fs, inode, h->fd);
	locks_handle_closed(fs, h);
	backing_end(fs, inode, h->flags, h->passes);
	handle_detach(fs, h);
	if (h->fd >= 0)
		close(h->fd);
	free(h);
}

/* ---- open ---- */

/* The kernel opens a file to execute it; open() drops this flag. */
#define OPEN_TO_EXECUTE 040

/* What may be executed need not be readable: the caller's rights are looked
 * at, and those of the daemon open it. */
static int open_program(fuse_req_t req, struct fs *fs, int path_fd, int flags)
{
	struct fd_path path;
	struct cred saved;
	int err = cred_assume(fs, req, &saved);

	if (err)
		return err;
	fd_path_make(path_fd, &path);
	if (faccessat(AT_FDCWD, path.text, X_OK, AT_EACCESS) != 0)
		err = -errno;
	cred_restore(fs, &saved);
	return err ? err : fd_reopen(path_fd, flags);
}

static int open_file(fuse_req_t req, struct fs *fs, int path_fd, int flags)
{
	struct cred saved;
	int fd = cred_assume(fs, req, &saved);

	if (fd)
		return fd;
	fd = fd_reopen(path_fd, flags);
	cred_restore(fs, &saved);
	return fd;
}

static int open_as_caller(fuse_req_t req, struct fs *fs, struct inode *inode,
			  int flags)
{
	int below = flags_below(flags);
	struct path_fd p;
	int fd = inode_path_fd(fs, inode, &p);

	if (fd)
		return fd;
	fd = open_file(req, fs, p.fd, below);
	if (fd == -EACCES && flags & OPEN_TO_EXECUTE && !flags_write(flags))
		fd = open_program(req, fs, p.fd, below);
	path_fd_close(&p);
	return fd;
}

/* Sees what the kernel may keep of a file that does not pass through. */
static int check_cached_pages(struct fs *fs, struct inode *inode, int fd,
			      int id, struct fuse_file_info *fi)
{
	struct stat st;

	if (id) {
		cache_forget_pages(fs, inode);
		return 0;
	}
	if (fstat(fd, &st) != 0)
		return -errno;
	fi->keep_cache = cache_keeps_pages(fs, inode, &st);
	return 0;
}

/* The kernel has checked root's permission, and opens the file itself. */
static bool needs_no_fd(fuse_req_t req, int id, int flags)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	return id && (flags & (O_ACCMODE | O_TRUNC | O_DIRECT)) == O_RDONLY &&
	       ctx->uid == 0 && ctx->gid == 0;
}

static int open_counted(fuse_req_t req, struct fs *fs, struct inode *inode,
			int id, struct fuse_file_info *fi)
{
	int fd = -1;
	int err;

	if (!needs_no_fd(req, id, fi->flags)) {
		fd = open_as_caller(req, fs, inode, fi->flags);
		if (fd < 0)
			return fd;
	}
	err = check_cached_pages(fs, inode, fd, id, fi);
	if (!err)
		err = handle_new(fs, inode, fd, id, fi);
	if (err && fd >= 0)
		close(fd);
	return err;
}

static int open_handle(fuse_req_t req, struct fs *fs, struct inode *inode,
		       struct fuse_file_info *fi)
{
	int err;
	int id;

	if (!S_ISREG(inode->type))
		return -EOPNOTSUPP; /* the kernel opens special files itself */
	id = backing_begin(req, fs, inode, fi->flags, NULL);
	err = open_counted(req, fs, inode, id, fi);
	if (err)
		backing_end(fs, inode, fi->flags, id > 0);
	return err;
}

/* What the kernel remembers is of no use any more, see cache_attr_timeout();
 * opening may have cleared setuid bits, too. */
static void expect_changes(struct fs *fs, struct handle *h)
{
	struct stat st;

	if (h->flags & O_TRUNC || atomic_load(&h->inode->mappers) ||
	    fstat(h->fd, &st) != 0 || st.st_mode & (S_ISUID | S_ISGID))
		(void)cache_forget_attributes(fs, h->inode);
}

/* Counts the writer first: a file is never modified without being busy. */
static int open_node(fuse_req_t req, struct fs *fs, struct inode *inode,
		     struct fuse_file_info *fi)
{
	bool writes = flags_write(fi->flags);
	int err;

	if (writes) {
		atomic_fetch_add(&inode->writers, 1);
		(void)watched_forget_attributes(fs, inode);
	}
	err = open_handle(req, fs, inode, fi);
	if (err && writes)
		atomic_fetch_sub(&inode->writers, 1);
	if (!err && writes) {
		notify_opened(fs, inode, handle_of(fi)->fd);
		expect_changes(fs, handle_of(fi));
	}
	return err;
}

void ops_open(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	int err = open_node(req, fs, inode_of(fs, node), fi);

	if (err)
		reply_error(req, err);
	else if (fuse_reply_open(req, fi) == -ENOENT)
		handle_close(fs, handle_of(fi)); /* interrupted */
}

/* ---- create ---- */

static int create_as_caller(fuse_req_t req, struct fs *fs, int dir_fd,
			    const char *name, mode_t mode, int flags)
{
	struct cred saved;
	int fd = cred_assume_create(fs, req, mode, &saved, &mode);

	if (fd)
		return fd;
	fd = openat(dir_fd, name,
		    flags_below(flags) | O_CREAT | O_EXCL | O_NOFOLLOW |
			    O_CLOEXEC,
		    mode & 07777);
	if (fd < 0)
		fd = -errno;
	cred_restore(fs, &saved);
	return fd;
}

/* A file that was made just now. */
struct created {
	struct inode *dir;
	int dir_fd;
	const char *name; /* "" when it has none */
	int fd;           /* it is open; taken on success */
	struct stat st;
};

/* An O_PATH descriptor of it: by its name, which is faster, if that is not
 * another's already. */
static int path_of_created(const struct created *c)
{
	struct stat named;
	int path_fd = -1;

	if (*c->name)
		path_fd = openat(c->dir_fd, c->name,
				 O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (path_fd >= 0 && fstat(path_fd, &named) == 0 &&
	    named.st_ino == c->st.st_ino && named.st_dev == c->st.st_dev)
		return path_fd;
	if (path_fd >= 0)
		close(path_fd);
	return fd_reopen(c->fd, O_PATH);
}

static int enter_created(struct fs *fs, const struct created *c,
			 struct inode **inode_out)
{
	struct found found = {
		.fd = path_of_created(c),
		.st = &c->st,
		.parent = c->dir,
		.parent_fd = c->dir_fd,
		.name = c->name,
		.fresh = true,
	};

	return found.fd < 0 ? found.fd : inode_enter(fs, &found, inode_out);
}

static int handle_created(fuse_req_t req, struct fs *fs, struct inode *inode,
			  const struct created *c, struct fuse_file_info *fi)
{
	bool writes = flags_write(fi->flags);
	int id, err;

	if (writes)
		atomic_fetch_add(&inode->writers, 1);
	id = backing_begin(req, fs, inode, fi->flags, &c->st);
	err = handle_new(fs, inode, c->fd, id, fi);
	if (err)
		backing_end(fs, inode, fi->flags, id > 0);
	if (err && writes)
		atomic_fetch_sub(&inode->writers, 1);
	if (!err && writes)
		notify_opened(fs, inode, c->fd);
	return err;
}

static int created(fuse_req_t req, struct fs *fs, struct created *c,
		   struct fuse_file_info *fi, struct fuse_entry_param *e)
{
	struct inode *inode;
	int err;

	if (fstat(c->fd, &c->st) != 0)
		return -errno;
	err = enter_created(fs, c, &inode);
	if (err)
		return err;
	lookup_fill_entry(fs, inode, &c->st, e);
	err = handle_created(req, fs, inode, c, fi);
	e->attr_timeout = cache_attr_timeout(fs, inode, &c->st);
	if (err)
		inode_unref(fs, inode);
	else if (*c->name)
		notify_added(fs, c->dir, c->name, inode);
	return err;
}

/* The name exists after all, made behind the mount's back.  ESTALE makes the
 * kernel look again and do what is right for something else than a file. */
static int open_existing(fuse_req_t req, struct fs *fs, struct inode *dir,
			 int dir_fd, const char *name,
			 struct fuse_file_info *fi, struct fuse_entry_param *e)
{
	struct inode *inode;
	int err = lookup_name(fs, dir, dir_fd, name, false, e);

	if (err)
		return err == -ENOENT ? -ESTALE : err;
	inode = inode_of(fs, e->ino);
	err = S_ISREG(inode->type) ? open_node(req, fs, inode, fi) : -ESTALE;
	e->attr_timeout = cache_attr_timeout(fs, inode, &e->attr);
	if (err)
		inode_unref(fs, inode);
	return err;
}

static int create_in(fuse_req_t req, struct fs *fs, fuse_ino_t parent,
		     const char *name, mode_t mode, struct fuse_file_info *fi,
		     struct fuse_entry_param *e)
{
	struct inode *dir = inode_of(fs, parent);
	struct path_fd at;
	int err = inode_path_fd(fs, dir, &at);
	int fd;

	if (err)
		return err;
	fd = create_as_caller(req, fs, at.fd, name, mode, fi->flags);
	if (fd >= 0) {
		struct created c = {
			.dir = dir, .dir_fd = at.fd, .name = name, .fd = fd
		};

		err = created(req, fs, &c, fi, e);
		if (err) {
			notify_lost(fs);
			close(fd);
		}
	} else if (fd == -EEXIST && !(fi->flags & O_EXCL)) {
		err = open_existing(req, fs, dir, at.fd, name, fi, e);
	} else {
		err = fd;
	}
	path_fd_close(&at);
	return err;
}

static void reply_created(fuse_req_t req, int err,
			  const struct fuse_entry_param *e,
			  struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct inode *inode;

	if (err) {
		reply_error(req, err);
		return;
	}
	inode = inode_of(fs, e->ino);
	if (fuse_reply_create(req, e, fi) == -ENOENT) { /* interrupted */
		handle_close(fs, handle_of(fi));
		inode_unref(fs, inode);
	}
}

void ops_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		mode_t mode, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param e = { .ino = 0 };
	int err = create_in(req, fs, parent, name, mode, fi, &e);

	reply_created(req, err, &e, fi);
}

static int tmpfile_as_caller(fuse_req_t req, struct fs *fs, int dir_fd,
			     mode_t mode, int flags)
{
	/* Of a file without a name, O_EXCL says that it never gets one. */
	int below = flags_below(flags) | (flags & O_EXCL);
	struct cred saved;
	int fd = cred_assume_create(fs, req, mode, &saved, &mode);

	if (fd)
		return fd;
	fd = openat(dir_fd, ".", below | O_TMPFILE | O_CLOEXEC, mode & 07777);
	if (fd < 0)
		fd = -errno;
	cred_restore(fs, &saved);
	return fd;
}

static int tmpfile_in(fuse_req_t req, struct fs *fs, fuse_ino_t parent,
		      mode_t mode, struct fuse_file_info *fi,
		      struct fuse_entry_param *e)
{
	struct created c = { .dir = inode_of(fs, parent), .name = "" };
	struct path_fd at;
	int err = inode_path_fd(fs, c.dir, &at);

	if (err)
		return err;
	c.dir_fd = at.fd;
	c.fd = tmpfile_as_caller(req, fs, at.fd, mode, fi->flags);
	err = c.fd < 0 ? c.fd : created(req, fs, &c, fi, e);
	if (err && c.fd >= 0)
		close(c.fd);
	path_fd_close(&at);
	return err;
}

void ops_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode,
		 struct fuse_file_info *fi)
{
	struct fuse_entry_param e = { .ino = 0 };
	int err = tmpfile_in(req, fs_of(req), parent, mode, fi, &e);

	reply_created(req, err, &e, fi);
}

/* ---- close ---- */

/* What the lower filesystem has to say about earlier writes, it says to a
 * close(); a duplicate can be closed as often as the caller closes his. */
static int flush_handle(const struct handle *h)
{
	int fd;

	if (!h->writes)
		return 0;
	fd = dup(h->fd);
	if (fd < 0)
		return -errno;
	return close(fd) == 0 ? 0 : -errno;
}

void ops_flush(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	int err = flush_handle(handle_of(fi));

	if (handle_of(fi)->writes)
		notify_flushed(fs, inode_of(fs, node), handle_of(fi)->fd);
	locks_owner_closed(fs, inode_of(fs, node), fi->lock_owner);
	reply_error(req, err);
}

void ops_release(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	(void)node;
	handle_close(fs_of(req), handle_of(fi));
	reply_error(req, 0);
}
