/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "fs/inode/descriptor.h"
#include "fs/loop/loop.h"
#include "fs/ops/reply.h"
#include "fs/similar/similar.h"

/*
 * Locks are taken on the file below, so that they also work between the mount
 * and processes that use SOURCE directly.
 *
 * POSIX locks belong to an owner (a process) and an inode.  Each such pair has
 * a descriptor of its own; an open-file-description (OFD) lock on it stands for
 * the owner's lock.  The descriptor is closed when the owner closes any of its
 * descriptors of the file, as POSIX requires.  flock() locks belong to the
 * handle.
 *
 * OFD locks of a caller arrive as POSIX locks of an owner that stands for the
 * caller's file description.  The kernel does not report when that is closed.
 * But the last close of a description also closes its handle, so the owners
 * that used a handle last are removed with it.
 *
 * The file may be on a filesystem whose locks, opens and closes last for as long
 * as its user likes.  So no lock is held meanwhile: inode_lock() guards
 * inode->owners and the fields of an owner, and an owner in use is not freed.
 */
struct lock_owner {
	struct lock_owner *next;
	uint64_t id;
	int fd;
	uid_t uid;                   /* whose share has it */
	pid_t pid;                   /* the process that set the last lock */
	const struct handle *handle; /* used last; only compared */
	unsigned users;              /* running operations */
	bool ends;                   /* it is removed after the last of them */
};

/* ---- owners ---- */

/* The caller holds inode_lock(); so it does for owner_unlink(). */
static struct lock_owner *owner_find(struct inode *inode, uint64_t id)
{
	struct lock_owner *o = atomic_load(&inode->owners);

	while (o && o->id != id)
		o = o->next;
	return o;
}

static void owner_unlink(struct inode *inode, struct lock_owner *o)
{
	struct lock_owner *at = atomic_load(&inode->owners);

	if (at == o)
		atomic_store(&inode->owners, o->next);
	while (at != o && at->next != o)
		at = at->next;
	if (at != o)
		at->next = o->next;
}

static void owner_free(struct lock_owner *o)
{
	if (!o)
		return;
	close(o->fd);
	share_give(o->uid);
	free(o);
}

static int owner_new(const struct fuse_file_info *fi, struct lock_owner **out)
{
	const struct handle *h = handle_of(fi);
	struct lock_owner *o = calloc(1, sizeof(*o));
	int own = handle_fd(handle_of(fi)), err = o ? 0 : -ENOMEM;

	if (own < 0)
		err = own;
	if (!err)
		err = share_take(h->uid);
	if (err) {
		free(o);
		return err == -EMFILE ? -ENOLCK : err;
	}
	o->id = fi->lock_owner;
	o->uid = h->uid;
	/* For writing if possible, because the owner may request an exclusive
	 * lock later, through another handle. */
	o->fd = fd_reopen(own, O_RDWR | O_NONBLOCK);
	if (o->fd < 0)
		o->fd = fd_reopen(own, (h->flags & O_ACCMODE) | O_NONBLOCK);
	err = o->fd < 0 ? o->fd : 0;
	if (err) {
		share_give(o->uid);
		free(o);
	} else {
		*out = o;
	}
	return err;
}

/* Begins to use the owner.  NULL: there is none. */
static struct lock_owner *owner_use(struct fs *fs, struct inode *inode,
				    uint64_t id)
{
	struct lock_owner *o;

	inode_lock(fs, inode);
	o = owner_find(inode, id);
	if (o)
		o->users++;
	inode_unlock(fs, inode);
	return o;
}

/* Adds the owner, unless another thread was faster, and begins to use it. */
static struct lock_owner *owner_add(struct fs *fs, struct inode *inode,
				    struct lock_owner *fresh)
{
	struct lock_owner *o;

	inode_lock(fs, inode);
	o = owner_find(inode, fresh->id);
	if (!o) {
		o = fresh;
		o->next = atomic_load(&inode->owners);
		atomic_store(&inode->owners, o);
	}
	o->users++;
	inode_unlock(fs, inode);
	if (o != fresh)
		owner_free(fresh);
	return o;
}

static void owner_put(struct fs *fs, struct inode *inode, struct lock_owner *o)
{
	bool ends;

	inode_lock(fs, inode);
	ends = --o->users == 0 && o->ends;
	if (ends)
		owner_unlink(inode, o);
	inode_unlock(fs, inode);
	if (ends)
		owner_free(o);
}

/* Ends the use of o (NULL: before the first) and begins that of the next owner;
 * NULL: there is none. */
static struct lock_owner *owner_next(struct fs *fs, struct inode *inode,
				     struct lock_owner *o)
{
	struct lock_owner *next;

	inode_lock(fs, inode);
	next = o ? o->next : atomic_load(&inode->owners);
	if (next)
		next->users++;
	inode_unlock(fs, inode);
	if (o)
		owner_put(fs, inode, o);
	return next;
}

