/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/catalog/catalog.h"

/* ---- SOURCE and the mount point ---- */

static int report_error(const char *what, const char *path, int err,
			const char *advice)
{
	log_line("%s '%s': %s%s%s", what, path, err_text(err),
		 advice ? "; " : "", advice ? advice : "");
	return -err;
}

/* Whether the error is that of a FUSE mount whose daemon has died. */
static bool is_dead(int err)
{
	return err == ENOTCONN || err == ECONNABORTED;
}

static int report_dead_mount(const char *what, const char *path, int err)
{
	log_line("%s '%s': %s; a dead mount is in the way, remove it with: "
		 "fusermount3 -u %s",
		 what, path, err_text(err), path);
	return -err;
}

/*
 * passed: mount.fuse3 has mounted already.  If its mount covers SOURCE, that
 * cannot be opened.  The root of such a mount has no timestamps yet; they are
 * read with AT_STATX_DONT_SYNC, because a request to this process would hang.
 *
 * A dead mount is found by fstatfs(): the kernel caches attributes, which a stat
 * would still return, but not the result of statfs.
 */
static int open_source(const char *path, bool passed, int *fd_out)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs room;
	struct statx st;
	int err = 0;

	if (fd < 0)
		return report_error("source", path, errno,
				    errno == ENOENT || errno == ENOTDIR ?
					    "give an existing directory" :
					    NULL);
	if (passed &&
	    statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
		  &st) == 0 &&
	    st.stx_ino == FUSE_ROOT_ID && !st.stx_mtime.tv_sec &&
	    !st.stx_ctime.tv_sec) {
		log_line(
			"source '%s': %s; to mount it over itself, mount "
			"without drop_privileges; the mount that is in the way "
			"now goes with: fusermount3 -u %s",
			path, err_text(EBUSY), path);
		err = -EBUSY;
	} else if (fstatfs(fd, &room) != 0 && is_dead(errno)) {
		err = report_dead_mount("source", path, errno);
	}
	if (err)
		close(fd);
	else
		*fd_out = fd;
	return err;
}

static int check_mountpoint(const char *path)
{
	struct statfs room;
	struct stat st;

	if (statfs(path, &room) != 0 && is_dead(errno))
		return report_dead_mount("mount point", path, errno);
	if (stat(path, &st) != 0)
		return report_error(
			"mount point", path, errno,
			errno == ENOENT ? "make the directory first" : NULL);
	if (!S_ISDIR(st.st_mode))
		return report_error("mount point", path, ENOTDIR,
				    "give an existing directory");
	return 0;
}

/* The mount hides what is there now, which may be by mistake. */
static void warn_of_covered(const char *path)
{
	const struct dirent *d;
	struct statx st;
	bool empty = true;
	DIR *dir;

	if (statx(AT_FDCWD, path, 0, STATX_TYPE, &st) == 0 &&
	    st.stx_attributes & STATX_ATTR_MOUNT_ROOT) {
		log_warning(
			"something is mounted on '%s' already and is hidden "
			"by this mount; -o nonempty leaves this message out",
			path);
		return;
	}
	dir = opendir(path);
	while (empty && dir && (d = readdir(dir)))
		empty = strcmp(d->d_name, ".") == 0 ||
			strcmp(d->d_name, "..") == 0;
	if (dir)
		closedir(dir);
	if (!empty)
		log_warning(
			"mount point '%s' is not empty, its files are hidden "
			"by this mount; -o nonempty leaves this message out",
			path);
}

static int real_path(const char *what, const char *path, char **out)
{
	char *real = realpath(path, NULL);

	if (!real)
		return report_error(what, path, errno, NULL);
	*out = real;
	return 0;
}

/* ---- overlap ---- */

