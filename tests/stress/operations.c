/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is done, with the same arguments, to the mount and to the twin.
 */
#include "tests/stress/stress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* FIFOs are never made: no open waits. */
#define OPEN_FLAGS (O_CLOEXEC | O_NOFOLLOW)

static struct outcome outcome_of(int result)
{
	return result < 0 ? failed_with(errno) : came_to(result);
}

static size_t some_size(uint64_t random)
{
	static const unsigned most[] = { 0,    1,     100,    4096,
					 5000, 20000, 131072, FILE_MOST };

	return random / 8 % (most[random % 8] + 1);
}

/* Text of few words, so that some files resemble others. */
static const char *some_bytes(uint64_t seed)
{
	static char data[FILE_MOST + 8];
	uint64_t state = seed % 64, word;

	for (size_t i = 0; i < FILE_MOST; i += sizeof(word)) {
		word = random_next(&state);
		memcpy(data + i, &word, sizeof(word));
	}
	return data;
}

static struct outcome write_some(int fd, const struct step *s)
{
	size_t size = some_size(s->random[1]);
	off_t at = (off_t)some_size(s->random[2]);
	const char *data = some_bytes(s->random[3]);
	size_t first = size / 3;
	ssize_t result;

	if ((size_t)at + size > FILE_MOST)
		at = 0;
	result = pwrite(fd, data, first, at);
	if (result != (ssize_t)first)
		return outcome_of((int)result);
	return outcome_of(
		(int)pwrite(fd, data + first, size - first, at + (off_t)first));
}

static int open_at(const struct side *side, const char *name, int flags)
{
	char path[PATH_SIZE];

	slot_path(side, name, path);
	return open(path, flags | OPEN_FLAGS, 0644);
}

/* What close() says comes last. */
static struct outcome closed(int fd, struct outcome o)
{
	if (close(fd) != 0 && !o.error)
		o = failed_with(errno);
	return o;
}

/* ---- content, by name ---- */

static struct outcome op_write(struct side *side, const struct step *s)
{
	static const int flags[] = { O_TRUNC, O_EXCL, 0, 0 };
	int fd = open_at(side, s->a,
			 O_CREAT | O_WRONLY | flags[s->random[0] % 4]);
	struct outcome o;

	if (fd < 0)
		return failed_with(errno);
	o = write_some(fd, s);
	if (!o.error && s->random[0] / 4 % 4 == 0)
		o = outcome_of(fsync(fd));
	return closed(fd, o);
}

static struct outcome op_append(struct side *side, const struct step *s)
{
	int fd = open_at(side, s->a, O_WRONLY | O_APPEND);
	size_t size = some_size(s->random[1] * 8 + 4);
	struct stat st;

	if (fd < 0)
		return failed_with(errno);
	if (fstat(fd, &st) != 0 || (size_t)st.st_size + size > FILE_MOST)
		return closed(fd, came_to(-1));
	return closed(
		fd, outcome_of((int)write(fd, some_bytes(s->random[3]), size)));
}

static struct outcome op_truncate(struct side *side, const struct step *s)
{
	char path[PATH_SIZE];

	slot_path(side, s->a, path);
	return outcome_of(truncate(path, (off_t)some_size(s->random[0])));
}

static struct outcome op_map(struct side *side, const struct step *s)
{
	int fd = open_at(side, s->a, O_RDWR);
	struct outcome o = came_to(0);
	struct stat st;
	char *map;

	if (fd < 0)
		return failed_with(errno);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return closed(fd, came_to(-1));
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, 0);
	if (map == MAP_FAILED)
		return closed(fd, failed_with(errno));
	memset(map + s->random[0] % (uint64_t)st.st_size, (int)s->random[1], 1);
	memset(map + st.st_size / 2, (int)s->random[2], (size_t)st.st_size / 5);
	if (s->random[3] % 2)
		o = outcome_of(msync(map, (size_t)st.st_size, MS_SYNC));
	(void)munmap(map, (size_t)st.st_size);
	return closed(fd, o);
}

static struct outcome op_allocate(struct side *side, const struct step *s)
{
	int fd = open_at(side, s->a, O_RDWR);
	off_t at = (off_t)some_size(s->random[1]);
	off_t size = (off_t)some_size(s->random[2]) + 1;
	int mode = s->random[0] % 2 ?
			   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE :
			   0;

	if (fd < 0)
		return failed_with(errno);
	if (at + size > FILE_MOST)
		at = 0;
	return closed(fd, outcome_of(fallocate(fd, mode, at, size)));
}

static struct outcome op_copy(struct side *side, const struct step *s)
{
	int from = open_at(side, s->a, O_RDONLY), to;
	struct outcome o;

	if (from < 0)
		return failed_with(errno);
	to = open_at(side, s->b, O_WRONLY);
	if (to < 0)
		return closed(from, failed_with(errno));
	o = outcome_of((int)copy_file_range(from, NULL, to, NULL,
					    some_size(s->random[0]), 0));
	/* Within one file they may overlap. */
	return closed(from, closed(to, o));
}

