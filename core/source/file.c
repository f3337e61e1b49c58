/* SPDX-License-Identifier: Apache-2.0 */
#include "core/source/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/base/lease.h"
#include "core/engine/engine_impl.h"
#include "core/source/times.h"

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080 /* Linux 6.14 */
#endif

/* ---- keys ---- */

static uint32_t hash_nonzero(const void *data, size_t len)
{
	uint32_t h = (uint32_t)XXH3_64bits(data, len);

	return h ? h : 1;
}

static uint32_t device_of(dev_t source_dev, dev_t device)
{
	return device == source_dev ? 0 : hash_nonzero(&device, sizeof(device));
}

uint32_t file_device(const struct engine *e, dev_t device)
{
	return device_of(e->source_dev, device);
}

/* The handle of ext4, XFS, btrfs, tmpfs holds inode and generation; hashed, it
 * serves as the generation itself. */
static uint32_t handle_hash(int fd, const char *name, int flags)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };
	int mount_id;

	if (name_to_handle_at(fd, name, &handle.head, &mount_id, flags))
		return 0;
	return hash_nonzero(handle.room + sizeof(struct file_handle),
			    handle.head.handle_bytes);
}

void file_key_make(dev_t source_dev, int fd, const char *name,
		   const struct stat *st, struct file_key *out)
{
	*out = (struct file_key){
		.inode = st->st_ino,
		.device = device_of(source_dev, st->st_dev),
		.generation = handle_hash(fd, name, *name ? 0 : AT_EMPTY_PATH),
	};
}

void engine_file_key(const struct engine *e, int fd, const struct stat *st,
		     struct file_key *out)
{
	file_key_make(e->source_dev, fd, "", st, out);
}

void file_key_at(const struct engine *e, int dir_fd, const char *name,
		 const struct stat *st, struct file_key *out)
{
	file_key_make(e->source_dev, dir_fd, name, st, out);
}

/* ---- opening ---- */

static int open_piece(int dir_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	do {
		fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	} while (fd < 0 && errno == EAGAIN);
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

static bool is_interesting(const struct dirent *d)
{
	if (d->d_type != DT_REG && d->d_type != DT_DIR &&
	    d->d_type != DT_UNKNOWN)
		return false;
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

int file_each_in(int dir_fd, file_visit_fn *visit, void *arg)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0), err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	for (errno = 0; !err && (d = readdir(dir)); errno = 0)
		if (is_interesting(d))
			err = visit(arg, dir_fd, d->d_name);
	if (!err)
		err = -errno;
	closedir(dir);
	return err;
}

int file_reopen(int path_fd)
{
	enum { FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };
	char name[32];
	int fd;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	fd = open(name, FLAGS | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = open(name, FLAGS);
	return fd < 0 ? -errno : fd;
}

/* What is looked for. */
struct search {
	struct engine *e;
	const struct file_key *key;
	bool any; /* a directory will do */
	int fd;
	struct stat *st;
};

/* Whether fd is the file that is looked for. */
static int check_key(const struct search *s, int fd)
{
	struct file_key found;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) && !(s->any && S_ISDIR(st.st_mode)))
		return -ENOENT;
	engine_file_key(s->e, fd, &st, &found);
	if (!file_key_equal(&found, s->key))
		return -ENOENT;
	*s->st = st;
	return 0;
}

/* Otherwise the file may well be there. */
static bool leads_nowhere(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
	case -ELOOP:
	case -EXDEV:
	case -EACCES:
	case -ENAMETOOLONG:
	case -ESTALE:
		return true;
	default:
		return false;
	}
}

static int try_path(void *arg, const char *path)
{
	struct search *s = arg;
	int fd = file_open_beneath(s->e->options.source_fd, path, O_PATH);
	int err = fd < 0 ? fd : check_key(s, fd);

	if (!err) {
		s->fd = fd;
		return 1;
	}
	if (fd >= 0)
		close(fd);
	return leads_nowhere(err) ? 0 : err;
}

static int find_by_name(struct search *s)
{
	struct engine *e = s->e;
	struct catalog_txn *txn;
	int err = catalog_read(e->catalog, &txn);

	if (err)
		return err;
	err = catalog_path_each(txn, &e->root, s->key, try_path, s);
	catalog_abort(txn);
	if (err < 0)
		return err;
	return s->fd < 0 ? -ENOENT : 0;
}

