/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/watched.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/lease.h"
#include "core/watch/watch.h"
#include "fs/fs.h"
#include "fs/inode/cache.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/inode.h"
#include "fs/inode/reopen.h"

enum { FIRST_BUCKETS = 1024, DEVICES_MAX = 64 };

/* The inodes by id, and which devices are watched. */
struct watched {
	pthread_mutex_t lock; /* everything here; before the lock of a shard */
	struct inode **buckets;
	size_t bucket_count; /* a power of two */
	size_t count;
	struct {
		dev_t dev;
		bool on;
	} devices[DEVICES_MAX];
	size_t device_count;
};

/* ---- the table ---- */

static struct inode **bucket_of(const struct watched *w, uint64_t id)
{
	return &w->buckets[(id >> 1) & (w->bucket_count - 1)];
}

/* Without memory the table stays as it is, with longer chains. */
static void table_grow(struct watched *w)
{
	struct watched bigger = { .bucket_count = w->bucket_count * 2 };
	struct inode *inode, **to;

	bigger.buckets = calloc(bigger.bucket_count, sizeof(struct inode *));
	if (!bigger.buckets)
		return;
	for (size_t i = 0; i < w->bucket_count; i++)
		while ((inode = w->buckets[i])) {
			w->buckets[i] = inode->watched_next;
			to = bucket_of(&bigger, inode->watch_id);
			inode->watched_next = *to;
			*to = inode;
		}
	free(w->buckets);
	w->buckets = bigger.buckets;
	w->bucket_count = bigger.bucket_count;
}

static void table_insert(struct watched *w, struct inode *inode, uint64_t id)
{
	struct inode **to;

	pthread_mutex_lock(&w->lock);
	if (!atomic_load(&inode->watch_id)) {
		if (w->count >= w->bucket_count)
			table_grow(w);
		to = bucket_of(w, id);
		inode->watched_next = *to;
		*to = inode;
		w->count++;
		atomic_store(&inode->watch_id, id);
	}
	pthread_mutex_unlock(&w->lock);
}

void watched_release(struct fs *fs, struct inode *inode)
{
	struct watched *w = fs->watched;
	struct inode **link;

	if (!w || !atomic_load(&inode->watch_id))
		return;
	pthread_mutex_lock(&w->lock);
	link = bucket_of(w, inode->watch_id);
	while (*link != inode)
		link = &(*link)->watched_next;
	*link = inode->watched_next;
	w->count--;
	pthread_mutex_unlock(&w->lock);
}

/* Takes a reference, unless the inode has none and is about to be freed. */
static bool ref_if_used(struct inode *inode)
{
	uint64_t refs = atomic_load(&inode->refs);

	while (refs)
		if (atomic_compare_exchange_weak(&inode->refs, &refs, refs + 1))
			return true;
	return false;
}

struct inode *watched_next(struct fs *fs, uint64_t id, struct inode *before)
{
	struct watched *w = fs->watched;
	struct inode *inode;

	pthread_mutex_lock(&w->lock);
	inode = before ? before->watched_next : *bucket_of(w, id);
	while (inode && (inode->watch_id != id || !ref_if_used(inode)))
		inode = inode->watched_next;
	pthread_mutex_unlock(&w->lock);
	if (before)
		inode_unref(fs, before);
	return inode;
}

/* fn resets inode->kept, so a long chain can be handled in parts, each inode with
 * a reference.  If the table grows meanwhile, it is walked again. */
void watched_each_kept(struct fs *fs,
		       void (*fn)(struct fs *fs, struct inode *inode))
{
	enum { MOST = 16 };
	struct watched *w = fs->watched;
	struct inode *some[MOST], *inode;
	size_t buckets = 0, at = 0, count, i;
	bool again;

	do {
		count = 0;
		pthread_mutex_lock(&w->lock);
		if (buckets != w->bucket_count)
			at = 0;
		buckets = w->bucket_count;
		for (inode = w->buckets[at]; inode && count < MOST;
		     inode = inode->watched_next)
			if (atomic_load(&inode->kept) && ref_if_used(inode))
				some[count++] = inode;
		pthread_mutex_unlock(&w->lock);
		for (i = 0; i < count; i++) {
			fn(fs, some[i]);
			inode_unref(fs, some[i]);
		}
		again = count == MOST || ++at < buckets;
	} while (again);
}

/* ---- watched inodes and devices ---- */

bool watched_is_on(const struct fs *fs)
{
	return fs->watched && fs->can_expire_names && !watch_is_late(fs->watch);
}

/* Whether the device is watched; tries to watch a new one.  fd is any file on
 * it. */