static bool same_directory(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether fd, which is closed, is the directory or below it.  Walks up and
 * compares inodes, as paths are not reliable with bind mounts. */
static int is_below(int fd, const struct stat *directory, bool *inside_out)
{
	struct stat at = { .st_ino = 0 };
	struct stat before;
	bool inside = false;

	while (fd >= 0 && !inside) {
		int up;

		before = at;
		if (fstat(fd, &at) != 0 || same_directory(&before, &at))
			break;
		inside = same_directory(&at, directory);
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
	}
	if (fd < 0 && !inside)
		return -errno;
	if (fd >= 0)
		close(fd);
	*inside_out = inside;
	return 0;
}

static int is_inside(const char *path, const struct stat *directory,
		     bool *inside_out)
{
	return is_below(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), directory,
			inside_out);
}

/*
 * Whether path is below the directory dir_fd, although the way up does not lead
 * there: at a bind mount it leads to the directories above the mount point.  The
 * way up from where the same directory lies in the mount of dir_fd does.  Needs
 * CAP_DAC_READ_SEARCH; false without.
 */
static bool is_bound_inside(int dir_fd, const char *path,
			    const struct stat *directory)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };
	int mount = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = -1, id;
	struct stat st, there;
	bool inside = false;

	if (mount >= 0 && !stat(path, &st) &&
	    !name_to_handle_at(AT_FDCWD, path, &handle.head, &id,
			       AT_SYMLINK_FOLLOW))
		fd = open_by_handle_at(mount, &handle.head,
				       O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (mount >= 0)
		close(mount);
	if (fd >= 0 && !fstat(fd, &there) && same_directory(&st, &there))
		(void)is_below(fd, directory, &inside);
	else if (fd >= 0)
		close(fd);
	return inside;
}

/*
 * The mount may cover SOURCE itself, because SOURCE is open by now, and a name
 * relative to that descriptor leads to the covered directory.  Other overlaps
 * are refused: the mount would show itself, or SOURCE would be hidden.
 */
static int check_overlap(const struct fs *fs, const struct stat *source)
{
	struct stat mountpoint;
	bool inside = false;
	int err;

	if (stat(fs->mountpoint, &mountpoint) != 0)
		return report_error("mount point", fs->mountpoint, errno, NULL);
	if (same_directory(&mountpoint, source))
		return 0;
	err = is_inside(fs->mountpoint, source, &inside);
	if (err)
		return report_error("mount point", fs->mountpoint, -err, NULL);
	if (inside) {
		log_line("mount point '%s' is inside source '%s'; use a "
			 "directory outside of it",
			 fs->mountpoint, fs->source);
		return -EINVAL;
	}
	err = is_inside(fs->source, &mountpoint, &inside);
	if (err)
		return report_error("source", fs->source, -err, NULL);
	if (inside) {
		log_line("source '%s' is inside mount point '%s', which would "
			 "hide it; use another mount point",
			 fs->source, fs->mountpoint);
		return -EINVAL;
	}
	if (!fs->options.nonempty)
		warn_of_covered(fs->mountpoint);
	return 0;
}

int check_places(struct fs *fs, int *source_fd_out)
{
	const struct options *o = &fs->options;
	struct stat st;
	int fd = -1;
	/* By mount.fuse3, with a descriptor instead of a mount point. */
	bool passed = strncmp(o->mountpoint, "/dev/fd/", 8) == 0;
	int err = open_source(o->source, passed, &fd);

	if (!err)
		err = real_path("source", o->source, &fs->source);
	if (!err && passed) {
		fs->mountpoint = strdup(o->mountpoint);
		err = fs->mountpoint ? 0 : -ENOMEM;
	} else if (!err) {
		err = check_mountpoint(o->mountpoint);
		if (!err)
			err = real_path("mount point", o->mountpoint,
					&fs->mountpoint);
		if (!err && fstat(fd, &st) != 0)
			err = report_error("source", o->source, errno, NULL);
		if (!err)
			err = check_overlap(fs, &st);
	}
	if (err && fd >= 0)
		close(fd);
	if (!err)
		*source_fd_out = fd;
	return err;
}

/* ---- the catalog ---- */

/* The directory that is given, made absolute, because the daemon changes its
 * working directory; or the default one. */
