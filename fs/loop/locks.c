/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/queue.h>
#include <unistd.h>

#include "core/queue/quota.h"
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
 * A request that must wait for a lock keeps its thread (loop_wait_begin()).
 */
#define WAITERS_MAX 1024

struct lock_owner {
	struct lock_owner *next;
	uint64_t id;
	int fd;
	uid_t uid;                   /* whose share has it */
	pid_t pid;                   /* the process that set the last lock */
	const struct handle *handle; /* used last; only compared */
	unsigned users;              /* running operations */
};

/* A request for a lock. */
struct lock_request {
	fuse_req_t req;
	struct lock_owner *owner; /* NULL: flock() */
	struct flock lock;
	int fd;
	int flock_op;
};

struct locks {
	pthread_mutex_t owners; /* inode->owners, and all of lock_owner */
	pthread_mutex_t lock;   /* everything below; innermost */
	struct quota quota;     /* of requests that wait */
};

/* ---- owners ---- */

/* The caller holds the owners lock. */
static struct lock_owner *owner_find(struct inode *inode, uint64_t id)
{
	struct lock_owner *o = atomic_load(&inode->owners);

	while (o && o->id != id)
		o = o->next;
	return o;
}

/* A descriptor for a new owner. */
static int owner_open(const struct fuse_file_info *fi, int own, uid_t uid)
{
	int fd = share_take(uid);

	if (fd)
		return fd == -EMFILE ? -ENOLCK : fd;
	/* For writing if possible, because the owner may request an exclusive
	 * lock later, through another handle. */
	fd = fd_reopen(own, O_RDWR | O_NONBLOCK);
	if (fd < 0)
		fd = fd_reopen(own,
			       (handle_of(fi)->flags & O_ACCMODE) | O_NONBLOCK);
	if (fd < 0)
		share_give(uid);
	return fd;
}

static int owner_get(struct fs *fs, struct inode *inode,
		     const struct fuse_file_info *fi, pid_t pid,
		     struct lock_owner **owner_out)
{
	int own = handle_fd(handle_of(fi)), err = 0;
	uid_t uid = handle_of(fi)->uid;
	struct locks *l = fs->locks;
	struct lock_owner *o;

	if (own < 0)
		return own;
	pthread_mutex_lock(&l->owners);
	o = owner_find(inode, fi->lock_owner);
	if (!o) {
		o = calloc(1, sizeof(*o));
		err = o ? 0 : -ENOMEM;
		if (!err)
			err = owner_open(fi, own, uid);
		if (err >= 0) {
			o->id = fi->lock_owner;
			o->fd = err;
			o->uid = uid;
			o->next = atomic_load(&inode->owners);
			atomic_store(&inode->owners, o);
			err = 0;
		}
	}
	if (err) {
		free(o);
	} else {
		o->users++;
		o->handle = handle_of(fi);
		if (pid) /* 0 when a lock is dropped */
			o->pid = pid;
		*owner_out = o;
	}
	pthread_mutex_unlock(&l->owners);
	return err;
}

static void owner_put(struct fs *fs, struct lock_owner *o)
{
	pthread_mutex_lock(&fs->locks->owners);
	o->users--;
	pthread_mutex_unlock(&fs->locks->owners);
}

static void owner_remove(struct inode *inode, struct lock_owner *o)
{
	struct lock_owner *at = atomic_load(&inode->owners);

	if (at == o)
		atomic_store(&inode->owners, o->next);
	while (at != o && at->next != o)
		at = at->next;
	if (at != o)
		at->next = o->next;
	close(o->fd);
	share_give(o->uid);
	free(o);
}

void locks_owner_closed(struct fs *fs, struct inode *inode, uint64_t owner)
{
	struct flock all = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
	struct lock_owner *o;

	if (!atomic_load(&inode->owners))
		return;
	pthread_mutex_lock(&fs->locks->owners);
	o = owner_find(inode, owner);
	if (o && o->users) {
		(void)fcntl(o->fd, F_OFD_SETLK, &all);
		o->handle = NULL;
	} else if (o) {
		owner_remove(inode, o);
	}
	pthread_mutex_unlock(&fs->locks->owners);
}

void locks_handle_closed(struct fs *fs, const struct handle *h)
{
	struct inode *inode = h->inode;
	struct lock_owner *next;

	if (!atomic_load(&inode->owners))
		return;
	pthread_mutex_lock(&fs->locks->owners);
	for (struct lock_owner *o = atomic_load(&inode->owners); o; o = next) {
		next = o->next;
		if (o->handle == h && !o->users)
			owner_remove(inode, o);
	}
	pthread_mutex_unlock(&fs->locks->owners);
}

void locks_forget(struct inode *inode)
{
	while (atomic_load(&inode->owners))
		owner_remove(inode, atomic_load(&inode->owners));
}

