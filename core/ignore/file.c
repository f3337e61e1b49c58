/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ignore/ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#define NEW_FILE IGNORE_FILE ".new"

static int open_directory(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int read_all(int fd, size_t len, struct buf *out)
{
	ssize_t got = 1;
	int err = len > IGNORE_MAX_BYTES ? -EFBIG : buf_reserve(out, len + 1);

	while (!err && got) {
		got = read(fd, out->data + out->len, len + 1 - out->len);
		if (got < 0 && errno != EINTR)
			err = -errno;
		else if (got > 0)
			out->len += (size_t)got;
		if (out->len > len)
			err = -EAGAIN;
	}
	return err;
}

static int load_at(int directory, struct ignore_set *out, struct stat *st)
{
	struct buf data = { 0 };
	int fd = openat(directory, IGNORE_FILE,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int err = 0;

	if (fd < 0 && errno != ENOENT)
		return -errno;
	*st = (struct stat){ 0 };
	if (fd < 0) {
		*out = (struct ignore_set){ 0 };
		return 0;
	}
	if (fstat(fd, st))
		err = -errno;
	else if (!S_ISREG(st->st_mode))
		err = -EINVAL;
	if (!err)
		err = read_all(fd, (size_t)st->st_size, &data);
	if (!err)
		err = ignore_set_parse(data.data, data.len, out);
	buf_release(&data);
	close(fd);
	return err;
}

int ignore_load(const char *directory, struct ignore_set *out,
		struct stat *st_out)
{
	struct stat st;
	int fd = open_directory(directory), err;

	if (fd < 0)
		return fd;
	err = load_at(fd, out, &st);
	close(fd);
	if (!err && st_out)
		*st_out = st;
	return err;
}

int ignore_lock(const char *directory, int *fd_out)
{
	int top = open_directory(directory), fd, err = 0;

	if (top < 0)
		return top;
	fd = openat(top, IGNORE_LOCK_FILE,
		    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = fd < 0 ? -errno : 0;
	close(top);
	while (!err && flock(fd, LOCK_EX))
		err = errno == EINTR ? 0 : -errno;
	if (!err)
		*fd_out = fd;
	else if (fd >= 0)
		close(fd);
	return err;
}

static int write_all(int fd, const struct buf *data)
{
	size_t at = 0;

	while (at < data->len) {
		ssize_t put = write(fd, data->data + at, data->len - at);

		if (put < 0 && errno != EINTR)
			return -errno;
		at += put > 0 ? (size_t)put : 0;
	}
	return fsync(fd) ? -errno : 0;
}

static int replace(int directory, const struct buf *data)
{
	int fd, err;

	/* One that a killed program left behind. */
	if (unlinkat(directory, NEW_FILE, 0) && errno != ENOENT)
		return -errno;
	fd = openat(directory, NEW_FILE,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, data);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(directory, NEW_FILE, directory, IGNORE_FILE))
		err = -errno;
	if (err)
		(void)unlinkat(directory, NEW_FILE, 0);
	else if (fsync(directory))
		err = -errno;
	return err;
}

int ignore_save(const char *directory, const struct ignore_set *set)
{
	struct buf data = { 0 };
	int fd = open_directory(directory), err;

	if (fd < 0)
		return fd;
	err = ignore_set_format(set, &data);
	if (!err)
		err = replace(fd, &data);
	buf_release(&data);
	close(fd);
	return err;
}
