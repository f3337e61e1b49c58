/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <fuse_opt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/logger.h"
#include "core/base/text.h"
#include "core/engine/engine.h"
#include "core/extract/client.h"
#include "fs/inode/backing.h"
#include "fs/inode/cache.h"
#include "fs/inode/cred.h"
#include "fs/loop/loop.h"
#include "fs/ops/notify.h"
#include "fs/ops/ops.h"
#include "fs/similar/similar.h"
#include "fs/inode/descriptor.h"

/* ---- the signals that end the daemon ---- */

/* Blocks these signals, so that only the thread that waits for the end of the
 * session gets them.  All other threads inherit the mask. */
static void block_ending_signals(sigset_t *ending_out, sigset_t *before_out)
{
	sigemptyset(ending_out);
	sigaddset(ending_out, SIGTERM);
	sigaddset(ending_out, SIGINT);
	sigaddset(ending_out, SIGHUP);
	pthread_sigmask(SIG_BLOCK, ending_out, before_out);
}

/* ---- the engine ---- */

/* A daemon that was unmounted a moment ago may still commit, with the catalog
 * locked. */
enum { BUSY_WAIT_S = 10, BUSY_LOOK_MS = 20 };

static int report_engine_error(int err, const char *catalog_dir)
{
	struct buf holder = { .data = NULL };
	pid_t pid;

	if (err != -EBUSY)
		log_line("catalog '%s': %s", catalog_dir, err_text(err));
	else if (!catalog_holder(catalog_dir, &pid, &holder) && holder.len)
		log_line("catalog '%s' is in use by another kinfs (process %d, "
			 "%s); unmount that one, or use another place with -o "
			 "db=DIR",
			 catalog_dir, (int)pid, holder.data);
	else
		log_line("catalog '%s' is in use by another kinfs; unmount "
			 "that one, or use another place with -o db=DIR",
			 catalog_dir);
	buf_release(&holder);
	return err;
}

/* Waits while another process has locked the catalog.  -EINTR: ended by a
 * signal. */
static int open_engine(struct fs *fs, const char *catalog_dir,
		       const sigset_t *ending)
{
	const struct timespec pause = { .tv_nsec = BUSY_LOOK_MS * 1000000L };
	int64_t end_ms = clock_now_ms() + BUSY_WAIT_S * 1000;
	const struct options *o = &fs->options;
	struct engine_options e = {
		.source_fd = fs->root->fd,
		.source = fs->source,
		.catalog_dir = catalog_dir,
		.digest_set = o->kept_digests,
		.workers = o->workers,
		.rate = o->rate_mb * 1000000,
		.min_size = o->min_size,
		.max_size = o->max_size,
		.excludes = o->excludes,
		.exclude_count = o->exclude_count,
		.cross = o->cross,
		.threshold = o->threshold,
		.share_min = o->share_min,
		.limit = o->limit,
		.no_wait = !o->wait_s,
	};
	struct buf holder = { .data = NULL };
	int err = buf_append_format(&holder, "mounted on '%s'", fs->mountpoint);

	/* Before there are threads, and before privileges are given up. */
	if (!err && !o->no_text && !fs->texts)
		e.texts_missing = extract_open(NULL, &fs->texts) != 0;
	if (fs->texts && o->no_pictures)
		extract_refuse_pictures(fs->texts);
	e.texts = fs->texts;
	e.text_version = EXTRACT_VERSION;
	e.pictures = !o->no_pictures;
	e.holder = holder.data;
	notify_host(fs, &e);
	if (!err)
		err = engine_open(&e, &fs->engine);
	while (err == -EBUSY && clock_now_ms() < end_ms)
		err = sigtimedwait(ending, NULL, &pause) > 0 ?
			      -EINTR :
			      engine_open(&e, &fs->engine);
	buf_release(&holder);
	return err ? report_engine_error(err, catalog_dir) : 0;
}

/* ---- the session ---- */

static void log_from_libfuse(enum fuse_log_level level, const char *format,
			     va_list args)
{
	/* Its levels are the priorities of syslog(3). */
	log_line_v((int)level, format, args);
}

static int session_open(struct fs *fs)
{
	struct options *o = &fs->options;
	struct fuse_args args = {
		.argc = o->fuse_argc,
		.argv = o->fuse_argv,
		.allocated = 1,
	};
	char *list = NULL, *name = NULL;
	int r = 0;

	if (!o->fsname_given) {
		if (asprintf(&name, "fsname=%s", fs->source) < 0)
			return -ENOMEM;
		r |= fuse_opt_add_opt_escaped(&list, name);
		free(name);
	}
	r |= fuse_opt_add_opt(&list, "subtype=kinfs");
	r |= fuse_opt_add_opt(&list, "default_permissions");
	if (o->debug)
		r |= fuse_opt_add_opt(&list, "debug");
	if (!r)
		r = fuse_opt_insert_arg(&args, 1, "-o") |
		    fuse_opt_insert_arg(&args, 2, list);
	free(list);
	if (!r)
		fs->session = fuse_session_new(&args, &ops_table,
					       sizeof(ops_table), fs);
	o->fuse_argc = args.argc;
	o->fuse_argv = args.argv;
	return r ? -ENOMEM : fs->session ? 0 : -EINVAL; /* which is logged */
}

/* ---- serving ---- */

static int start_engine(struct fs *fs)
{
	int err = mapped_open(fs);

	if (!err)
		err = loop_open(fs);
	if (!err)
		err = engine_start(fs->engine);
	if (!err)
		err = behind_start(fs);
	if (err)
		log_line("cannot start hashing: %s", err_text(err));
	return err;
}