static struct outcome op_read(struct side *side, const struct step *s)
{
	int fd = open_at(side, s->a, O_RDONLY);
	struct outcome o;
	int error;

	if (fd < 0)
		return failed_with(errno);
	error = hash_file(fd, &o);
	return closed(fd, error ? failed_with(error) : o);
}

/* The twin reads, the mount has the digest. */
static struct outcome digest_of(const struct side *side, int fd,
				const struct step *s)
{
	struct outcome o;
	struct stat st;
	int error = fstat(fd, &st) ? errno : 0;

	if (!error && !S_ISREG(st.st_mode))
		return came_to(-1);
	if (!error)
		error = hash_file(fd, &o);
	if (!error && side->is_mount)
		error = digest_attribute(fd, o.hash);
	if (error == ENODATA)
		error = s->has_writers ? DIGEST_IS_BUSY : DIGEST_IS_MISSING;
	return error ? failed_with(error) : o;
}

static struct outcome op_digest(struct side *side, const struct step *s)
{
	int fd = open_at(side, s->a, O_RDONLY);

	if (fd < 0)
		return failed_with(errno);
	return closed(fd, digest_of(side, fd, s));
}

/* ---- names ---- */

static struct outcome op_rename(struct side *side, const struct step *s)
{
	static const unsigned flags[] = { 0, 0, RENAME_NOREPLACE,
					  RENAME_EXCHANGE };
	char a[PATH_SIZE], b[PATH_SIZE];

	slot_path(side, s->a, a);
	slot_path(side, s->b, b);
	return outcome_of(
		renameat2(AT_FDCWD, a, AT_FDCWD, b, flags[s->random[0] % 4]));
}

/* A kernel that is told the count of links while a name goes may count one too
 * few, and none where there is one, until it asks again: kinfs(8). */
static int link_counted(const char *a, const char *b)
{
	struct stat st;
	int result = link(a, b);

	if (result != 0 && errno == ENOENT && lstat(a, &st) == 0)
		result = link(a, b);
	return result;
}

static struct outcome op_link(struct side *side, const struct step *s)
{
	char a[PATH_SIZE], b[PATH_SIZE];

	slot_path(side, s->a, a);
	slot_path(side, s->b, b);
	return outcome_of(link_counted(a, b));
}

static struct outcome op_symlink(struct side *side, const struct step *s)
{
	char path[PATH_SIZE];

	slot_path(side, s->a, path);
	return outcome_of(symlink(s->b, path));
}

static struct outcome op_unlink(struct side *side, const struct step *s)
{
	char path[PATH_SIZE];

	slot_path(side, s->a, path);
	return outcome_of(unlink(path));
}

static struct outcome op_mkdir(struct side *side, const struct step *s)
{
	char path[PATH_SIZE];

	slot_path(side, s->a, path);
	return outcome_of(mkdir(path, 0755));
}

static struct outcome op_rmdir(struct side *side, const struct step *s)
{
	char path[PATH_SIZE];

	slot_path(side, s->a, path);
	return outcome_of(rmdir(path));
}

/* A file in the directory that a name may be. */
static struct outcome op_child(struct side *side, const struct step *s)
{
	char name[NAME_SIZE + 8];
	int fd;

	snprintf(name, sizeof(name), "%s/child", s->a);
	if (s->random[0] % 3 == 0) {
		char path[PATH_SIZE];

		slot_path(side, name, path);
		return outcome_of(unlink(path));
	}
	fd = open_at(side, name, O_CREAT | O_WRONLY);
	if (fd < 0)
		return failed_with(errno);
	return closed(fd, write_some(fd, s));
}

static struct outcome op_stat(struct side *side, const struct step *s)
{
	char path[PATH_SIZE];
	struct stat st;

	slot_path(side, s->a, path);
	if (lstat(path, &st) != 0)
		return failed_with(errno);
	return (struct outcome){
		.value = S_ISDIR(st.st_mode) ? 0 : st.st_size,
		.hash = { st.st_mode, st.st_nlink },
	};
}

/* Which names of the group the directory of a name lists. */
static struct outcome op_list(struct side *side, const struct step *s)
{
	char path[PATH_SIZE], prefix[NAME_SIZE];
	struct outcome o = came_to(0);
	struct dirent *e;
	DIR *dir;

	slot_path(side, s->a, path);
	*strrchr(path, '/') = '\0';
	dir = opendir(path);
	if (!dir)
		return failed_with(errno);
	snprintf(prefix, sizeof(prefix), "g%zu-", s->group);
	while (errno = 0, (e = readdir(dir)) != NULL) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) != 0)
			continue;
		o.value++;
		o.hash[0] += (uint64_t)e->d_name[strlen(prefix)];
		o.hash[1] += e->d_type;
	}
	if (errno)
		o = failed_with(errno);
	(void)closedir(dir);
	return o;
}

/* ---- attributes ---- */

static struct outcome op_chmod(struct side *side, const struct step *s)
{
	static const mode_t modes[] = { 0644, 0600, 0755, 0444 };
	char path[PATH_SIZE];