static bool is_device_watched(struct fs *fs, dev_t dev, int fd)
{
	struct watched *w = fs->watched;
	bool on = false;
	size_t i = 0;

	if (dev == fs->device)
		return true;
	pthread_mutex_lock(&w->lock);
	while (i < w->device_count && w->devices[i].dev != dev)
		i++;
	if (i < w->device_count) {
		on = w->devices[i].on;
	} else if (i < DEVICES_MAX) {
		on = fs->options.cross && !watch_add(fs->watch, fd);
		w->devices[i].dev = dev;
		w->devices[i].on = on;
		w->device_count++;
	}
	pthread_mutex_unlock(&w->lock);
	return on;
}

/* Adds the inode to the table, so that its events are reported from now on;
 * false: its device is not watched. */
static bool watch_inode(struct fs *fs, struct inode *inode, int fd)
{
	uint64_t id;

	if (atomic_load(&inode->watch_id))
		return true;
	if (!is_device_watched(fs, inode->dev, fd) || watch_get_id(fd, &id))
		return false;
	table_insert(fs->watched, inode, id);
	return true;
}

/* ---- attributes ---- */

/* Whether no process has the regular file open for writing, through the mount
 * or below it. */
static bool has_no_writers(const struct inode *inode, int path_fd)
{
	int fd, err;

	if (atomic_load(&inode->writers))
		return false;
	fd = fd_reopen(path_fd, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	err = lease_take(fd);
	close(fd);
	return !err;
}

/* Sets KEPT_LONG and reads the attributes once more; false: they must not be
 * cached for long. */
static bool keep_for_long(struct fs *fs, struct inode *inode, struct stat *st)
{
	struct path_fd path;
	bool good = false;

	if (inode_path_fd(fs, inode, &path))
		return false;
	if (watch_inode(fs, inode, path.fd)) {
		atomic_store(&inode->kept, KEPT_LONG);
		good = (!S_ISREG(inode->type) ||
			has_no_writers(inode, path.fd)) &&
		       !fstat(path.fd, st) &&
		       atomic_load(&inode->kept) == KEPT_LONG;
		if (!good)
			atomic_store(&inode->kept, KEPT_SHORT);
	}
	path_fd_close(&path);
	return good;
}

double watched_attr_timeout(struct fs *fs, struct inode *inode, struct stat *st)
{
	double timeout = cache_attr_timeout(fs, inode, st);

	if (timeout <= 0 || !watched_is_on(fs))
		return timeout;
	if (!atomic_exchange(&inode->attr_sent, true)) {
		/* Events of the inode are reported from the first reply on. */
		if (inode->fd >= 0 && watch_inode(fs, inode, inode->fd))
			atomic_store(&inode->kept, KEPT_SHORT);
		return timeout;
	}
	return atomic_load(&inode->kept) == KEPT_LONG ||
			       keep_for_long(fs, inode, st) ?
		       WATCHED_TIMEOUT_S :
		       timeout;
}

int watched_forget_attributes(struct fs *fs, struct inode *inode)
{
	if (!atomic_load(&inode->kept) ||
	    !atomic_exchange(&inode->kept, KEPT_NOT))
		return 0;
	return cache_forget_attributes(fs, inode);
}

bool watched_may_be_written(struct fs *fs, struct inode *inode)
{
	struct path_fd path;
	bool good;

	if (atomic_load(&inode->kept) != KEPT_LONG || !S_ISREG(inode->type))
		return false;
	good = !inode_path_fd(fs, inode, &path);
	if (good) {
		good = has_no_writers(inode, path.fd);
		path_fd_close(&path);
	}
	return !good;
}

/* ---- names ---- */

double watched_name_timeout(struct fs *fs, struct inode *dir, int fd)
{
	if (!watched_is_on(fs) || !watch_inode(fs, dir, fd))
		return fs->options.timeout_s;
	atomic_store(&dir->names_epoch, atomic_load(&fs->names_epoch));
	return WATCHED_TIMEOUT_S;
}

/* ---- life ---- */

int watched_open(struct fs *fs)
{
	struct watched *w;

	if (!fs->watch)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->bucket_count = FIRST_BUCKETS;
	w->buckets = calloc(w->bucket_count, sizeof(struct inode *));
	if (!w->buckets) {
		free(w);
		return -ENOMEM;
	}
	pthread_mutex_init(&w->lock, NULL);
	fs->watched = w;
	return 0;
}

void watched_free(struct fs *fs)
{
	struct watched *w = fs->watched;

	if (!w)
		return;
	fs->watched = NULL;
	pthread_mutex_destroy(&w->lock);
	free(w->buckets);
	free(w);
}
