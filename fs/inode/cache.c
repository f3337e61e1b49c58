/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/watch/watch.h"
#include "fs/fs.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/inode.h"

/* With a million inodes, 16 are in a bucket. */
enum { BUCKETS = 65536, DEVICES_MAX = 64 };

/* The inodes by id, and which devices are watched. */
struct watched {
	pthread_mutex_t lock; /* everything here; before the lock of a shard */
	struct inode *buckets[BUCKETS];
	struct {
		dev_t dev;
		bool on;
	} devices[DEVICES_MAX];
	size_t device_count;
};

/* ---- the table ---- */

static struct inode **bucket_of(struct watched *w, uint64_t id)
{
	return &w->buckets[(id >> 1) % BUCKETS];
}

void cache_release(struct fs *fs, struct inode *inode)
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

struct inode *cache_next_watched(struct fs *fs, uint64_t id,
				 struct inode *before)
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
 * a reference. */
void cache_each_kept(struct fs *fs,
		     void (*fn)(struct fs *fs, struct inode *inode))
{
	enum { MOST = 16 };
	struct watched *w = fs->watched;
	struct inode *some[MOST], *inode;
	size_t at = 0, count, i;

	while (at < BUCKETS) {
		count = 0;
		pthread_mutex_lock(&w->lock);
		for (inode = w->buckets[at]; inode && count < MOST;
		     inode = inode->watched_next)
			if (atomic_load(&inode->kept) && ref_if_used(inode))
				some[count++] = inode;
		pthread_mutex_unlock(&w->lock);
		for (i = 0; i < count; i++) {
			fn(fs, some[i]);
			inode_unref(fs, some[i]);
		}
		at += count < MOST;
	}
}

/* ---- watched inodes and devices ---- */

bool cache_is_watched(const struct fs *fs)
{
	return fs->names && fs->can_expire_names && !watch_is_late(fs->watch);
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
	struct watched *w = fs->watched;
	struct inode **to;
	uint64_t id;

	if (atomic_load(&inode->watch_id))
		return true;
	if (!is_device_watched(fs, inode->dev, fd) || watch_get_id(fd, &id))
		return false;
	pthread_mutex_lock(&w->lock);
	if (!atomic_load(&inode->watch_id)) {
		to = bucket_of(w, id);
		inode->watched_next = *to;
		*to = inode;
		atomic_store(&inode->watch_id, id);
	}
	pthread_mutex_unlock(&w->lock);
	return true;
}

/* ---- attributes ---- */

int64_t cache_clock_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

int64_t cache_recent_ns(const struct fs *fs)
{
	double half_ns = fs->options.timeout_s * 5e8;
	int64_t now = cache_clock_ns();

	if (half_ns <= 0)
		return INT64_MAX;
	return half_ns < (double)now ? now - (int64_t)half_ns : 1;
}

double cache_short_timeout(const struct fs *fs, const struct inode *inode,
			   const struct stat *st)
{
	bool setid = st->st_mode & (S_ISUID | S_ISGID);
	bool changes = S_ISREG(st->st_mode) &&
		       (atomic_load(&inode->mappers) ||
			(setid && atomic_load(&inode->writers)));

	return changes ? 0 : fs->options.timeout_s;
}

/* With a negative offset the kernel invalidates the attributes and no pages,
 * and takes no lock that a request may hold. */
int cache_forget_attributes(struct fs *fs, struct inode *inode)
{
	return fuse_lowlevel_notify_inval_inode(fs->session, node_of(fs, inode),
						-1, 0);
}

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
	int fd = inode_fd(fs, inode);
	bool good = false;

	if (fd >= 0 && watch_inode(fs, inode, fd)) {
		atomic_store(&inode->kept, KEPT_LONG);
		good = (!S_ISREG(inode->type) || has_no_writers(inode, fd)) &&
		       !fstat(fd, st) && atomic_load(&inode->kept) == KEPT_LONG;
		if (!good)
			atomic_store(&inode->kept, KEPT_SHORT);
	}
	inode_fd_close(inode, fd);
	return good;
}

double cache_attr_timeout(struct fs *fs, struct inode *inode, struct stat *st)
{
	double timeout = cache_short_timeout(fs, inode, st);

	if (timeout <= 0 || !cache_is_watched(fs))
		return timeout;
	if (!atomic_exchange(&inode->attr_sent, true)) {
		/* Events of the inode are reported from the first reply on. */
		if (inode->fd >= 0 && watch_inode(fs, inode, inode->fd))
			atomic_store(&inode->kept, KEPT_SHORT);
		return timeout;
	}
	return atomic_load(&inode->kept) == KEPT_LONG ||
			       keep_for_long(fs, inode, st) ?
		       CACHE_LONG_S :
		       timeout;
}

