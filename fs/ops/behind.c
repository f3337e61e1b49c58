/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/notify.h"

#include <errno.h>
#include <jansson.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/engine/engine.h"
#include "core/watch/watch.h"
#include "fs/fs.h"
#include "fs/inode/inode.h"
#include "fs/inode/cache.h"
#include "fs/loop/loop.h"

enum { EXPIRE_MS = 20 };

/* Begins a new epoch before the kernel expires its names: a name that is looked
 * up in between is expired without need, which does no harm. */
static void expire_names(struct fs *fs)
{
	fs->names_due = false;
	fs->expired_ms = clock_now_ms();
	atomic_fetch_add(&fs->names_epoch, 1);
	protocol_expire_names(fs->session);
}

static void on_pause(void *ctx)
{
	struct fs *fs = ctx;
	int64_t at_ms = fs->expired_ms + EXPIRE_MS;

	if (fs->names_due && clock_now_ms() >= at_ms)
		expire_names(fs);
	else if (fs->names_due)
		watch_call_at(fs->watch, at_ms);
}

static void on_mounts_changed(void *ctx)
{
	struct fs *fs = ctx;

	if (fs->watched)
		fs->names_due = true;
}

/* ---- one file ---- */

static void forget_attributes(struct fs *fs, struct inode *inode)
{
	/* If the kernel does not know the inode, the reply to its first lookup
	 * may be on the way, so the name has to be expired. */
	if (cache_forget_kept(fs, inode) == -ENOENT)
		fs->names_due = true;
}

/*
 * Also called for changes through the mount that the kernel makes by itself
 * (passthrough).  Events of a file that is open for writing through the mount
 * are ignored: its attributes are not cached for long, and the engine gets a
 * report when it is closed.
 */
static bool file_event(struct fs *fs, const struct watch_event *event)
{
	struct inode *inode = NULL;
	bool wanted = true;

	while ((inode = cache_next_watched(fs, event->file, inode))) {
		if (atomic_load(&inode->writers) &&
		    atomic_load(&inode->kept) != KEPT_LONG) {
			wanted = false;
			continue;
		}
		if (event->what != WATCH_OPENED ||
		    cache_may_be_written(fs, inode))
			forget_attributes(fs, inode);
	}
	return wanted;
}

static bool on_event(void *ctx, const struct watch_event *event)
{
	struct fs *fs = ctx;
	struct inode *dir = NULL;

	if (!fs->watched)
		return true;
	if (event->directory && event->what & WATCH_NAME)
		while ((dir = cache_next_watched(fs, event->directory, dir))) {
			forget_attributes(fs, dir);
			if (atomic_load(&dir->names_epoch) ==
			    atomic_load(&fs->names_epoch))
				fs->names_due = true;
		}
	return !event->file || file_event(fs, event);
}

/* ---- all files ---- */

static void on_overrun(void *ctx)
{
	struct fs *fs = ctx;

	engine_rescan(fs->engine);
}

static void on_lost(void *ctx)
{
	struct fs *fs = ctx;

	if (fs->watched) {
		expire_names(fs);
		cache_each_kept(fs, forget_attributes);
	}
	on_overrun(fs);
}

/* ---- the engine ---- */

static bool file_changed(void *ctx, int fd, const struct stat *st)
{
	struct fs *fs = ctx;

	return engine_file_changed(fs->engine, fd, st);
}

static bool directory_changed(void *ctx, int fd, const struct stat *st)
{
	struct fs *fs = ctx;

	return engine_directory_changed(fs->engine, fd, st);
}

/* ---- life ---- */

void behind_open(struct fs *fs)
{
	const struct options *o = &fs->options;
	int err;

	if (o->no_watch)
		return;
	err = watch_open(fs->root->fd, &fs->watch);
	if (!err && !o->timeout_given)
		err = cache_open(fs);
	/* Ordinary users and some filesystems have no watch, which is no
	 * error. */
	if (err && err != -EPERM && err != -ENOTSUP)
		log_line("changes behind the mount are not watched: %s",
			 err_text(err));
}

int behind_start(struct fs *fs)
{
	const struct watch_context context = {
		.ctx = fs,
		.event = on_event,
		.lost = on_lost,
		.overrun = on_overrun,
		.mounts_changed = on_mounts_changed,
		.pause = on_pause,
		.file_changed = file_changed,
		.directory_changed = directory_changed,
	};

	return fs->watch ? watch_start(fs->watch, &context) : 0;
}

void behind_stop(struct fs *fs)
{
	if (fs->watch)
		watch_stop(fs->watch);
}

void behind_free(struct fs *fs)
{
	cache_free(fs);
	watch_free(fs->watch);
	fs->watch = NULL;
}

json_t *behind_status(const struct fs *fs)
{
	struct watch_counts counts;

	if (!fs->watch)
		return json_pack("{s:b}", "on", false);
	watch_get_counts(fs->watch, &counts);
	return json_pack("{s:b, s:b, s:b, s:I, s:I}", "on", true, "kept",
			 cache_is_watched(fs), "idle", watch_is_idle(fs->watch),
			 "events", (json_int_t)counts.events, "lost",
			 (json_int_t)counts.lost);
}
