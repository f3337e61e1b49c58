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

static int make_directory(const char *path)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	return -errno;
}

int catalog_make_directories(const char *directory)
{
	char *path = strdup(directory);
	char *slash;
	int err = 0;

	if (!path)
		return -ENOMEM;
	for (slash = strchr(path + 1, '/'); !err && slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		err = make_directory(path);
		*slash = '/';
	}
	if (!err)
		err = make_directory(path);
	free(path);
	return err;
}

/* ---- files ---- */

int data_dir_open(const char *directory, const char *name, int flags)
{
	struct buf path = { 0 };
	int fd = buf_append_format(&path, "%s/%s", directory, name);

	if (!fd) {
		fd = open(path.data, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
		fd = fd < 0 ? -errno : fd;
	}
	buf_release(&path);
	return fd;
}

static int sync_and_close(int fd, int err)
{
	if (!err && fsync(fd) != 0)
		err = -errno;
	(void)close(fd);
	return err;
}

static int write_new(int fd, const void *bytes, size_t len)
{
	ssize_t n = write(fd, bytes, len);

	return sync_and_close(fd, n < 0           ? -errno :
				  (size_t)n < len ? -ENOSPC :
						    0);
}

int data_dir_write(const char *directory, const char *name, const void *bytes,
		   size_t len)
{
	int dir_fd = data_dir_open(directory, ".", O_RDONLY | O_DIRECTORY), fd;
	struct buf new = { 0 };
	int err = dir_fd < 0 ? dir_fd : buf_append_format(&new, "%s.new", name);

	if (!err) {
		fd = openat(dir_fd, new.data,
			    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
				    O_NOFOLLOW,
			    0600);
		err = fd < 0 ? -errno : write_new(fd, bytes, len);
		if (!err && renameat(dir_fd, new.data, dir_fd, name) != 0)
			err = -errno;
		if (err)
			(void)unlinkat(dir_fd, new.data, 0);
	}
	buf_release(&new);
	return dir_fd < 0 ? err : sync_and_close(dir_fd, err);
}

int data_dir_sync(const char *directory)
{
	int fd = data_dir_open(directory, ".", O_RDONLY | O_DIRECTORY);

	return fd < 0 ? fd : sync_and_close(fd, 0);
}

int data_dir_remove(const char *directory, const char *name)
{
	int fd = data_dir_open(directory, ".", O_RDONLY | O_DIRECTORY), err = 0;

	if (fd < 0)
		return fd;
	if (unlinkat(fd, name, 0) != 0)
		err = errno == ENOENT ? 0 : -errno;
	return sync_and_close(fd, err);
}

/* ---- the lock ---- */

int data_dir_lock(const char *directory, int *fd_out)
{
	int fd = data_dir_open(directory, CATALOG_LOCK_FILE, O_RDWR | O_CREAT);
	int err;

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		(void)close(fd);
		return err;
	}
	*fd_out = fd;
	return 0;
}

/* Errors are ignored: the text is only for messages to the user. */
void data_dir_sign(int fd, const char *holder)
{
	struct buf word = { 0 };

	if (!ftruncate(fd, 0) &&
	    !buf_append_format(&word, "%d %s", (int)getpid(), holder))
		(void)!pwrite(fd, word.data, word.len, 0);
	buf_release(&word);
}

int catalog_holder(const char *directory, pid_t *pid_out,
		   struct buf *holder_out)
{
	int fd = data_dir_open(directory, CATALOG_LOCK_FILE,
			       O_RDONLY | O_NONBLOCK);
	char word[PATH_MAX + 64], *end;
	ssize_t len;
	long pid;

	if (fd < 0)
		return fd;
	len = read(fd, word, sizeof(word) - 1);
	(void)close(fd);
	word[len > 0 ? len : 0] = '\0';
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

/* ---- damage ---- */

/* Finds an unused name for the data file.  The caller has the lock, so no other
 * process creates such files. */
static int find_free_name(const char *data, struct buf *out)
{
	struct stat st;
	unsigned n;
	int err;

	for (n = 1; n < 100000; n++) {
		buf_clear(out);
		err = buf_append_format(out, "%s.damaged-%u", data, n);
		if (err)
			return err;
		if (lstat(out->data, &st) != 0)
			return errno == ENOENT ? 0 : -errno;
	}
	return -EEXIST;
}

void data_dir_forget_readers(const char *directory)
{
	struct buf path = { 0 };

	if (!buf_append_format(&path, "%s/%s", directory, CATALOG_READERS_FILE))
		(void)unlink(path.data);
	buf_release(&path);
}

int data_dir_move_aside(const char *directory, struct buf *path_out)
{
	struct buf data = { 0 };
	struct buf aside = { 0 };
	int err;

	err = buf_append_format(&data, "%s/%s", directory, CATALOG_DATA_FILE);
	if (!err)
		err = find_free_name(data.data, &aside);
	if (!err)
		err = buf_reserve(path_out, aside.len);
	if (!err && rename(data.data, aside.data) != 0)
		err = -errno;
	if (!err) {
		buf_clear(path_out);
		err = buf_append(path_out, aside.data, aside.len);
	}
	if (!err)
		data_dir_forget_readers(directory);
	buf_release(&data);
	buf_release(&aside);
	return err;
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