/* ---- waiting ---- */

static int take_lock(const struct lock_request *r)
{
	struct flock lock = r->lock;
	int got = r->owner ? fcntl(r->fd, F_OFD_SETLKW, &lock) :
			     flock(r->fd, r->flock_op);

	return got == 0 ? 0 : -errno;
}

/* Waits for the lock.  Other signals than those of the caller do not end it. */
static int wait_for_lock(struct fs *fs, const struct lock_request *r)
{
	uid_t uid = fuse_req_ctx(r->req)->uid;
	struct locks *l = fs->locks;
	uint64_t turn;
	int err;

	pthread_mutex_lock(&l->lock);
	err = quota_take(&l->quota, uid, &turn);
	pthread_mutex_unlock(&l->lock);
	if (err)
		return -ENOLCK;
	err = loop_wait_begin(fs);
	if (!err) {
		err = -EINTR;
		while (err == -EINTR && !loop_wait_is_over(fs, r->req))
			err = take_lock(r);
		loop_wait_end(fs);
	}
	pthread_mutex_lock(&l->lock);
	quota_give(&l->quota, uid);
	pthread_mutex_unlock(&l->lock);
	return err;
}

/* ---- operations ---- */

void ops_setlk(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       struct flock *lock, int sleep)
{
	struct lock_request r = { .req = req, .lock = *lock };
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);
	int err;

	if (similar_refuses(req, node, -EBADF))
		return;
	if (lock->l_type == F_UNLCK && !atomic_load(&inode->owners)) {
		reply_error(req, 0);
		return;
	}
	err = owner_get(fs, inode, fi, lock->l_pid, &r.owner);
	if (!err) {
		r.fd = r.owner->fd;
		r.lock.l_pid = 0; /* required by F_OFD_SETLK */
		if (fcntl(r.fd, F_OFD_SETLK, &r.lock) != 0)
			err = -errno;
		if (sleep && (err == -EAGAIN || err == -EACCES))
			err = wait_for_lock(fs, &r);
		owner_put(fs, r.owner);
	}
	reply_error(req, err);
}

/*
 * The process that holds an OFD lock; the kernel does not report it.  It is the
 * owner whose descriptor has no conflict with the lock.  If several owners
 * share a read lock, any of them is returned.  0: it is not one of the mount.
 * The caller holds the owners lock.
 */
static pid_t holder_pid(struct inode *inode, const struct lock_owner *asking,
			const struct flock *held)
{
	struct lock_owner *o = atomic_load(&inode->owners);
	pid_t any = 0;

	for (; o; o = o->next) {
		struct flock probe = *held;

		if (o == asking)
			continue;
		probe.l_type = F_WRLCK;
		probe.l_pid = 0;
		if (fcntl(o->fd, F_OFD_GETLK, &probe) == 0 &&
		    probe.l_type == F_UNLCK)
			return o->pid;
		any = o->pid;
	}
	return held->l_type == F_RDLCK ? any : 0;
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
	if (fd < 0) {
		reply_error(req, fd);
		return;
	}
	pthread_mutex_lock(&fs->locks->owners);
	o = owner_find(inode, fi->lock_owner);
	lock->l_pid = 0;
	if (fcntl(o ? o->fd : fd, F_OFD_GETLK, lock) != 0)
		err = -errno;
	else if (lock->l_type != F_UNLCK && lock->l_pid < 0)
		lock->l_pid = holder_pid(inode, o, lock);
	pthread_mutex_unlock(&fs->locks->owners);
	if (err)
		reply_error(req, err);
	else
		fuse_reply_lock(req, lock);
}

void ops_flock(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       int op)
{
	struct lock_request r = { .req = req, .flock_op = op };
	int err = 0;

	if (similar_refuses(req, node, -EBADF))
		return;
	r.fd = handle_fd(handle_of(fi));
	if (r.fd < 0)
		err = r.fd;
	else if (flock(r.fd, op | LOCK_NB) != 0)
		err = -errno;
	if (err == -EWOULDBLOCK && !(op & LOCK_NB))
		err = wait_for_lock(fs_of(req), &r);
	reply_error(req, err);
}

/* ---- life ---- */

int locks_open(struct fs *fs)
{
	struct locks *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->quota.most = WAITERS_MAX;
	pthread_mutex_init(&l->owners, NULL);
	pthread_mutex_init(&l->lock, NULL);
	fs->locks = l;
	return wake_open();
}

void locks_free(struct fs *fs)
{
	if (!fs->locks)
		return;
	pthread_mutex_destroy(&fs->locks->owners);
	pthread_mutex_destroy(&fs->locks->lock);
	free(fs->locks);
	fs->locks = NULL;
}
