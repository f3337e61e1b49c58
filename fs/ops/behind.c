/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/array.h"
#include "core/base/err.h"
#include "core/base/text.h"
#include "core/engine/engine.h"
#include "core/watch/watch.h"
#include "fs/fs.h"
#include "fs/inode/inode.h"
#include "fs/inode/cache.h"

/* ---- filesystems that are mounted below SOURCE ---- */

static void points_release(struct mount_points *p)
{
	while (p->count)
		free((char *)(uintptr_t)p->paths[--p->count]);
	free(p->paths);
	*p = (struct mount_points){ 0 };
}

/* Adds the mount point of a line of mountinfo: ID PARENT MAJOR:MINOR ROOT POINT
 * ..., if it is below SOURCE. */
static void add_point(const struct fs *fs, const char *line,
		      struct mount_points *p)
{
	size_t len = strcmp(fs->source, "/") ? strlen(fs->source) : 0;
	char *point = NULL;

	if (sscanf(line, "%*s %*s %*s %*s %ms", &point) != 1)
		return;
	text_unescape_octal(point);
	if (!strncmp(point, fs->source, len) && point[len] == '/' &&
	    point[len + 1])
		(void)array_add_string(&p->paths, &p->count,
				       strdup(point + len + 1));
	free(point);
}

static void read_points(const struct fs *fs, struct mount_points *out)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t capacity = 0;
	char *line = NULL;

	while (f && getline(&line, &capacity, f) > 0)
		add_point(fs, line, out);
	free(line);
	if (f)
		(void)fclose(f);
}

/* The name of a mount point leads to another file from now on, or may do so. */
static void expire_points(struct fs *fs, const struct mount_points *p)
{
	for (size_t i = 0; i < p->count; i++) {
		char *path = strdup(p->paths[i]), *slash;
		struct inode *dir = NULL;
		struct stat st;

		slash = path ? strrchr(path, '/') : NULL;
		if (slash)
			*slash = '\0';
		if (path && !fstatat(fs->root->fd, slash ? path : "", &st,
				     AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
			dir = inode_find(fs, st.st_dev, st.st_ino);
		if (dir) {
			names_expire(fs, dir, slash ? slash + 1 : path);
			inode_unref(fs, dir);
		}
		free(path);
	}
}

static void on_mounts_changed(void *ctx)
{
	struct mount_points now = { 0 };
	struct fs *fs = ctx;

	if (!fs->names)
		return;
	read_points(fs, &now);
	expire_points(fs, &fs->points);
	expire_points(fs, &now);
	points_release(&fs->points);
	fs->points = now;
}

/* ---- one file ---- */

static void forget_attributes(struct fs *fs, struct inode *inode)
{
	/* -ENOENT: the reply to its first lookup may be on the way, and is not
	 * cached for long, see fs/inode/cache.h. */
	(void)cache_forget_kept(fs, inode);
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

	if (!fs->names)
		return true;
	if (event->directory && event->name && event->what & WATCH_NAME)
		while ((dir = cache_next_watched(fs, event->directory, dir))) {
			forget_attributes(fs, dir);
			names_expire(fs, dir, event->name);
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

	if (fs->names) {
		names_expire_all(fs);
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
		.file_changed = file_changed,
		.directory_changed = directory_changed,
	};

	int err = fs->watched ? names_start(fs) : 0;

	if (fs->names)
		read_points(fs, &fs->points);
	return !err && fs->watch ? watch_start(fs->watch, &context) : err;
}

void behind_stop(struct fs *fs)
{
	if (fs->watch)
		watch_stop(fs->watch);
}

void behind_free(struct fs *fs)
{
	points_release(&fs->points);
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
