/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/inode_number.h"
#include "fs/inode/cache.h"
#include "fs/fs.h"
#include "fs/inode/inode.h"
#include "fs/ops/notify.h"

#define DEVICES_MAX 0x7fff /* bits 48..62 */

/* ---- numbers ---- */

/* The devices below SOURCE, in the order in which they were found.  Static,
 * because a process has one mount. */
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static dev_t devices[DEVICES_MAX];
static atomic_uint device_count;

static unsigned device_search(dev_t dev, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (devices[i] == dev)
			return i + 1;
	return 0;
}

/* The number of the device, from 1 on. */
static unsigned device_ordinal(dev_t dev)
{
	unsigned ordinal = device_search(dev, atomic_load(&device_count));
	unsigned count;

	if (ordinal)
		return ordinal;
	pthread_mutex_lock(&device_lock);
	count = atomic_load(&device_count);
	ordinal = device_search(dev, count);
	if (!ordinal && count < DEVICES_MAX) {
		devices[count] = dev;
		atomic_store(&device_count, count + 1);
		ordinal = count + 1;
	}
	pthread_mutex_unlock(&device_lock);
	return ordinal ? ordinal : DEVICES_MAX;
}

uint64_t lookup_number(struct fs *fs, dev_t dev, ino_t ino)
{
	if (dev == fs->device)
		return ino & INT64_MAX;
	return inode_number_fold(ino) | (uint64_t)device_ordinal(dev)
						<< INODE_NUMBER_SHIFT;
}

/* ---- attributes ---- */

static void fill_entry(struct fs *fs, struct inode *inode,
		       const struct stat *st, double attr_timeout,
		       struct fuse_entry_param *out)
{
	notify_looked_up(fs, inode, st);
	memset(out, 0, sizeof(*out));
	out->ino = node_of(fs, inode);
	out->generation = inode->generation;
	out->attr = *st;
	out->attr.st_ino = lookup_number(fs, st->st_dev, st->st_ino);
	out->attr_timeout = attr_timeout;
	out->entry_timeout = fs->options.timeout_s;
}

void lookup_fill_entry(struct fs *fs, struct inode *inode,
		       const struct stat *st, struct fuse_entry_param *out)
{
	fill_entry(fs, inode, st, cache_short_timeout(fs, inode, st), out);
}

/* ---- a name ---- */

int lookup_find(struct fs *fs, struct inode *parent, int parent_fd,
		const char *name, struct stat *st, struct inode **inode_out)
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

int lookup_name(struct fs *fs, struct inode *parent, int parent_fd,
		const char *name, bool known, struct fuse_entry_param *out)
{
	double timeout = cache_name_timeout(fs, parent, parent_fd, name);
	struct inode *inode = NULL;
	struct stat st;
	bool is_new;
	int err = 0;

	/* One system call, instead of two and a close, if the inode has a
	 * descriptor: then its number cannot have been reused. */
	if (known && fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		err = -errno;
	else if (known)
		inode = inode_find(fs, st.st_dev, st.st_ino);
	if (inode && inode->fd < 0) {
		inode_unref(fs, inode);
		inode = NULL;
	}
	if (!inode && !err)
		err = lookup_find(fs, parent, parent_fd, name, &st, &inode);
	if (err) {
		*out = (struct fuse_entry_param){ .entry_timeout = timeout };
		return err;
	}
	assert(inode);
	/* A program that walks a tree for the first time looks up one unknown
	 * file after the other. */
	is_new = inode->fd < 0 || atomic_load(&inode->refs) == 1;
	if (atomic_load(&parent->new_names) != is_new)
		atomic_store(&parent->new_names, is_new);
	fill_entry(fs, inode, &st, cache_attr_timeout(fs, inode, &st), out);
	out->entry_timeout = timeout;
	atomic_store(&inode->notified_ns, cache_clock_ns());
	return 0;
}

void lookup_reply_entry(fuse_req_t req, struct fs *fs,
			const struct fuse_entry_param *e)
{
	struct inode *inode = inode_of(fs, e->ino);

	/* ENOENT: the request was interrupted and the entry is lost. */
	if (fuse_reply_entry(req, e) == -ENOENT && e->ino) {
		atomic_store(&inode->attr_sent, false);
		inode_unref(fs, inode);
	}
}