void locks_owner_closed(struct fs *fs, struct inode *inode, uint64_t owner)
{
	struct flock all = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
	struct lock_owner *o;

	if (!atomic_load(&inode->owners))
		return;
	o = owner_use(fs, inode, owner);
	if (!o)
		return;
	(void)fcntl(o->fd, F_OFD_SETLK, &all);
	inode_lock(fs, inode);
	o->handle = NULL;
	o->ends = o->users == 1;
	inode_unlock(fs, inode);
	owner_put(fs, inode, o);
}

void locks_handle_closed(struct fs *fs, const struct handle *h)
{
	struct lock_owner *o = NULL;

	if (!atomic_load(&h->inode->owners))
		return;
	while ((o = owner_next(fs, h->inode, o))) {
		inode_lock(fs, h->inode);
		o->ends |= o->handle == h;
		inode_unlock(fs, h->inode);
	}
}

void locks_forget(struct inode *inode)
{
	struct lock_owner *o;

	while ((o = atomic_load(&inode->owners))) {
		owner_unlink(inode, o);
		owner_free(o);
	}
}

/* ---- taking ---- */

struct lock_request {
	fuse_req_t req;
	int fd;
	bool is_flock;
	struct flock lock;
	int flock_op;
};

static int set_lock(const struct lock_request *r, bool waits)
{
	struct flock lock = r->lock;
	int got;

	if (r->is_flock)
		got = flock(r->fd, waits ? r->flock_op : r->flock_op | LOCK_NB);
	else
		got = fcntl(r->fd, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
	return got == 0 ? 0 : -errno;
}

/* While the thread waits, only the end of the request ends that, no other
 * signal. */
static int take_lock(const struct lock_request *r, bool waits)
{
	struct fs *fs = fs_of(r->req);
	int err = set_lock(r, false);

	if (!waits || (err != -EAGAIN && err != -EACCES))
		return err;
	if (loop_wait_begin(fs))
		return -ENOLCK;
	err = -EINTR;
	while (err == -EINTR && !loop_wait_is_over(fs, r->req))
		err = set_lock(r, true);
	loop_wait_end(fs);
	return err;
}

/* ---- operations ---- */

void ops_setlk(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       struct flock *lock, int sleep)
{
	struct lock_request r = { .req = req, .lock = *lock };
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);
	struct lock_owner *o;
	int err = 0;

	if (similar_refuses(req, node, -EBADF))
		return;
	o = owner_use(fs, inode, fi->lock_owner);
	if (!o && lock->l_type != F_UNLCK) {
		err = owner_new(fi, &o);
		if (!err)
			o = owner_add(fs, inode, o);
	}
	if (o) {
		inode_lock(fs, inode);
		o->handle = handle_of(fi);
		if (lock->l_pid) /* 0 when a lock is dropped */
			o->pid = lock->l_pid;
		inode_unlock(fs, inode);
		r.fd = o->fd;
		r.lock.l_pid = 0; /* required by F_OFD_SETLK */
		err = take_lock(&r, sleep);
		owner_put(fs, inode, o);
	}
	reply_error(req, err);
}

/*
 * The process that holds an OFD lock; the kernel does not report it.  It is the
 * owner whose descriptor has no conflict with the lock.  If several owners
 * share a read lock, any of them is returned.  0: it is not one of the mount.
 */
static pid_t holder_pid(struct fs *fs, struct inode *inode, uint64_t asking,
			const struct flock *held)
{
	pid_t any = 0, holder = 0;
	struct lock_owner *o = NULL;

	while ((o = owner_next(fs, inode, o))) {
		struct flock probe = *held;

		if (holder || o->id == asking)
			continue;
		probe.l_type = F_WRLCK;
		probe.l_pid = 0;
		any = o->pid;
		if (fcntl(o->fd, F_OFD_GETLK, &probe) == 0 &&
		    probe.l_type == F_UNLCK)
			holder = any;
	}
	return holder || held->l_type != F_RDLCK ? holder : any;
}

void ops_getlk(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       struct flock *lock)
{
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);
	struct lock_owner *o;
	int fd, err = 0;

	if (similar_refuses(req, node, -EBADF))
		return;
	fd = handle_fd(handle_of(fi));
	o = owner_use(fs, inode, fi->lock_owner);
	lock->l_pid = 0;
	if (fd < 0)
		err = fd;
	else if (fcntl(o ? o->fd : fd, F_OFD_GETLK, lock) != 0)
		err = -errno;
	else if (lock->l_type != F_UNLCK && lock->l_pid < 0)
		lock->l_pid = holder_pid(fs, inode, fi->lock_owner, lock);
	if (o)
		owner_put(fs, inode, o);
	if (err)
		reply_error(req, err);
	else
		fuse_reply_lock(req, lock);
}

void ops_flock(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       int op)
{
	struct lock_request r = {
		.req = req,
		.is_flock = true,
		.flock_op = op & ~LOCK_NB,
	};

	if (similar_refuses(req, node, -EBADF))
		return;
	r.fd = handle_fd(handle_of(fi));
	reply_error(req, r.fd < 0 ? r.fd : take_lock(&r, !(op & LOCK_NB)));
}
