/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fs.h"
#include "fs/inode/inode.h"
#include "fs/inode/reopen.h"

/* ---- inodes without a descriptor ---- */

static int open_by_name(struct fs *fs, struct reopener *r, struct inode *inode)
{
	struct inode *base;
	struct path_fd at;
	char *names;
	size_t len;
	int fd;

	fd = reopen_copy_chain(r, inode, &names, &len, &base);
	if (fd < 0)
		return fd;
	fd = inode_path_fd(fs, base, &at);
	if (fd == 0) {
		fd = reopen_walk_chain(at.fd, names, len);
		path_fd_close(&at);
	}
	free(names);
	inode_unref(fs, base);
	return fd;
}

static bool is_same_file(const struct inode *inode, int fd)
{
	struct file_handle_copy handle;
	struct stat st;

	if (fstat(fd, &st) != 0 || st.st_dev != inode->dev ||
	    st.st_ino != inode->ino || (st.st_mode & S_IFMT) != inode->type)
		return false;
	if (!inode->reopen->handle_bytes)
		return true;
	file_handle_read(fd, &handle);
	return reopen_same_handle(inode->reopen, &handle);
}

static int reopen_once(struct fs *fs, struct reopener *r, struct inode *inode)
{
	const struct reopen *reopen = inode->reopen;
	int fd;

	if (reopen->mount)
		return reopen_by_handle(reopen);
	fd = open_by_name(fs, r, inode);
	if (fd >= 0 && !is_same_file(inode, fd)) {
		close(fd);
		fd = -ESTALE;
	}
	return fd;
}

static int reopen_inode(struct fs *fs, struct inode *inode)
{
	struct reopener *r = inodes_reopener(fs);
	unsigned epoch;
	int fd;

	do {
		epoch = reopen_epoch(r);
		fd = reopen_once(fs, r, inode);
	} while (fd == -ESTALE && epoch != reopen_epoch(r));
	return fd;
}

/* ---- renaming ---- */

bool inodes_rename_begin(struct fs *fs)
{
	return reopen_rename_begin(inodes_reopener(fs));
}

void inodes_rename_moved(struct fs *fs, struct inode *parent, int parent_fd,
			 const char *name)
{
	struct inode *inode, *former;
	struct stat st;

	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	inode = inode_find(fs, st.st_dev, st.st_ino);
	if (!inode)
		return;
	former = reopen_rename_moved(inode, parent, name);
	if (former)
		inode_unref(fs, former);
	inode_unref(fs, inode);
}

void inodes_rename_end(struct fs *fs, bool begun)
{
	reopen_rename_end(inodes_reopener(fs), begun);
}

/* ---- all inodes ---- */

/* Duplicates a handle's descriptor, which works without a name.  -ENOENT: the
 * inode has no open handle. */
static int handle_dup(struct fs *fs, struct inode *inode)
{
	int fd = -ENOENT;

	inode_lock(fs, inode);
	if (inode->handles && inode->handles->fd >= 0) {
		fd = fcntl(inode->handles->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			fd = -errno;
	}
	inode_unlock(fs, inode);
	return fd;
}

int inode_path_fd(struct fs *fs, struct inode *inode, struct path_fd *out)
{
	int fd;

	if (inode->fd >= 0) {
		out->fd = inode->fd;
		out->owned = false;
		return 0;
	}
	fd = handle_dup(fs, inode);
	if (fd == -ENOENT)
		fd = reopen_inode(fs, inode);
	if (fd < 0)
		return fd;
	out->fd = fd;
	out->owned = true;
	return 0;
}

void path_fd_close(struct path_fd *p)
{
	if (p->owned)
		close(p->fd);
	p->fd = -1;
	p->owned = false;
}

int inode_stat(struct fs *fs, struct inode *inode, struct stat *out)
{
	struct path_fd path;
	int err = inode_path_fd(fs, inode, &path);

	if (err)
		return err;
	err = fstat(path.fd, out) == 0 ? 0 : -errno;
	path_fd_close(&path);
	return err;
}

/* ---- handles ---- */

void handle_attach(struct fs *fs, struct inode *inode, struct handle *h)
{
	inode_ref(inode);
	h->inode = inode;
	inode_lock(fs, inode);
	h->next = inode->handles;
	h->link = &inode->handles;
	if (h->next)
		h->next->link = &h->next;
	inode->handles = h;
	inode_unlock(fs, inode);
}

void handle_detach(struct fs *fs, struct handle *h)
{
	struct inode *inode = h->inode;

	inode_lock(fs, inode);
	*h->link = h->next;
	if (h->next)
		h->next->link = h->link;
	inode_unlock(fs, inode);
	inode_unref(fs, inode);
}

bool inode_is_open(struct fs *fs, struct inode *inode)
{
	bool is_open;

	inode_lock(fs, inode);
	is_open = inode->handles != NULL;
	inode_unlock(fs, inode);
	return is_open;
}

int handle_fd(struct fs *fs, struct handle *h)
{
	int fd = atomic_load(&h->fd);

	if (fd >= 0)
		return fd;
	inode_lock(fs, h->inode);
	fd = atomic_load(&h->fd);
	if (fd < 0) {
		fd = h->stream ? directory_reopen(h->inode->fd) :
				 fd_reopen(h->inode->fd, O_RDONLY);
		if (fd >= 0)
			atomic_store(&h->fd, fd);
	}
	inode_unlock(fs, h->inode);
	return fd;
}
