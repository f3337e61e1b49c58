/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

int catalog_make_directories(const char *directory)
{
	char *path = strdup(directory), *slash = path;
	int err = path ? 0 : -ENOMEM;

	while (!err && slash) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(path, 0700) && errno != EEXIST)
			err = -errno;
		if (slash)
			*slash = '/';
	}
	free(path);
	return err;
}

/* ---- files ---- */

int data_dir_write(int dir, const char *name, const void *bytes, size_t len)
{
	char new[64];
	int fd, err;
	ssize_t n;

	(void)snprintf(new, sizeof(new), "%s.new", name);
	fd = openat(dir, new,
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	n = write(fd, bytes, len);
	err = n < 0 || fsync(fd) ? -errno : (size_t)n < len ? -ENOSPC : 0;
	(void)close(fd);
	if (!err && renameat(dir, new, dir, name))
		err = -errno;
	if (err)
		(void)unlinkat(dir, new, 0);
	return err ? err : fsync(dir) ? -errno : 0;
}

ssize_t data_dir_read(int dir, const char *name, void *out, size_t room)
{
	int fd = openat(dir, name,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t len = fd < 0 ? -1 : read(fd, out, room);

	if (len < 0)
		len = -errno;
	if (fd >= 0)
		(void)close(fd);
	return len;
}

int data_dir_remove(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) && errno != ENOENT)
		return -errno;
	return fsync(dir) ? -errno : 0;
}

/* ---- the lock ---- */

int data_dir_lock(int dir, const char *holder, int *fd_out)
{
	struct buf word = { 0 };
	int fd = openat(dir, CATALOG_LOCK_FILE,
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int err = fd < 0 ? -errno : 0;

	if (!err && flock(fd, LOCK_EX | LOCK_NB))
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (err) {
		if (fd >= 0)
			(void)close(fd);
		return err;
	}
	/* Errors are ignored: the text is only for messages to the user. */
	if (!ftruncate(fd, 0) &&
	    !buf_append_format(&word, "%d %s", (int)getpid(), holder))
		(void)!pwrite(fd, word.data, word.len, 0);
	buf_release(&word);
	*fd_out = fd;
	return 0;
}

int catalog_holder(const char *directory, pid_t *pid_out,
		   struct buf *holder_out)
{
	int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char word[PATH_MAX + 64], *end;
	ssize_t len;
	long pid;

	if (dir < 0)
		return -errno;
	len = data_dir_read(dir, CATALOG_LOCK_FILE, word, sizeof(word) - 1);
	(void)close(dir);
	if (len < 0)
		return (int)len;
	word[len] = '\0';
	pid = strtol(word, &end, 10);
	if (pid <= 0 || *end != ' ')
		return -ENOENT;
	*pid_out = (pid_t)pid;
	return buf_append_text(holder_out, end + 1);
}

void data_dir_unlock(int fd)
{
	/* A forked child may have the descriptor, too, so closing it is not
	 * enough. */
	(void)flock(fd, LOCK_UN);
	(void)close(fd);
}

/* ---- where it is ---- */

static int append_state_home(struct buf *out)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (geteuid() == 0)
		return buf_append_text(out, "/var/lib");
	if (state && state[0] == '/')
		return buf_append_text(out, state);
	if (home && home[0] == '/')
		return buf_append_format(out, "%s/.local/state", home);
	return -ENOENT;
}

int catalog_state_directory(struct buf *out)
{
	int err = append_state_home(out);

	return err ? err : buf_append_text(out, "/kinfs");
}

/* The last part of the source's path, for people, and a hash of the path. */
int catalog_default_directory(const char *source, struct buf *out)
{
	const char *name = strrchr(source, '/');
	XXH64_hash_t hash = XXH3_64bits(source, strlen(source));
	int err = catalog_state_directory(out);

	if (err)
		return err;
	name = name && name[1] ? name + 1 : "root";
	return buf_append_format(out, "/%.100s-%016llx", name,
				 (unsigned long long)hash);
}
