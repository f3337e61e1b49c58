/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/inode.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/fs.h"
#include "fs/inode/descriptor.h"

#define SHARDS 64
#define BUCKETS 4096 /* of a shard; with a million inodes, 4 are in each */
#define TRIM_FREED 65536
#define RESERVED 65536 /* descriptors; half a megabyte in the kernel */

struct shard {
	pthread_mutex_t lock;
	struct inode *buckets[BUCKETS];
	struct inode *replaced; /* still referenced, see is_replaced() */
};

struct inode_table {
	struct shard shards[SHARDS];
	atomic_uint held; /* descriptors kept by inodes */
	unsigned bound;   /* of held */
	atomic_bool bare; /* an inode without a descriptor was made */
	_Atomic uint64_t generation;
	atomic_uint freed; /* number of freed inodes, see inode_free() */
	void (*released)(struct fs *fs, struct inode *inode);
};

/* ---- hashing ---- */

static uint64_t key_hash(dev_t dev, ino_t ino)
{
	uint64_t h = (uint64_t)ino + (uint64_t)dev * 0x9e3779b97f4a7c15u;

	/* The finalizer of SplitMix64. */
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
	h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
	return h ^ (h >> 31);
}

static struct shard *shard_of(struct fs *fs, dev_t dev, ino_t ino)
{
	return &fs->inodes->shards[key_hash(dev, ino) % SHARDS];
}

static struct inode **bucket_of(struct shard *s, dev_t dev, ino_t ino)
{
	return &s->buckets[key_hash(dev, ino) / SHARDS % BUCKETS];
}

static struct inode *shard_find(struct shard *s, dev_t dev, ino_t ino)
{
	struct inode *inode = *bucket_of(s, dev, ino);

	while (inode && (inode->ino != ino || inode->dev != dev))
		inode = inode->next;
	return inode;
}

static bool chain_remove(struct inode **link, const struct inode *inode)
{
	while (*link && *link != inode)
		link = &(*link)->next;
	if (!*link)
		return false;
	*link = inode->next;
	return true;
}

static void shard_remove(struct shard *s, struct inode *inode)
{
	if (!chain_remove(bucket_of(s, inode->dev, inode->ino), inode))
		(void)chain_remove(&s->replaced, inode);
}

/* ---- references ---- */

/* Returns the parent of an inode that is opened by name; the caller drops that
 * reference. */
static struct inode *inode_free(struct fs *fs, struct inode *inode)
{
	struct inode *parent = reopen_free(fs->reopener, inode->reopen);

	fs->inodes->released(fs, inode);
	if (inode->fd >= 0) {
		close(inode->fd);
		atomic_fetch_sub(&fs->inodes->held, 1);
	}
	free(inode);
	/* The C library would keep the memory; but when the kernel forgets very
	 * many files, memory is short. */
	if (atomic_fetch_add(&fs->inodes->freed, 1) % TRIM_FREED ==
	    TRIM_FREED - 1)
		(void)malloc_trim(0);
	return parent;
}

/* Drops references; true: they were the last ones, and the inode has left the
 * table. */
static bool inode_drop(struct fs *fs, struct inode *inode, uint64_t count)
{
	struct shard *s = shard_of(fs, inode->dev, inode->ino);
	uint64_t refs = atomic_load(&inode->refs);
	bool last;

	while (refs > count)
		if (atomic_compare_exchange_weak(&inode->refs, &refs,
						 refs - count))
			return false;
	pthread_mutex_lock(&s->lock);
	refs = atomic_fetch_sub(&inode->refs, count);
	assert(refs >= count);
	last = refs == count;
	if (last)
		shard_remove(s, inode);
	pthread_mutex_unlock(&s->lock);
	return last;
}

void inode_forget(struct fs *fs, struct inode *inode, uint64_t count)
{
	while (inode && inode_drop(fs, inode, count)) {
		inode = inode_free(fs, inode);
		count = 1;
	}
}

