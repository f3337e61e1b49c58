/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int file_replace(int directory, const char *name, const char *beside,
		 const struct buf *data, mode_t mode)
{
	enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW };
	size_t at = 0;
	ssize_t put;
	int fd, err = 0;

	/* One that a killed program left behind. */
	if (unlinkat(directory, beside, 0) && errno != ENOENT)
		return -errno;
	fd = openat(directory, beside, FLAGS, 0600);
	if (fd < 0)
		return -errno;
	while (!err && at < data->len) {
		put = write(fd, data->data + at, data->len - at);
		if (put < 0 && errno != EINTR)
			err = -errno;
		at += put > 0 ? (size_t)put : 0;
	}
	if (!err && (fchmod(fd, mode) || fsync(fd)))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(directory, beside, directory, name))
		err = -errno;
	if (err)
		(void)unlinkat(directory, beside, 0);
	return !err && fsync(directory) ? -errno : err;
}