/*
 * Looks for a mount of the filesystem in /proc/self/mountinfo.  Its lines begin
 * with ID PARENT MAJOR:MINOR ROOT POINT.  The first call sets the device, that of
 * the last line with the mount point; false: not found.
 */
static bool find_mount(struct fs *fs)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *point = NULL, device[sizeof(fs->mounted_device)];
	bool known = *fs->mounted_device, found = false;
	size_t capacity = 0;

	while (f && getline(&line, &capacity, f) > 0) {
		if (sscanf(line, "%*s %*s %31s %*s %ms", device, &point) != 2)
			continue;
		text_unescape_octal(point);
		if (!known && !strcmp(point, fs->mountpoint))
			memcpy(fs->mounted_device, device, sizeof(device));
		found |= !strcmp(device, fs->mounted_device);
		free(point);
	}
	free(line);
	if (f)
		(void)fclose(f);
	return found;
}

/*
 * After "umount -l" the mount exists until its last file is closed, and the kernel
 * does not tell the daemon.  A process that waits for an answer may be one of those
 * that keep it, so nothing waits from then on.
 */
static void on_mounts_changed(struct fs *fs)
{
	if (!*fs->mounted_device || find_mount(fs))
		return;
	*fs->mounted_device = '\0';
	similar_stop(fs);
	engine_end_waits(fs->engine);
}

static int serve_mounted(struct fs *fs)
{
	int mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC), r;
	sigset_t ending, before;

	(void)find_mount(fs);

	sandbox_enter(fs);
	r = protocol_open(fs->session);
	block_ending_signals(&ending, &before);
	if (!r)
		r = start_engine(fs);
	if (!r)
		r = loop_run(fs, &before, mounts, on_mounts_changed);
	if (mounts >= 0)
		close(mounts);
	/* The kernel says this to a thread that was just taking a request when
	 * the filesystem was unmounted. */
	if (r == -ECONNABORTED)
		r = 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		log_line("'%s': %s", fs->mountpoint, err_text(r));
	else if (!atomic_load(&fs->ready))
		log_line("'%s': the kernel did not accept the mount",
			 fs->mountpoint);
	return r < 0 || !atomic_load(&fs->ready) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Answers all parked requests, while the session still exists. */
static void stop_parts(struct fs *fs)
{
	similar_stop(fs);
	behind_stop(fs);
	names_stop(fs);
	mapped_stop(fs);
	engine_free(fs->engine);
	fs->engine = NULL;
	extract_free(fs->texts);
	fs->texts = NULL;
	loop_free(fs);
}

/* Lazily, as the daemon no longer answers. */
static void unmount(struct fs *fs)
{
	bool attached = sandbox_is_attached(fs);
	int ends[2];

	/* What fuse_session_unmount() finds in the place of the device says that
	 * the mount is gone.  For libfuse may run a program to unmount, in 3.17
	 * for root, too, which the sandbox forbids. */
	if ((fs->root_user || fs->unmounter.pid) && !pipe2(ends, O_CLOEXEC)) {
		close(ends[0]);
		(void)dup2(ends[1], fuse_session_fd(fs->session));
		close(ends[1]);
	}
	fuse_session_unmount(fs->session);
	if (fs->root_user && attached)
		(void)umount2(fs->mountpoint, MNT_DETACH);
	sandbox_end_unmounter(fs, attached);
}

static int serve_session(struct fs *fs)
{
	int status = EXIT_FAILURE;

	if (fuse_set_signal_handlers(fs->session) != 0)
		return status;
	sandbox_prepare(fs);
	if (fuse_session_mount(fs->session, fs->mountpoint) == 0) {
		status = serve_mounted(fs);
		notify_service("STOPPING=1");
		stop_parts(fs);
		backing_stop(fs);
		unmount(fs);
		mapped_free(fs);
		names_free(fs);
	}
	sandbox_end_unmounter(fs, false);
	fuse_remove_signal_handlers(fs->session);
	return status;
}

static int serve_prepared(struct fs *fs, const char *catalog_dir)
{
	int status = EXIT_FAILURE;
	sigset_t ending, before;

	/* A signal that a parent ignored would not be waited for.  SIGHUP may be
	 * meant so. */
	(void)signal(SIGTERM, SIG_DFL);
	block_ending_signals(&ending, &before);
	if (!open_engine(fs, catalog_dir, &ending)) {
		similar_set_catalog(fs, catalog_dir);
		behind_open(fs);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		if (!fs->options.debug)
			fuse_set_log_func(log_from_libfuse);
		if (!session_open(fs)) {
			status = serve_session(fs);
			stop_parts(fs);
			fuse_session_destroy(fs->session);
		}
	}
	stop_parts(fs);
	return status;
}

int serve(struct fs *fs, int source_fd, const char *catalog_dir)
{
	int status = EXIT_FAILURE, err;

	umask(077);                     /* for files outside of SOURCE */
	(void)signal(SIGXFSZ, SIG_IGN); /* writes fail with EFBIG instead */
	err = fd_paths_enable();
	if (err) {
		log_line("'/proc/self/fd': %s; mount proc first",
			 err_text(err));
		close(source_fd);
	} else {
		err = cred_init(fs);
		if (!err)
			err = inodes_open(fs, source_fd, ops_release_inode);
		else
			close(source_fd);
		if (!err)
			err = similar_open(fs);
		if (err)
			log_line("cannot prepare '%s': %s", fs->source,
				 err_text(err));
		else
			status = serve_prepared(fs, catalog_dir);
	}
	similar_free(fs);
	inodes_free(fs);
	behind_free(fs);
	credentials_release(&fs->own);
	return status;
}