void inode_unref(struct fs *fs, struct inode *inode)
{
	inode_forget(fs, inode, 1);
}

void inode_lock(struct fs *fs, struct inode *inode)
{
	pthread_mutex_lock(&shard_of(fs, inode->dev, inode->ino)->lock);
}

void inode_unlock(struct fs *fs, struct inode *inode)
{
	pthread_mutex_unlock(&shard_of(fs, inode->dev, inode->ino)->lock);
}

/* ---- finding ---- */

struct inode *inode_find(struct fs *fs, dev_t dev, ino_t ino)
{
	struct shard *s = shard_of(fs, dev, ino);
	struct inode *inode;

	pthread_mutex_lock(&s->lock);
	inode = shard_find(s, dev, ino);
	if (inode)
		inode_ref(inode);
	pthread_mutex_unlock(&s->lock);
	return inode;
}

int64_t inode_notified_ns(struct fs *fs, dev_t dev, ino_t ino)
{
	struct shard *s = shard_of(fs, dev, ino);
	struct inode *inode;
	int64_t notified_ns;

	pthread_mutex_lock(&s->lock);
	inode = shard_find(s, dev, ino);
	if (!inode)
		notified_ns = -1;
	else if (atomic_load(&inode->kept) == KEPT_LONG)
		notified_ns = INT64_MAX;
	else
		notified_ns = atomic_load(&inode->notified_ns);
	pthread_mutex_unlock(&s->lock);
	return notified_ns;
}

/* Counts one more descriptor; false: the bound is reached. */
static bool held_take(struct inode_table *t, mode_t mode)
{
	unsigned bound = S_ISDIR(mode) ? t->bound : t->bound / 4 * 3;
	unsigned held = atomic_load(&t->held);

	while (held < bound)
		if (atomic_compare_exchange_weak(&t->held, &held, held + 1))
			return true;
	return false;
}

static int inode_new(struct fs *fs, const struct found *found,
		     struct file_handle_copy *handle, struct inode **inode_out)
{
	struct inode_table *t = fs->inodes;
	struct inode *inode = calloc(1, sizeof(*inode));
	int err = 0;

	if (!inode)
		return -ENOMEM;
	inode->dev = found->st->st_dev;
	inode->ino = found->st->st_ino;
	inode->type = found->st->st_mode & S_IFMT;
	inode->generation = atomic_fetch_add(&t->generation, 1) + 1;
	atomic_init(&inode->refs, 1);
	if (found->fresh) /* it is hashed when it is closed */
		atomic_init(&inode->reported_ns,
			    timespec_to_ns(&found->st->st_ctim));
	inode->fd = -1;
	if (held_take(t, found->st->st_mode)) {
		inode->fd = found->fd;
	} else {
		atomic_store(&t->bare, true);
		if (!handle->read)
			file_handle_read(found->fd, handle);
		err = reopen_new(fs->reopener, found, handle, &inode->reopen);
	}
	if (err) {
		free(inode);
		return err;
	}
	*inode_out = inode;
	return 0;
}

/*
 * Whether the inode is one of another file, whose number the found file has
 * reused.  If the handle was not read, every inode had a descriptor when
 * found->fd was opened, so no number was reused.
 */
static bool is_replaced(const struct inode *inode, const struct found *found,
			const struct file_handle_copy *handle)
{
	if (inode->fd >= 0 || !handle->read)
		return false;
	return inode->type != (found->st->st_mode & S_IFMT) ||
	       !reopen_same_handle(inode->reopen, handle);
}

/* Finds the inode or inserts candidate (NULL: only finds).  Takes a
 * reference. */
static struct inode *find_or_add(struct fs *fs, const struct found *found,
				 const struct file_handle_copy *handle,
				 struct inode *candidate)
{
	dev_t dev = found->st->st_dev;
	ino_t ino = found->st->st_ino;
	struct shard *s = shard_of(fs, dev, ino);
	struct inode *inode, **bucket;

