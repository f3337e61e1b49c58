/* SPDX-License-Identifier: Apache-2.0 */
#include "core/source/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/source/times.h"

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080 /* Linux 6.14 */
#endif

/* ---- opening ---- */

static int open_piece(int dir_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	/* With O_NONBLOCK, EAGAIN may last until a lease is given up. */
	do {
		fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	} while (fd < 0 && errno == EAGAIN && !(flags & O_NONBLOCK));
	return fd < 0 ? -errno : fd;
}

int file_open_beneath(int root_fd, const char *path, int flags)
{
	enum { PIECE = 3800 }; /* below PATH_MAX, above NAME_MAX */
	char piece[PIECE + 1];
	int dir_fd = root_fd, fd;

	if (!*path)
		path = ".";
	for (;;) {
		size_t len = strnlen(path, PIECE + 1);

		if (len <= PIECE)
			break;
		len = PIECE;
		while (len && path[len] != '/')
			len--;
		if (!len) {
			fd = -ENAMETOOLONG;
			goto out;
		}
		memcpy(piece, path, len);
		piece[len] = '\0';
		fd = open_piece(dir_fd, piece, O_PATH | O_DIRECTORY);
		if (dir_fd != root_fd)
			close(dir_fd);
		if (fd < 0)
			return fd;
		dir_fd = fd;
		path += len + 1;
	}
	fd = open_piece(dir_fd, path, (uint64_t)flags);
out:
	if (dir_fd != root_fd)
		close(dir_fd);
	return fd;
}

int file_names_begin(int dir_fd, DIR **out)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0), err;

	*out = fd < 0 ? NULL : fdopendir(fd);
	if (*out)
		return 0;
	err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

int file_names_next(DIR *dir, const char **name_out)
{
	struct dirent *d;

	for (errno = 0; (d = readdir(dir)); errno = 0)
		if ((d->d_type == DT_REG || d->d_type == DT_DIR ||
		     d->d_type == DT_UNKNOWN) &&
		    strcmp(d->d_name, ".") && strcmp(d->d_name, "..")) {
			*name_out = d->d_name;
			return 1;
		}
	return -errno;
}

/* Only the owner of a file may open it with O_NOATIME. */
static int open_quietly(int (*open_with)(int dir_fd, const char *path,
					 int flags),
			int dir_fd, const char *path)
{
	enum { FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };
	int fd = open_with(dir_fd, path, FLAGS | O_NOATIME);

	return fd == -EPERM ? open_with(dir_fd, path, FLAGS) : fd;
}

int file_open_to_read(int root_fd, const char *path)
{
	return open_quietly(file_open_beneath, root_fd, path);
}

static int open_link(int dir_fd, const char *path, int flags)
{
	int fd = openat(dir_fd, path, flags);

	return fd < 0 ? -errno : fd;
}

int file_reopen(int path_fd)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	return open_quietly(open_link, AT_FDCWD, name);
}

int file_link(int fd, int directory, const char *name)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) ?
		       -errno :
		       0;
}

/* ---- mappings ---- */

/* The kernel writes dirty pages out within half a minute by default
 * (vm.dirty_expire_centisecs). */
enum { WRITTEN_OUT_MS = 60000 };

/* Whether no process has the file open for writing, and so none has a writable
 * mapping. */
static bool has_no_writer(int fd)
{
	bool leased = lease_take(fd) == 0;

	if (leased)
		lease_drop(fd);
	return leased;
}

void file_write_out(int fd, const struct file_identity *id)
{
	int64_t age_ms = times_age(id);

	if (age_ms < WRITTEN_OUT_MS && has_no_writer(fd))
		return;
	(void)sync_file_range(fd, 0, 0,
			      SYNC_FILE_RANGE_WAIT_BEFORE |
				      SYNC_FILE_RANGE_WRITE |
				      SYNC_FILE_RANGE_WAIT_AFTER);
}

/* ---- reading ---- */

ssize_t file_pread(int fd, void *buffer, size_t len, uint64_t offset,
		   bool cached)
{
	struct iovec iov = { buffer, len };
	ssize_t n =
		preadv2(fd, &iov, 1, (off_t)offset, cached ? 0 : RWF_DONTCACHE);

	if (n < 0 && (errno == EOPNOTSUPP || errno == EINVAL))
		n = preadv(fd, &iov, 1, (off_t)offset);
	return n < 0 ? -errno : n;
}