static int find(struct search *s)
{
	const struct engine_host *host = &s->e->options.host;
	int fd = -ENOENT;

	if (host->open_known && s->key->device == 0)
		fd = host->open_known(host->ctx, s->e->source_dev,
				      s->key->inode);
	if (fd >= 0) {
		if (!check_key(s, fd)) {
			s->fd = fd;
			return 0;
		}
		close(fd);
	}
	return find_by_name(s);
}

int file_find(struct engine *e, const struct file_key *key, int *fd_out,
	      struct stat *st_out)
{
	struct search s = { .e = e, .key = key, .fd = -1, .st = st_out };
	int err = find(&s);

	if (!err)
		*fd_out = s.fd;
	return err;
}

int file_find_any(struct engine *e, const struct file_key *key, int *fd_out,
		  struct stat *st_out)
{
	struct search s = {
		.e = e, .key = key, .any = true, .fd = -1, .st = st_out
	};
	int err = find(&s);

	if (!err)
		*fd_out = s.fd;
	return err;
}

int file_path(const struct engine *e, int fd, char **path_out)
{
	size_t source_len = strlen(e->options.source);
	char name[32], target[8192];
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode) && st.st_nlink == 0)
		return -ENOENT;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = readlink(name, target, sizeof(target) - 1);
	if (len < 0)
		return -errno;
	target[len] = '\0';
	if (source_len == 1) /* SOURCE is / */
		source_len = 0;
	if (strncmp(target, e->options.source, source_len) != 0 ||
	    target[source_len] != '/')
		return -ENOENT;
	*path_out = strdup(target + source_len + 1);
	return *path_out ? 0 : -ENOMEM;
}

/* ---- mappings ---- */

/* A dirty page is written out by then, unless the kernel is told otherwise; to
 * write out a clean file costs nothing. */
enum { WRITTEN_OUT_MS = 60000 };

/* Nobody has it open for writing, so nobody has a mapping to store through. */
static bool is_open_to_nobody(int fd)
{
	bool nobody = lease_take(fd) == 0;

	if (nobody)
		lease_drop(fd);
	return nobody;
}

void file_write_out(int fd, const struct file_identity *id)
{
	int64_t age_ms = times_age(id);

	if (age_ms < WRITTEN_OUT_MS && is_open_to_nobody(fd))
		return;
	(void)sync_file_range(fd, 0, 0,
			      SYNC_FILE_RANGE_WAIT_BEFORE |
				      SYNC_FILE_RANGE_WRITE |
				      SYNC_FILE_RANGE_WAIT_AFTER);
}

/* ---- rules ---- */

static bool component_matches(const char *path, const char *glob)
{
	char name[NAME_MAX + 1];

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len <= NAME_MAX) {
			memcpy(name, path, len);
			name[len] = '\0';
			if (fnmatch(glob, name, 0) == 0)
				return true;
		}
		path += len;
		path += *path == '/';
	}
	return false;
}

bool path_is_excluded(const char *path, const char *const *globs, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const char *glob = globs[i];

		if (!strchr(glob, '/')) {
			if (component_matches(path, glob))
				return true;
			continue;
		}
		glob += *glob == '/';
		if (fnmatch(glob, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0)
			return true;
	}
	return false;
}

static bool is_excluded(const struct engine *e, int fd)
{
	const struct engine_options *o = &e->options;
	char *path = NULL;
	bool excluded;

	if (o->exclude_count)
		(void)file_path(e, fd, &path);
	if (!path)
		return false;
	excluded = path_is_excluded(path, o->excludes, o->exclude_count);
	free(path);
	return excluded;
}

const char *file_skip_rule(const struct engine *e, int fd,
			   const struct stat *st)
{
	const struct engine_options *o = &e->options;

	if (!o->cross && st->st_dev != e->source_dev)
		return "cross";
	if ((uint64_t)st->st_size < o->min_size)
		return "min_size";
	if (o->max_size && (uint64_t)st->st_size > o->max_size)
		return "max_size";
	return is_excluded(e, fd) ? "exclude" : NULL;
}

/* ---- reading ---- */

ssize_t file_read_uncached(int fd, void *buffer, size_t len, uint64_t offset)
{
	struct iovec iov = { buffer, len };
	ssize_t n = preadv2(fd, &iov, 1, (off_t)offset, RWF_DONTCACHE);

	if (n < 0 && (errno == EOPNOTSUPP || errno == EINVAL))
		n = preadv(fd, &iov, 1, (off_t)offset);
	return n < 0 ? -errno : n;
}
