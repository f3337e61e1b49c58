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
 * A request that must wait for a lock has a thread of its own.  A signal
 * without SA_RESTART interrupts the wait (loop.h).
 */
#define WAITERS_MAX 1024
#define WAITER_STACK ((size_t)256 * 1024)

struct lock_owner {
	struct lock_owner *next;
	uint64_t id;
	int fd;
	pid_t pid;                   /* the process that set the last lock */
	const struct handle *handle; /* used last; only compared */
	unsigned users;              /* running operations */
};

struct lock_waiter {
	LIST_ENTRY(lock_waiter) entry;
	struct fs *fs;
	fuse_req_t req;
	struct inode *inode;      /* holds a reference */
	struct lock_owner *owner; /* NULL: flock() */
	struct flock lock;
	int fd;
	int flock_op;
	uid_t uid;
	pthread_t thread;
	atomic_bool interrupted;
	atomic_bool done; /* has left the system call */
};

struct locks {
	pthread_mutex_t owners; /* inode->owners, and all of lock_owner */
	pthread_mutex_t lock;   /* everything below; innermost */
	LIST_HEAD(, lock_waiter) waiters;
	struct quota quota; /* of the waiters */
	bool stopping;
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

static int owner_get(struct fs *fs, struct inode *inode,
		     const struct fuse_file_info *fi, pid_t pid,
		     struct lock_owner **owner_out)
{
	struct locks *l = fs->locks;
	struct lock_owner *o;
	int own, err = 0;

	pthread_mutex_lock(&l->owners);
	o = owner_find(inode, fi->lock_owner);
	if (!o) {
		o = calloc(1, sizeof(*o));
		own = err = o ? handle_fd(fs, handle_of(fi)) : -ENOMEM;
		/* For writing if possible, because the owner may request an
		 * exclusive lock later, through another handle. */
		if (err >= 0)
			err = fd_reopen(own, O_RDWR | O_NONBLOCK);
		if (err < 0 && own >= 0)
			err = fd_reopen(own,
					(handle_of(fi)->flags & O_ACCMODE) |
						O_NONBLOCK);
		if (err >= 0) {
			o->id = fi->lock_owner;
			o->fd = err;
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

/* Called by libfuse, in a thread of the loop, or in the waiter's own thread
 * from fuse_req_interrupt_func(). */
static void on_interrupt(fuse_req_t req, void *arg)
{
	struct lock_waiter *w = arg;

	(void)req;
	atomic_store(&w->interrupted, true);
	if (pthread_equal(pthread_self(), w->thread))
		return;
	while (!atomic_load(&w->done)) {
		wake_thread(w->thread);
		wake_pause();
	}
}

static void *waiter_main(void *arg)
{
	struct lock_waiter *w = arg;
	struct fs *fs = w->fs;
	int err = -EINTR;

	/* Waits until w->thread is set: the starter holds the lock. */
	pthread_mutex_lock(&fs->locks->lock);
	pthread_mutex_unlock(&fs->locks->lock);
	wake_allow();
	fuse_req_interrupt_func(w->req, on_interrupt, w);
	while (err == -EINTR && !atomic_load(&w->interrupted)) {
		int r = w->owner ? fcntl(w->fd, F_OFD_SETLKW, &w->lock) :
				   flock(w->fd, w->flock_op);

		err = r == 0 ? 0 : -errno;
	}
	atomic_store(&w->done, true);
	fuse_req_interrupt_func(w->req, NULL, NULL);
	if (w->owner)
		owner_put(fs, w->owner);
	reply_error(w->req, err);
	inode_unref(fs, w->inode);
	pthread_mutex_lock(&fs->locks->lock);
	LIST_REMOVE(w, entry);
	quota_give(&fs->locks->quota, w->uid);
	free(w);
	pthread_mutex_unlock(&fs->locks->lock);
	return NULL;
}

/* Starts a waiter, which is a copy of *what; on success it replies. */
static int wait_for_lock(const struct lock_waiter *what)
{
	struct locks *l = what->fs->locks;
	struct lock_waiter *w = malloc(sizeof(*w));
	pthread_attr_t attr;
	int err = -ENOLCK;
	uint64_t turn;

	if (!w || pthread_attr_init(&attr)) {
		free(w);
		return -ENOMEM;
	}
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, WAITER_STACK);
	*w = *what;
	w->uid = fuse_req_ctx(w->req)->uid;
	pthread_mutex_lock(&l->lock);
	if (!l->stopping && !quota_take(&l->quota, w->uid, &turn)) {
		if (!pthread_create(&w->thread, &attr, waiter_main, w))
			err = 0;
		else
			quota_give(&l->quota, w->uid);
	}
	if (!err) {
		inode_ref(w->inode);
		LIST_INSERT_HEAD(&l->waiters, w, entry);
	}
	pthread_mutex_unlock(&l->lock);
	pthread_attr_destroy(&attr);
	if (err)
		free(w);
	return err;
}

/* ---- operations ---- */

void ops_setlk(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi,
	       struct flock *lock, int sleep)
{
	struct lock_waiter w = { .fs = fs_of(req), .req = req };
	int err;

	if (similar_refuses(req, node, -EBADF))
		return;
	w.inode = inode_of(w.fs, node);
	if (lock->l_type == F_UNLCK && !atomic_load(&w.inode->owners)) {
		reply_error(req, 0);
		return;
	}
	err = owner_get(w.fs, w.inode, fi, lock->l_pid, &w.owner);
	if (!err) {
		w.fd = w.owner->fd;
		w.lock = *lock;
		w.lock.l_pid = 0; /* required by F_OFD_SETLK */
		if (fcntl(w.fd, F_OFD_SETLK, &w.lock) != 0)
			err = -errno;
		if (sleep && (err == -EAGAIN || err == -EACCES)) {
			err = wait_for_lock(&w);
			if (!err)
				return;
		}
		owner_put(w.fs, w.owner);
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
	fd = handle_fd(fs, handle_of(fi));
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
	struct lock_waiter w = { .fs = fs_of(req), .req = req, .flock_op = op };
	int err = 0;

	if (similar_refuses(req, node, -EBADF))
		return;
	w.inode = inode_of(w.fs, node);
	w.fd = handle_fd(w.fs, handle_of(fi));
	if (w.fd < 0)
		err = w.fd;
	else if (flock(w.fd, op | LOCK_NB) != 0)
		err = -errno;
	if (err == -EWOULDBLOCK && !(op & LOCK_NB)) {
		err = wait_for_lock(&w);
		if (!err)
			return;
	}
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

void locks_stop(struct fs *fs)
{
	struct locks *l = fs->locks;
	struct lock_waiter *w;
	bool left;

	if (!l)
		return;
	do {
		pthread_mutex_lock(&l->lock);
		l->stopping = true;
		for (w = LIST_FIRST(&l->waiters); w; w = LIST_NEXT(w, entry)) {
			atomic_store(&w->interrupted, true);
			wake_thread(w->thread);
		}
		left = !LIST_EMPTY(&l->waiters);
		pthread_mutex_unlock(&l->lock);
		if (left)
			wake_pause();
	} while (left);
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