	slot_path(side, s->a, path);
	return outcome_of(chmod(path, modes[s->random[0] % 4]));
}

/* Times set back must not bring an old digest back. */
static struct outcome op_times(struct side *side, const struct step *s)
{
	struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char path[PATH_SIZE];
	struct stat st;

	slot_path(side, s->a, path);
	times[1].tv_sec += (time_t)(s->random[0] % 3);
	if (utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) != 0 ||
	    lstat(path, &st) != 0)
		return failed_with(errno);
	return came_to(st.st_mtime);
}

/* That of a digest is accepted and ignored; the twin's would stay. */
static struct outcome op_setxattr(struct side *side, const struct step *s)
{
	static const char *const names[] = { "user.a", "user.b",
					     "user.xxh128" };
	const char *name = names[s->random[0] % 3];
	char path[PATH_SIZE];

	slot_path(side, s->a, path);
	if (s->random[0] % 3 == 2) {
		if (side->is_mount)
			(void)lsetxattr(path, name, "x", 1, 0);
		return came_to(0);
	}
	if (s->random[1] % 3 == 0)
		return outcome_of(lremovexattr(path, name));
	return outcome_of(lsetxattr(path, name, &s->random[2], 8, 0));
}

static struct outcome op_getxattr(struct side *side, const struct step *s)
{
	char path[PATH_SIZE];
	uint64_t value = 0;
	ssize_t len;

	slot_path(side, s->a, path);
	len = lgetxattr(path, s->random[0] % 2 ? "user.a" : "user.b", &value,
			sizeof(value));
	if (len < 0)
		return failed_with(errno);
	return (struct outcome){ .value = len, .hash = { value } };
}

/* ---- what is held open ---- */

static struct outcome op_hold(struct side *side, const struct step *s)
{
	int flags = s->random[0] % 3 ? O_RDWR : O_RDONLY;
	int fd = open_at(side, s->a, flags);

	if (fd < 0)
		return failed_with(errno);
	side->held[s->held] = fd;
	return came_to(flags);
}

static struct outcome op_held_write(struct side *side, const struct step *s)
{
	return write_some(side->held[s->held], s);
}

static struct outcome op_held_truncate(struct side *side, const struct step *s)
{
	return outcome_of(
		ftruncate(side->held[s->held], (off_t)some_size(s->random[0])));
}

static struct outcome op_held_sync(struct side *side, const struct step *s)
{
	return outcome_of(fsync(side->held[s->held]));
}

static struct outcome op_held_read(struct side *side, const struct step *s)
{
	struct outcome o;
	struct stat st;
	int error;

	if (fstat(side->held[s->held], &st) != 0)
		return failed_with(errno);
	if (!S_ISREG(st.st_mode))
		return came_to(-1);
	error = hash_file(side->held[s->held], &o);
	return error ? failed_with(error) : o;
}

static struct outcome op_held_digest(struct side *side, const struct step *s)
{
	return digest_of(side, side->held[s->held], s);
}

static struct outcome op_held_close(struct side *side, const struct step *s)
{
	int fd = side->held[s->held];

	side->held[s->held] = -1;
	return outcome_of(close(fd));
}

const struct operation operations[] = {
	{ "write", 10, ON_NAMES, op_write },
	{ "append", 5, ON_NAMES, op_append },
	{ "truncate", 3, ON_NAMES, op_truncate },
	{ "map", 4, ON_NAMES, op_map },
	{ "allocate", 2, ON_NAMES, op_allocate },
	{ "copy", 2, ON_NAMES, op_copy },
	{ "read", 6, ON_NAMES, op_read },
	{ "digest", 8, ON_NAMES, op_digest },
	{ "rename", 7, ON_NAMES, op_rename },
	{ "link", 4, ON_NAMES, op_link },
	{ "symlink", 1, ON_NAMES, op_symlink },
	{ "unlink", 5, ON_NAMES, op_unlink },
	{ "mkdir", 2, ON_NAMES, op_mkdir },
	{ "rmdir", 2, ON_NAMES, op_rmdir },
	{ "child", 3, ON_NAMES, op_child },
	{ "stat", 4, ON_NAMES, op_stat },
	{ "list", 3, ON_NAMES, op_list },
	{ "chmod", 1, ON_NAMES, op_chmod },
	{ "times", 2, ON_NAMES, op_times },
	{ "setxattr", 2, ON_NAMES, op_setxattr },
	{ "getxattr", 2, ON_NAMES, op_getxattr },
	{ "hold", 6, HOLDS, op_hold },
	{ "held write", 6, ON_HELD | WRITES, op_held_write },
	{ "held truncate", 2, ON_HELD | WRITES, op_held_truncate },
	{ "held sync", 3, ON_HELD | SYNCS, op_held_sync },
	{ "held read", 4, ON_HELD, op_held_read },
	{ "held digest", 4, ON_HELD, op_held_digest },
	{ "held close", 5, ON_HELD | DROPS, op_held_close },
	{ 0 },
};
