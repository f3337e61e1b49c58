/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/cred.h"
#include "fs/notify.h"
#include "fs/similar.h"
#include "fs/metadata_change.h"

/* ---- lookup ---- */

int64_t ops_clock(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

int64_t ops_told_lately(const struct fs *fs)
{
	double half_ns = fs->options.timeout_s * 5e8;
	int64_t now = ops_clock();

	if (half_ns <= 0)
		return INT64_MAX;
	return half_ns < (double)now ? now - (int64_t)half_ns : 1;
}

void ops_entry(struct fs *fs, struct inode *inode, const struct stat *st,
	       struct fuse_entry_param *out)
{
	ops_saw(fs, inode, st);
	memset(out, 0, sizeof(*out));
	out->ino = node_of(fs, inode);
	out->generation = inode->generation;
	out->attr = *st;
	ops_show(fs, &out->attr);
	out->attr_timeout = ops_timeout(fs, inode, st);
	out->entry_timeout = fs->options.timeout_s;
}

/* One system call instead of two and a close for a file that is known: it has
 * a descriptor, so its number is not another file's. */
static struct inode *find_by_stat(struct fs *fs, int parent_fd,
				  const char *name, struct stat *st, int *err)
{
	*err = 0;
	if (fstatat(parent_fd, name, st, AT_SYMLINK_NOFOLLOW) != 0) {
		*err = -errno;
		return NULL;
	}
	return inode_find_held(fs, st->st_dev, st->st_ino);
}

static int find_by_opening(struct fs *fs, struct inode *parent, int parent_fd,
			   const char *name, struct stat *st,
			   struct inode **inode_out)
{
	struct found found = {
		.st = st,
		.parent = parent,
		.parent_fd = parent_fd,
		.name = name,
	};
	int err;

	found.fd = openat(parent_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (found.fd < 0)
		return -errno;
	if (fstat(found.fd, st) != 0) {
		err = -errno;
		close(found.fd);
		return err;
	}
	return inode_enter(fs, &found, inode_out);
}

static void count_lookup(const struct fs *fs, struct inode *dir)
{
	if (atomic_load(&dir->looked_ns) < ops_told_lately(fs)) {
		atomic_store(&dir->looked, 0);
		atomic_store(&dir->looked_ns, ops_clock());
	}
	atomic_fetch_add(&dir->looked, 1);
}

/* Who reads a tree for the first time meets one stranger after the other. */
static void expect_strangers(struct inode *parent, const struct inode *found)
{
	bool is_new = found->fd < 0 || atomic_load(&found->refs) == 1;

	if (atomic_load(&parent->strangers) != is_new)
		atomic_store(&parent->strangers, is_new);
}

int ops_lookup(struct fs *fs, struct inode *parent, int parent_fd,
	       const char *name, bool known, struct fuse_entry_param *out)
{
	struct inode *inode = NULL;
	struct stat st;
	int err = 0;

	if (known)
		inode = find_by_stat(fs, parent_fd, name, &st, &err);
	if (!inode && !err)
		err = find_by_opening(fs, parent, parent_fd, name, &st, &inode);
	if (err)
		return err;
	assert(inode);
	expect_strangers(parent, inode);
	ops_entry(fs, inode, &st, out);
	atomic_store(&inode->notified_ns, ops_clock());
	return 0;
}

void reply_entry(fuse_req_t req, struct fs *fs,
		 const struct fuse_entry_param *e)
{
	struct inode *inode = inode_of(fs, e->ino);

	/* ENOENT: the request was interrupted and the entry is lost. */
	if (fuse_reply_entry(req, e) == -ENOENT && e->ino)
		inode_unref(fs, inode);
}

static int lookup_in(struct fs *fs, fuse_ino_t parent, const char *name,
		     struct fuse_entry_param *out)
{
	struct inode *dir = inode_of(fs, parent);
	struct path_fd at;
	int err;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -ESTALE; /* asked for by exporters only */
	err = inode_path_fd(fs, dir, &at);
	if (err)
		return err;
	err = ops_lookup(fs, dir, at.fd, name, !atomic_load(&dir->strangers),
			 out);
	path_fd_close(&at);
	if (!err)
		count_lookup(fs, dir);
	return err;
}

void ops_entry_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param e;
	int err;

	if (similar_is_node(parent)) {
		similar_lookup(req, parent, name);
		return;
	}
	if (parent == FUSE_ROOT_ID && similar_claims(fs, name)) {
		similar_lookup_root(req, fs);
		return;
	}
	err = lookup_in(fs, parent, name, &e);
	if (err == -ENOENT && fs->options.timeout_s > 0) {
		memset(&e, 0, sizeof(e));
		e.entry_timeout = fs->options.timeout_s;
		err = 0;
	}
	if (err)
		reply_error(req, err);
	else
		reply_entry(req, fs, &e);
}

static void forget_one(struct fs *fs, fuse_ino_t node, uint64_t count)
{
	if (similar_is_node(node))
		similar_forget(fs, node, count);
	else if (node != FUSE_ROOT_ID)
		inode_forget(fs, inode_of(fs, node), count);
}

void ops_forget(fuse_req_t req, fuse_ino_t node, uint64_t count)
{
	forget_one(fs_of(req), node, count);
	fuse_reply_none(req);
}

void ops_forget_multi(fuse_req_t req, size_t count,
		      struct fuse_forget_data *forgets)
{
	struct fs *fs = fs_of(req);

	for (size_t i = 0; i < count; i++)
		forget_one(fs, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
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

	if (similar_is_node(node)) {
		similar_readlink(req, node);
		return;
	}
	err = readlink_of(fs, inode_of(fs, node), target, sizeof(target));
	if (err)
		reply_error(req, err);
	else
		fuse_reply_readlink(req, target);
}

/* ---- making ---- */

/* mknod, mkdir or symlink. */
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

static int make(fuse_req_t req, const struct making *m,
		struct fuse_entry_param *out)
{
	struct fs *fs = fs_of(req);
	struct inode *dir;
	struct path_fd at;
	bool made;
	int err = ops_may_change(fs, m->parent, m->name, -EEXIST);

	if (err)
		return err;
	dir = inode_of(fs, m->parent);
	err = inode_path_fd(fs, dir, &at);
	if (err)
		return err;
	err = make_as_caller(req, fs, at.fd, m);
	made = !err;
	if (made)
		err = ops_lookup(fs, dir, at.fd, m->name, false, out);
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
	int err = make(req, m, &e);

	if (err)
		reply_error(req, err);
	else
		reply_entry(req, fs_of(req), &e);
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

/* The link, and the inode's new stat. */
static int link_to(fuse_req_t req, struct fs *fs, struct inode *inode,
		   int dir_fd, const char *name, struct stat *st)
{
	struct path_fd p;
	struct metadata_change touch;
	int err = inode_path_fd(fs, inode, &p);

	if (err)
		return err;
	metadata_change_begin(fs, inode, &touch);
	err = link_as_caller(req, fs, p.fd, dir_fd, name);
	metadata_change_end(fs, &touch);
	if (!err && fstat(p.fd, st) != 0)
		err = -errno;
	path_fd_close(&p);
	return err;
}

static int make_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t new_parent,
		     const char *new_name, struct fuse_entry_param *out)
{
	struct fs *fs = fs_of(req);
	struct inode *inode;
	struct inode *dir;
	struct path_fd at;
	struct stat st;
	int err = ops_may_change(fs, new_parent, new_name, -EEXIST);

	if (err)
		return err;
	if (similar_is_node(node))
		return -EROFS;
	inode = inode_of(fs, node);
	dir = inode_of(fs, new_parent);
	err = inode_path_fd(fs, dir, &at);
	if (err)
		return err;
	err = link_to(req, fs, inode, at.fd, new_name, &st);
	path_fd_close(&at);
	if (err)
		return err;
	inode_ref(inode);
	ops_entry(fs, inode, &st, out);
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
		reply_entry(req, fs_of(req), &e);
}