int cache_forget_kept(struct fs *fs, struct inode *inode)
{
	if (!atomic_load(&inode->kept) ||
	    !atomic_exchange(&inode->kept, KEPT_NOT))
		return 0;
	return cache_forget_attributes(fs, inode);
}

bool cache_may_be_written(struct fs *fs, struct inode *inode)
{
	bool good;
	int fd;

	if (atomic_load(&inode->kept) != KEPT_LONG || !S_ISREG(inode->type))
		return false;
	fd = inode_fd(fs, inode);
	good = fd >= 0 && has_no_writers(inode, fd);
	inode_fd_close(inode, fd);
	return !good;
}

/* ---- names ---- */

double cache_name_timeout(struct fs *fs, struct inode *dir, int fd,
			  const char *name)
{
	return cache_is_watched(fs) && watch_inode(fs, dir, fd) &&
			       names_keep(fs, dir, name) ?
		       CACHE_LONG_S :
		       fs->options.timeout_s;
}

/* A name that expires here does so after the rename, as that holds the lock of
 * dir. */
void cache_name_moves(struct fs *fs, struct inode *dir, int fd,
		      const char *name)
{
	if (fs->names && cache_name_timeout(fs, dir, fd, name) != CACHE_LONG_S)
		names_expire(fs, dir, name);
}

/* ---- pages ---- */

bool cache_keeps_pages(struct fs *fs, struct inode *inode,
		       const struct stat *st)
{
	struct open_seen now = {
		.size = st->st_size,
		.mtime_ns = timespec_to_ns(&st->st_mtim),
		.ctime_ns = timespec_to_ns(&st->st_ctim),
	};
	int64_t clock = clock_ns(CLOCK_REALTIME_COARSE);
	bool good;

	inode_lock(fs, inode);
	good = inode->seen.ctime_ns && now.size == inode->seen.size &&
	       now.mtime_ns == inode->seen.mtime_ns &&
	       now.ctime_ns == inode->seen.ctime_ns;
	if (clock - now.ctime_ns < CLOCK_GRAIN_NS)
		now.ctime_ns = 0;
	inode->seen = now;
	inode_unlock(fs, inode);
	return good;
}

void cache_forget_pages(struct fs *fs, struct inode *inode)
{
	inode_lock(fs, inode);
	inode->seen.ctime_ns = 0;
	inode_unlock(fs, inode);
}

/* ---- listings ---- */

void cache_count_lookup(const struct fs *fs, struct inode *dir)
{
	if (atomic_load(&dir->lookups_since_ns) < cache_recent_ns(fs)) {
		atomic_store(&dir->lookups, 0);
		atomic_store(&dir->lookups_since_ns, cache_clock_ns());
	}
	atomic_fetch_add(&dir->lookups, 1);
}

/* Whether the kernel has the attributes of most names: they were cached for long
 * when the listing was read, or it has looked them up recently. */
static bool has_most_attributes(const struct fs *fs, const struct inode *dir)
{
	unsigned half = atomic_load(&dir->listed) / 2;

	return atomic_load(&dir->listed_kept) > half ||
	       (atomic_load(&dir->lookups_since_ns) >= cache_recent_ns(fs) &&
		atomic_load(&dir->lookups) > half);
}

bool cache_keeps_listing(struct fs *fs, struct inode *inode,
			 const struct stat *st)
{
	struct open_seen *seen = &inode->seen;
	int64_t ctime_ns = timespec_to_ns(&st->st_ctim);
	int64_t now = clock_ns(CLOCK_REALTIME_COARSE);
	bool good;

	inode_lock(fs, inode);
	good = seen->ctime_ns == ctime_ns &&
	       seen->mtime_ns == timespec_to_ns(&st->st_mtim) &&
	       now >= seen->filled_ns;
	if (good &&
	    (double)(now - seen->filled_ns) >= fs->options.timeout_s * 1e9)
		/* A filesystem may count in whole seconds, and two changes
		 * within one have the same time then. */
		good = ctime_ns % 1000000000 != 0 &&
		       has_most_attributes(fs, inode);
	if (!good) {
		atomic_store(&inode->listed, 0);
		atomic_store(&inode->listed_kept, 0);
		seen->ctime_ns = now - ctime_ns < CLOCK_GRAIN_NS ? 0 : ctime_ns;
		seen->mtime_ns = timespec_to_ns(&st->st_mtim);
		seen->filled_ns = now;
	}
	inode_unlock(fs, inode);
	return good;
}

/* ---- life ---- */

int cache_open(struct fs *fs)
{
	struct watched *w;

	if (!fs->watch)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	fs->watched = w;
	return 0;
}

void cache_free(struct fs *fs)
{
	struct watched *w = fs->watched;

	if (!w)
		return;
	fs->watched = NULL;
	pthread_mutex_destroy(&w->lock);
	free(w);
}
