/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/metadata_change.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/lease.h"
#include "core/engine/engine.h"
#include "fs/fs.h"
#include "fs/ops/notify.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/reopen.h"

enum {
	PROBES = 3, /* on a busy machine a single one may tell nothing */
	/* Less than the time between two clock ticks. */
	BELOW_TICK_NS = 500000,
};

/* ---- the kind of timestamps ---- */

static int64_t ctime_of(const struct stat *st)
{
	return timespec_to_ns(&st->st_ctim);
}

/* Changes the ctime, as chmod() would, and reads it. */
static int move_ctime(int fd, struct stat *st)
{
	struct timespec times[2] = { st->st_atim, { .tv_nsec = UTIME_OMIT } };

	return futimens(fd, times) || fstat(fd, st) ? -errno : 0;
}

/* Changes the ctime of the file several times.  Its metadata has just changed
 * anyway, so nobody can notice. */
static enum metadata_change_times probe_times(int fd)
{
	struct stat first, second;
	int i;

	if (fstat(fd, &second))
		return METADATA_TIMES_UNKNOWN;
	for (i = 0; i < PROBES; i++) {
		first = second;
		if (move_ctime(fd, &first))
			return METADATA_TIMES_UNKNOWN;
		second = first;
		if (move_ctime(fd, &second))
			return METADATA_TIMES_UNKNOWN;
		if (ctime_of(&second) == ctime_of(&first))
			return METADATA_TIMES_COARSE;
		if (ctime_of(&second) > ctime_of(&first) &&
		    ctime_of(&second) - ctime_of(&first) < BELOW_TICK_NS)
			return METADATA_TIMES_FINE;
	}
	return METADATA_TIMES_UNKNOWN;
}

static bool is_fine(struct fs *fs, int fd)
{
	int times = atomic_load(&fs->metadata_change_times);

	if (times == METADATA_TIMES_UNKNOWN) {
		times = (int)probe_times(fd);
		atomic_store(&fs->metadata_change_times, times);
	}
	return times == METADATA_TIMES_FINE;
}

/* ---- around the operation ---- */

static int open_leased(struct fs *fs, const struct inode *inode, int path_fd)
{
	int fd;

	if (inode->dev != fs->device || engine_doubts_times(fs->engine) ||
	    atomic_load(&fs->metadata_change_times) == METADATA_TIMES_COARSE)
		return -1;
	fd = fd_reopen(path_fd, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && lease_take(fd)) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? -1 : fd;
}

void metadata_change_begin(struct fs *fs, struct inode *inode,
			   struct metadata_change *out)
{
	struct path_fd path;
	struct stat st;

	*out = (struct metadata_change){ .fd = -1 };
	if (!fs->engine || !S_ISREG(inode->type) ||
	    atomic_load(&inode->writers) || inode_path_fd(fs, inode, &path))
		return;
	out->fd = open_leased(fs, inode, path.fd);
	if (!fstat(path.fd, &st)) {
		source_get_identity(&st, &out->before);
		inode_ref(inode);
		out->inode = inode;
	} else if (out->fd >= 0) {
		close(out->fd);
	}
	path_fd_close(&path);
}

static bool only_ctime_moved(const struct file_identity *before,
			     const struct file_identity *after)
{
	return after->size == before->size &&
	       after->mtime_ns == before->mtime_ns &&
	       after->ctime_ns != before->ctime_ns;
}

static bool read_identity(int fd, struct file_identity *out)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	source_get_identity(&st, out);
	return true;
}

/* Reports the new identity to the engine if both conditions are met. */
static bool report_change(struct fs *fs, const struct metadata_change *t)
{
	struct file_identity after;
	struct file_key key;

	if (t->fd < 0 || !read_identity(t->fd, &after) ||
	    !only_ctime_moved(&t->before, &after) || !is_fine(fs, t->fd))
		return false;
	/* Read again, because is_fine() may have changed the ctime. */
	if (!read_identity(t->fd, &after) ||
	    !only_ctime_moved(&t->before, &after) || !lease_holds(t->fd) ||
	    notify_key(fs, t->inode, &key))
		return false;
	engine_metadata_changed(fs->engine, &key, &t->before, &after);
	return true;
}

/* Has the engine hash the file if its identity is not known. */
static void report_closed(struct fs *fs, const struct metadata_change *t)
{
	struct path_fd path;

	if (atomic_load(&t->inode->writers) ||
	    inode_path_fd(fs, t->inode, &path))
		return;
	notify_closed(fs, t->inode, path.fd);
	path_fd_close(&path);
}

void metadata_change_end(struct fs *fs, struct metadata_change *t)
{
	bool reported;

	if (!t->inode)
		return;
	reported = report_change(fs, t);
	if (t->fd >= 0)
		close(t->fd);
	if (!reported)
		report_closed(fs, t);
	inode_unref(fs, t->inode);
}