	pthread_mutex_lock(&s->lock);
	inode = shard_find(s, dev, ino);
	if (inode && is_replaced(inode, found, handle)) {
		/* Another file has its number: it is no longer found. */
		shard_remove(s, inode);
		inode->next = s->replaced;
		s->replaced = inode;
		inode = NULL;
	}
	if (inode) {
		inode_ref(inode);
	} else if (candidate) {
		bucket = bucket_of(s, dev, ino);
		candidate->next = *bucket;
		*bucket = candidate;
		inode = candidate;
	}
	pthread_mutex_unlock(&s->lock);
	return inode;
}

int inode_enter(struct fs *fs, const struct found *found,
		struct inode **inode_out)
{
	struct file_handle_copy handle = { .read = false };
	struct inode *inode, *former, *fresh = NULL;
	int err = 0;

	if (atomic_load(&fs->inodes->bare))
		file_handle_read(found->fd, &handle);
	inode = find_or_add(fs, found, &handle, NULL);
	if (!inode) {
		err = inode_new(fs, found, &handle, &fresh);
		if (!err)
			inode = find_or_add(fs, found, &handle, fresh);
	}
	if (fresh && inode != fresh) { /* another thread was faster */
		if (fresh->fd >= 0)
			atomic_fetch_sub(&fs->inodes->held, 1);
		fresh->fd = -1; /* closed below */
		former = inode_free(fs, fresh);
		if (former)
			inode_unref(fs, former);
	}
	if (err || inode->fd != found->fd)
		close(found->fd);
	if (err)
		return err;
	former = reopen_named(fs->reopener, inode, found->parent, found->name);
	if (former)
		inode_unref(fs, former);
	*inode_out = inode;
	return 0;
}

/* ---- the table ---- */

static void table_free(struct fs *fs)
{
	struct inode_table *t = fs->inodes;

	reopener_free(fs->reopener);
	fs->reopener = NULL;
	for (size_t i = 0; i < SHARDS; i++)
		pthread_mutex_destroy(&t->shards[i].lock);
	free(t);
	fs->inodes = NULL;
}

int inodes_open(struct fs *fs, int source_fd,
		void (*released)(struct fs *fs, struct inode *inode))
{
	struct inode_table *t = calloc(1, sizeof(*t));
	struct found found = { .fd = source_fd, .parent_fd = -1 };
	unsigned limit;
	struct stat st;
	int err;

	if (!t)
		return -ENOMEM;
	t->released = released;
	fs->inodes = t;
	limit = descriptors_raise();
	t->bound = limit / 2;
	shares_open(limit, fs->own.uid);
	descriptors_reserve(source_fd, limit < RESERVED ? limit : RESERVED);
	for (size_t i = 0; i < SHARDS; i++)
		pthread_mutex_init(&t->shards[i].lock, NULL);
	err = fstat(source_fd, &st) == 0 ? 0 : -errno;
	fs->device = st.st_dev;
	found.st = &st;
	if (!err)
		err = reopener_new(source_fd, &fs->reopener);
	if (!err)
		err = inode_enter(fs, &found, &fs->root);
	if (err)
		table_free(fs);
	return err;
}

static void chain_free(struct fs *fs, struct inode *inode)
{
	struct inode *next;
	struct handle *h;

	for (; inode; inode = next) {
		next = inode->next;
		/* Files that were open when a signal ended the daemon. */
		while ((h = LIST_FIRST(&inode->handles))) {
			LIST_REMOVE(h, entry);
			if (h->fd >= 0)
				close(h->fd);
			free(h->stream);
			free(h);
		}
		(void)inode_free(fs, inode);
	}
}

void inodes_free(struct fs *fs)
{
	struct inode_table *t = fs->inodes;

	if (!t)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		const struct shard *s = &t->shards[i];

		for (size_t j = 0; j < BUCKETS; j++)
			chain_free(fs, s->buckets[j]);
		chain_free(fs, s->replaced);
	}
	table_free(fs);
	fs->root = NULL;
}
