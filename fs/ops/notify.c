/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "core/engine/engine.h"
#include "fs/fs.h"
#include "fs/loop/loop.h"
#include "fs/inode/descriptor.h"

/* How long catch_up() waits; the engine calls it again if needed. */
#define CATCH_UP_MS 20

/* ---- the callbacks for the engine ---- */

static int open_known(void *ctx, dev_t device, ino_t number)
{
	struct fs *fs = ctx;
	struct inode *inode = inode_find(fs, device, number);
	int own, fd;

	if (!inode)
		return -ENOENT;
	own = inode_fd(fs, inode);
	fd = own < 0 ? own : fcntl(own, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 && own >= 0)
		fd = -errno;
	inode_fd_close(inode, own);
	inode_unref(fs, inode);
	return fd;
}

/*
 * close() of a caller sends FLUSH and waits for its reply, then sends RELEASE
 * and does not wait.  So the caller may request the digests of the file while
 * RELEASE is still queued.  FLUSH does not show that the file is closed: it is
 * also sent when a duplicate of a descriptor is closed, and later writes may
 * pass through.  Only loop_caught_up() shows whether a RELEASE follows.
 */
static enum source_use get_use(void *ctx, dev_t device, ino_t number)
{
	struct fs *fs = ctx;
	struct inode *inode = inode_find(fs, device, number);
	enum source_use found = SOURCE_UNUSED;

	if (!inode)
		return found;
	if (atomic_load(&inode->writers))
		found = atomic_load(&inode->flushed) ? SOURCE_CLOSING :
						       SOURCE_WRITTEN;
	inode_unref(fs, inode);
	return found;
}

/* Each close() sends FLUSH first, so without one there is nothing to come. */
static bool catch_up(void *ctx)
{
	struct fs *fs = ctx;

	return !atomic_load(&fs->flushed) || loop_caught_up(fs, CATCH_UP_MS);
}

static bool had_requests(void *ctx)
{
	struct fs *fs = ctx;

	return atomic_load_explicit(&fs->had_requests, memory_order_relaxed) &&
	       atomic_exchange(&fs->had_requests, false);
}

static void write_log(void *ctx, const char *message)
{
	(void)ctx;
	log_warning("%s", message);
}

void notify_host(struct fs *fs, struct engine_options *options)
{
	options->host = (struct engine_host){
		.ctx = fs,
		.open_known = open_known,
		.use = get_use,
		.catch_up = catch_up,
		.had_requests = had_requests,
		.log = write_log,
	};
}

/* ---- reports to the engine ---- */

/* fd is any descriptor of the file. */
static void key_of_fd(struct fs *fs, struct inode *inode, int fd,
		      struct file_key *out)
{
	struct stat st = { .st_dev = inode->dev, .st_ino = inode->ino };

	if (atomic_load(&inode->key_known)) {
		*out = inode->key;
		return;
	}
	engine_file_key(fs->engine, fd, &st, out);
	inode_lock(fs, inode);
	if (!atomic_load(&inode->key_known)) {
		inode->key = *out;
		atomic_store(&inode->key_known, true);
	}
	inode_unlock(fs, inode);
}

int notify_key(struct fs *fs, struct inode *inode, struct file_key *out)
{
	bool known = atomic_load(&inode->key_known);
	int fd = known ? -1 : inode_fd(fs, inode);

	if (fd < 0 && !known)
		return fd;
	key_of_fd(fs, inode, fd, out);
	inode_fd_close(inode, fd);
	return 0;
}

/* Also sets reported_ns, so that a later lookup does not report the change
 * again. */
void notify_closed(struct fs *fs, struct inode *inode, int fd)
{
	struct file_identity identity;
	struct file_key key;
	struct stat st;

	if (!fs->engine || !S_ISREG(inode->type) || fstat(fd, &st))
		return;
	key_of_fd(fs, inode, fd, &key);
	source_get_identity(&st, &identity);
	atomic_store(&inode->reported_ns, timespec_to_ns(&st.st_ctim));
	engine_file_closed(fs->engine, &key, &identity);
}

/*
 * At the first lookup of a file, the scan has most likely found its present
 * state; the engine checks that in the background.  If the ctime differs at a
 * later lookup, the file has changed.
 */
void notify_looked_up(struct fs *fs, struct inode *inode, const struct stat *st)
{
	int64_t ctime_ns = timespec_to_ns(&st->st_ctim), before;
	int fd;

	if (!fs->engine || !S_ISREG(st->st_mode) ||
	    atomic_load(&inode->writers))
		return;
	before = atomic_exchange(&inode->reported_ns, ctime_ns);
	if (before == ctime_ns)
		return;
	if (!before) {
		if (!engine_file_seen(fs->engine, st))
			atomic_store(&inode->reported_ns, 0);
	} else if ((fd = inode_fd(fs, inode)) >= 0) {
		notify_closed(fs, inode, fd);
		inode_fd_close(inode, fd);
	}
}

void notify_opened(struct fs *fs, struct inode *inode, int fd)
{
	struct file_identity identity;
	struct file_key key;
	struct stat st;

	if (!fs->engine || !S_ISREG(inode->type) ||
	    (inode->dev == fs->device && !engine_doubts_times(fs->engine)) ||
	    fstat(fd, &st))
		return;
	key_of_fd(fs, inode, fd, &key);
	source_get_identity(&st, &identity);
	engine_file_opened(fs->engine, &key, &identity);
}

void notify_flushed(struct fs *fs, struct inode *inode, int fd)
{
	atomic_store(&inode->flushed, true);
	notify_closed(fs, inode, fd);
}

void notify_lost(struct fs *fs)
{
	if (fs->engine)
		engine_rescan(fs->engine);
}

/* Gets the key; false: it cannot be read.  The tree is scanned then, unless the
 * file is gone. */
static bool get_key(struct fs *fs, struct inode *inode, struct file_key *out)
{
	int err = notify_key(fs, inode, out);

	if (err && err != -ENOENT && err != -ESTALE)
		notify_lost(fs);
	return !err;
}

void notify_added(struct fs *fs, struct inode *parent, const char *name,
		  struct inode *child)
{
	struct file_key parent_key, key;

	if (fs->engine && get_key(fs, parent, &parent_key) &&
	    get_key(fs, child, &key))
		engine_name_added(fs->engine, &parent_key, name, &key,
				  S_ISDIR(child->type));
}

void notify_removed(struct fs *fs, struct inode *parent, const char *name)
{
	struct file_key key;

	if (fs->engine && get_key(fs, parent, &key))
		engine_name_removed(fs->engine, &key, name);
}

void notify_moved(struct fs *fs, const struct moved *m)
{
	struct file_key parent, new_parent, key;
	struct engine_move move = {
		.parent = &parent,
		.new_parent = &new_parent,
		.name = m->name,
		.new_name = m->new_name,
		.exchange = m->exchange,
	};

	if (!fs->engine || !get_key(fs, m->parent, &parent) ||
	    !get_key(fs, m->new_parent, &new_parent))
		return;
	if (m->child && !notify_key(fs, m->child, &key)) {
		move.key = &key;
		move.directory = S_ISDIR(m->child->type);
	}
	engine_name_moved(fs->engine, &move);
}