static int catalog_path(const struct fs *fs, struct buf *b)
{
	const char *db = fs->options.db;
	char cwd[PATH_MAX];
	int err;

	if (!db) {
		err = catalog_default_directory(fs->source, b);
		if (err == -ENOENT)
			log_line("neither XDG_STATE_HOME nor HOME is set; say "
				 "where to keep the catalog with -o db=DIR");
		return err;
	}
	if (db[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return -errno;
	return db[0] == '/' ? buf_append_text(b, db) :
			      buf_append_format(b, "%s/%s", cwd, db);
}

static int check_outside(const struct fs *fs, int source_fd, const char *path)
{
	char *at = strdup(path), *slash;
	bool inside = false;
	struct stat st;
	int err = at ? 0 : -ENOMEM;

	if (!err && fstat(source_fd, &st) != 0)
		err = -errno;
	/* Missing directories would be made below the nearest ancestor. */
	while (!err && (err = is_inside(at, &st, &inside)) == -ENOENT &&
	       (slash = strrchr(at, '/'))) {
		slash[slash == at] = '\0';
		err = 0;
	}
	if (!err && !inside)
		inside = is_bound_inside(source_fd, at, &st);
	free(at);
	if (err)
		return report_error("catalog", path, -err,
				    "say where to keep it with -o db=DIR");
	if (inside) {
		log_line("catalog '%s' would be inside source '%s'; choose "
			 "another place with -o db=DIR",
			 path, fs->source);
		return -EINVAL;
	}
	return 0;
}

/* Whether other users can write to the directory.  A group with the user's
 * number counts as that user's own. */
static bool is_open_to_others(const struct stat *st)
{
	mode_t others = S_IWOTH;

	if (st->st_gid != 0 && st->st_gid != geteuid())
		others |= S_IWGRP;
	return st->st_mode & others;
}

/* Checks all directories above fd, which is closed.  No other user may replace
 * an entry of one: it belongs to root or the user, and others cannot write to
 * it, or it is sticky.  The owner of "/" stands for root where root is not mapped
 * in the user namespace. */
static int check_ancestors(int fd, const char *path)
{
	struct stat st, before = { 0 }, top;
	int err = 0;

	if (stat("/", &top) != 0)
		return report_error("catalog", path, errno, NULL);
	while (!err) {
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		close(fd);
		fd = up;
		if (fd < 0 || fstat(fd, &st) != 0)
			return report_error("catalog", path, errno, NULL);
		if (same_directory(&st, &before))
			break;
		before = st;
		if ((st.st_uid == 0 || st.st_uid == geteuid() ||
		     st.st_uid == top.st_uid) &&
		    (st.st_mode & S_ISVTX || !is_open_to_others(&st)))
			continue;
		log_line("catalog '%s' is below a directory that others can "
			 "write to; choose another place with -o db=DIR",
			 path);
		err = -EPERM;
	}
	close(fd);
	return err;
}

/* Refuses a catalog that other users can change: all users get digests from
 * it. */
static int check_private(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return report_error("catalog", path, errno, NULL);
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    !is_open_to_others(&st))
		return check_ancestors(fd, path);
	close(fd);
	if (st.st_uid != geteuid())
		log_line("catalog '%s' belongs to another user; choose "
			 "another place with -o db=DIR",
			 path);
	else
		log_line("catalog '%s' can be written to by others; forbid it "
			 "with: chmod go-w %s",
			 path, path);
	return -EPERM;
}

int check_catalog(struct fs *fs, int source_fd, char **directory_out)
{
	struct buf b = { .data = NULL };
	char *path;
	int err = catalog_path(fs, &b);

	path = buf_take(&b);
	if (!err && !path)
		err = -ENOMEM;
	if (!err)
		err = check_outside(fs, source_fd, path);
	if (!err) {
		err = catalog_make_directories(path);
		if (err)
			report_error("catalog", path, -err,
				     "say where to keep it with -o db=DIR");
	}
	if (!err)
		err = check_private(path);
	if (err)
		free(path);
	else
		*directory_out = path;
	return err;
}
