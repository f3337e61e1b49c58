/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/engine/engine.h"
#include "fs/fs.h"
#include "fs/inode/descriptor.h"

enum {
	PROBES = 3, /* on a busy machine a single one may tell nothing */
	/* Less than the time between two clock ticks. */
	BELOW_TICK_NS = 500000,
};

/* ---- the kind of timestamps ---- */

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
	int64_t first_ns, step_ns;
	struct stat st;
	int i;

	if (fstat(fd, &st))
		return METADATA_TIMES_UNKNOWN;
	for (i = 0; i < PROBES; i++) {
		if (move_ctime(fd, &st))
			return METADATA_TIMES_UNKNOWN;
		first_ns = timespec_to_ns(&st.st_ctim);
		if (move_ctime(fd, &st))
			return METADATA_TIMES_UNKNOWN;
		step_ns = timespec_to_ns(&st.st_ctim) - first_ns;
		if (step_ns == 0)
			return METADATA_TIMES_COARSE;
		if (step_ns > 0 && step_ns < BELOW_TICK_NS)
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

void metadata_change_begin(struct fs *fs, struct inode *inode,
			   struct metadata_change *out)
{
	struct stat st;
	int fd;

	*out = (struct metadata_change){ .fd = -1 };
	if (!fs->engine || !S_ISREG(inode->type) ||
	    atomic_load(&inode->writers) || (fd = inode_fd(fs, inode)) < 0)
		return;
	if (inode->dev == fs->device && !engine_doubts_times(fs->engine) &&
	    atomic_load(&fs->metadata_change_times) != METADATA_TIMES_COARSE)
		out->fd = fd_reopen(fd, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (out->fd >= 0 && lease_take(out->fd)) {
		close(out->fd);
		out->fd = -1;
	}
	if (!fstat(fd, &st)) {
		source_get_identity(&st, &out->before);
		inode_ref(inode);
		out->inode = inode;
	} else if (out->fd >= 0) {
		close(out->fd);
	}
	inode_fd_close(inode, fd);
}

/* Reads the identity; whether nothing but the ctime has changed. */
static bool only_ctime_moved(const struct metadata_change *t,
			     struct file_identity *after)
{
	struct stat st;

	if (fstat(t->fd, &st))
		return false;
	source_get_identity(&st, after);
	return after->size == t->before.size &&
	       after->mtime_ns == t->before.mtime_ns &&
	       after->ctime_ns != t->before.ctime_ns;
}

/* Reports the new identity to the engine if both conditions are met. */
static bool report_change(struct fs *fs, const struct metadata_change *t)
{
	struct file_identity after;
	struct file_key key;

	/* Read again, because is_fine() may have changed the ctime. */
	if (t->fd < 0 || !only_ctime_moved(t, &after) || !is_fine(fs, t->fd) ||
	    !only_ctime_moved(t, &after) || !lease_holds(t->fd) ||
	    notify_key(fs, t->inode, &key))
		return false;
	engine_metadata_changed(fs->engine, &key, &t->before, &after);
	return true;
}

void metadata_change_end(struct fs *fs, struct metadata_change *t)
{
	bool reported;
	int fd;

	if (!t->inode)
		return;
	reported = report_change(fs, t);
	if (t->fd >= 0)
		close(t->fd);
	/* Otherwise the file is hashed, if its identity is not known. */
	if (!reported && !atomic_load(&t->inode->writers) &&
	    (fd = inode_fd(fs, t->inode)) >= 0) {
		notify_closed(fs, t->inode, fd);
		inode_fd_close(t->inode, fd);
	}
	inode_unref(fs, t->inode);
}
