/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/queue/quota.h"
#include "fs/fs.h"
#include "fs/inode/inode.h"

enum {
	/* Milliseconds; the kernel looks a name up again after ESTALE. */
	RENAME_MOMENTS = 20,
	/* Bytes of a path.  Names that are stored in another order than that of
	 * the renames may make a circle. */
	NAMES_MOST = 1 << 20,
};

/* ---- inodes without a descriptor ---- */

/* Walks the names, each with its NUL, from fd and returns a new descriptor.
 * Follows no symbolic link. */
static int walk_names(int fd, const char *names, size_t len)
{
	const char *end = names + len;
	bool owned = false;

	for (const char *name = names; name < end; name += strlen(name) + 1) {
		int next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		int err = next < 0 ? -errno : 0;

		if (owned)
			close(fd);
		if (err)
			return err == -ENOTDIR || err == -ENOENT ? -ESTALE :
								   err;
		fd = next;
		owned = true;
	}
	return fd;
}

static int open_by_name(struct fs *fs, struct inode *inode)
{
	struct reopener *r = fs->reopener;
	struct inode *base, *at;
	size_t len = 0, end;
	char *names;
	int from, fd;

	pthread_rwlock_rdlock(&r->names);
	for (base = inode; base->fd < 0 && !base->reopen->mount;
	     base = base->reopen->parent) {
		len += strlen(base->reopen->name) + 1;
		if (len > NAMES_MOST) {
			pthread_rwlock_unlock(&r->names);
			return -ESTALE;
		}
	}
	names = malloc(len);
	end = len;
	for (at = inode; names && at != base; at = at->reopen->parent) {
		size_t size = strlen(at->reopen->name) + 1;

		end -= size;
		memcpy(names + end, at->reopen->name, size);
	}
	if (names)
		inode_ref(base);
	pthread_rwlock_unlock(&r->names);
	if (!names)
		return -ENOMEM;
	from = inode_fd(fs, base);
	fd = from < 0 ? from : walk_names(from, names, len);
	inode_fd_close(base, from);
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

/* Whether a name may have changed since epoch: one was stored, or a rename runs,
 * for which this waits a moment, left times. */
static bool name_may_differ(struct reopener *r, unsigned epoch, unsigned *left)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	if (epoch != atomic_load(&r->epoch))
		return true;
	if (!atomic_load(&r->renaming) || !*left)
		return false;
	--*left;
	nanosleep(&moment, NULL);
	return true;
}

static int reopen_inode(struct fs *fs, struct inode *inode)
{
	unsigned epoch, left = RENAME_MOMENTS;
	int fd;

	if (inode->reopen->mount)
		return reopen_by_handle(inode->reopen);
	do {
		epoch = atomic_load(&fs->reopener->epoch);
		fd = open_by_name(fs, inode);
		if (fd >= 0 && !is_same_file(inode, fd)) {
			close(fd);
			fd = -ESTALE;
		}
	} while (fd == -ESTALE && name_may_differ(fs->reopener, epoch, &left));
	return fd;
}

/* ---- renaming ---- */

void inodes_rename_begin(struct fs *fs)
{
	atomic_fetch_add(&fs->reopener->renaming, 1);
}

void inodes_rename_moved(struct fs *fs, struct inode *parent, int parent_fd,
			 const char *name)
{
	struct reopener *r = fs->reopener;
	struct inode *inode, *former;
	struct stat st;

	if (!atomic_load(&r->named) ||
	    fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	inode = inode_find(fs, st.st_dev, st.st_ino);
	if (!inode)
		return;
	former = reopen_named(r, inode, parent, name);
	atomic_fetch_add(&r->epoch, 1);
	if (former)
		inode_unref(fs, former);
	inode_unref(fs, inode);
}

void inodes_rename_end(struct fs *fs)
{
	atomic_fetch_sub(&fs->reopener->renaming, 1);
}

/* ---- all inodes ---- */

int inode_fd(struct fs *fs, struct inode *inode)
{
	const struct handle *h;
	int fd = -ENOENT;

	if (inode->fd >= 0)
		return inode->fd;
	/* To duplicate the descriptor of an open handle needs no name. */
	inode_lock(fs, inode);
	h = LIST_FIRST(&inode->handles);
	if (h && h->fd >= 0) {
		fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			fd = -errno;
	}
	inode_unlock(fs, inode);
	return fd == -ENOENT ? reopen_inode(fs, inode) : fd;
}

void inode_fd_close(const struct inode *inode, int fd)
{
	if (fd >= 0 && inode->fd < 0)
		close(fd);
}

int inode_stat(struct fs *fs, struct inode *inode, struct stat *out)
{
	int fd = inode_fd(fs, inode);
	int err = fd < 0 ? fd : fstat(fd, out) == 0 ? 0 : -errno;

	inode_fd_close(inode, fd);
	return err;
}

/* ---- shares ---- */

static struct {
	pthread_mutex_t lock;
	struct quota quota; /* with the lock */
	uid_t own;
} shares = { .lock = PTHREAD_MUTEX_INITIALIZER };

void shares_open(unsigned descriptors, uid_t own)
{
	shares.quota.most = descriptors - descriptors / 8 * 5;
	shares.own = own;
}

int share_take(uid_t uid)
{
	int err;

	if (uid == 0 || uid == shares.own)
		return 0;
	pthread_mutex_lock(&shares.lock);
	err = quota_take_many(&shares.quota, uid, 1);
	pthread_mutex_unlock(&shares.lock);
	return err == -EAGAIN ? -EMFILE : err;
}

void share_give(uid_t uid)
{
	if (uid == 0 || uid == shares.own)
		return;
	pthread_mutex_lock(&shares.lock);
	quota_give(&shares.quota, uid);
	pthread_mutex_unlock(&shares.lock);
}

/* ---- handles ---- */

void handle_attach(struct fs *fs, struct inode *inode, struct handle *h)
{
	inode_ref(inode);
	h->inode = inode;
	inode_lock(fs, inode);
	LIST_INSERT_HEAD(&inode->handles, h, entry);
	inode_unlock(fs, inode);
}

void handle_detach(struct fs *fs, struct handle *h)
{
	struct inode *inode = h->inode;

	inode_lock(fs, inode);
	LIST_REMOVE(h, entry);
	inode_unlock(fs, inode);
	share_give(h->uid);
	inode_unref(fs, inode);
}

bool inode_is_open(struct fs *fs, struct inode *inode)
{
	bool is_open;

	inode_lock(fs, inode);
	is_open = !LIST_EMPTY(&inode->handles);
	inode_unlock(fs, inode);
	return is_open;
}

int handle_fd(struct handle *h)
{
	int fd = atomic_load(&h->fd), none = -1;

	if (fd >= 0)
		return fd;
	/* Without a lock, as the open may wait. */
	fd = h->stream ? directory_reopen(h->inode->fd) :
			 fd_reopen(h->inode->fd, O_RDONLY);
	if (fd >= 0 && !atomic_compare_exchange_strong(&h->fd, &none, fd)) {
		close(fd);
		fd = none;
	}
	return fd;
}
