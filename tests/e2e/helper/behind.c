/* SPDX-License-Identifier: Apache-2.0 */
/*
 * behind SOURCE MOUNT COUNT SEED [MS]: makes COUNT random changes in SOURCE, and
 * looks at each through the mount until it is there.  Fails when one takes as
 * long as GIVE_UP_S, or longer than MS.  Prints how long they took.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DIRECTORIES = 8, FILES = 16, GIVE_UP_S = 100 };

static int source, mount;
static uint64_t state;
static double *took_ms;

static unsigned pick(unsigned below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

static void fail(const char *what, const char *path)
{
	fprintf(stderr, "%s %s: %s\n", what, path, strerror(errno));
	exit(1);
}

static void name_of(char *out, size_t size)
{
	snprintf(out, size, "d%u/f%u", pick(DIRECTORIES), pick(FILES));
}

/* ---- the changes: each is of a file that may be there or not ---- */

static bool there(const char *path)
{
	return !faccessat(source, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

static void write_some(const char *path, int flags)
{
	char text[64];
	int fd = openat(source, path, O_WRONLY | O_CREAT | flags, 0644);
	int len = snprintf(text, sizeof(text), "%u\n", pick(1u << 30));

	if (fd < 0 || write(fd, text, (size_t)len) != len || close(fd))
		fail("write", path);
}

static void store(const char *path)
{
	int fd = openat(source, path, O_RDWR);
	struct stat st;
	char *map;

	if (fd < 0 || fstat(fd, &st))
		fail("open", path);
	if (st.st_size) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			fail("mmap", path);
		map[0] ^= 1;
		munmap(map, (size_t)st.st_size);
	}
	close(fd);
}

static void set_size(const char *path)
{
	int fd = openat(source, path, O_WRONLY);

	if (fd < 0 || ftruncate(fd, pick(5000)) || close(fd))
		fail("truncate", path);
}

static void move_directory(void)
{
	char from[16], to[16];

	snprintf(from, sizeof(from), "d%u", pick(DIRECTORIES));
	snprintf(to, sizeof(to), "d%u", pick(DIRECTORIES));
	if (strcmp(from, to) && renameat2(source, from, source, to, 2))
		fail("exchange", from);
}

/* The second name is "" where there is none. */
static void change(const char *path, const char *other)
{
	switch (pick(9)) {
	case 0:
		write_some(path, O_TRUNC);
		break;
	case 1:
		write_some(path, O_APPEND);
		break;
	case 2:
		if (there(path))
			unlinkat(source, path, 0);
		break;
	case 3:
		if (there(path))
			renameat(source, path, source, other);
		break;
	case 4:
		if (there(path) && !there(other))
			linkat(source, path, source, other, 0);
		break;
	case 5:
		if (there(path))
			fchmodat(source, path, 0600 + pick(0100), 0);
		break;
	case 6:
		if (there(path))
			set_size(path);
		break;
	case 7:
		if (there(path))
			store(path);
		break;
	default:
		move_directory();
	}
}

/* ---- what is seen ---- */

static bool stats_equal(const char *path)
{
	struct stat a, b;
	int have = fstatat(mount, path, &a, AT_SYMLINK_NOFOLLOW) ? errno : 0;
	int want = fstatat(source, path, &b, AT_SYMLINK_NOFOLLOW) ? errno : 0;

	if (have || want)
		return have == want;
	return a.st_mode == b.st_mode && a.st_size == b.st_size &&
	       a.st_nlink == b.st_nlink && a.st_ino == b.st_ino &&
	       a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
	       a.st_mtim.tv_nsec == b.st_mtim.tv_nsec &&
	       a.st_ctim.tv_sec == b.st_ctim.tv_sec &&
	       a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

/* The kernel is told to keep the attributes for long when it asks for them the
 * second time. */
static void know(const char *path)
{
	struct statx st;
	int i;

	for (i = 0; i < 3; i++)
		(void)statx(mount, path,
			    AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC,
			    STATX_BASIC_STATS, &st);
}

static bool contents_equal(const char *path)
{
	char a[8192], b[8192];
	ssize_t have, want;
	int fd = openat(mount, path, O_RDONLY), below;

	if (fd < 0)
		return !there(path);
	below = openat(source, path, O_RDONLY);
	have = read(fd, a, sizeof(a));
	want = read(below, b, sizeof(b));
	close(fd);
	close(below);
	return have == want && have >= 0 && !memcmp(a, b, (size_t)have);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double wait_until_equal(const char *path, const char *other)
{
	char parent[16];
	double begin = now_ms();

	snprintf(parent, sizeof(parent), "%.*s", (int)strcspn(path, "/"), path);
	while (!stats_equal(path) || !stats_equal(other) ||
	       !stats_equal(parent))
		if (now_ms() - begin > GIVE_UP_S * 1e3) {
			errno = ETIMEDOUT;
			fail("not seen:", path);
		}
	if (pick(4) == 0 && !contents_equal(path))
		fail("other content:", path);
	return now_ms() - begin;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	size_t count = argc > 4 ? strtoul(argv[3], NULL, 10) : 0, i;
	char path[32], other[32];
	double most;

	if (!count)
		return 2;
	source = open(argv[1], O_RDONLY | O_DIRECTORY);
	mount = open(argv[2], O_RDONLY | O_DIRECTORY);
	state = strtoul(argv[4], NULL, 10);
	took_ms = calloc(count, sizeof(*took_ms));
	if (source < 0 || mount < 0 || !took_ms)
		fail("open", argv[2]);
	for (i = 0; i < DIRECTORIES; i++) {
		snprintf(path, sizeof(path), "d%zu", i);
		mkdirat(source, path, 0755);
	}
	for (i = 0; i < count; i++) {
		name_of(path, sizeof(path));
		name_of(other, sizeof(other));
		know(path);
		know(other);
		change(path, other);
		took_ms[i] = wait_until_equal(path, other);
	}
	qsort(took_ms, count, sizeof(*took_ms), compare);
	most = took_ms[count - 1];
	printf("%zu changes: median %.2f ms, 99 %% %.2f ms, 99.99 %% %.2f ms, "
	       "most %.2f ms\n",
	       count, took_ms[count / 2], took_ms[count * 99 / 100],
	       took_ms[count - 1 - count / 10000], most);
	return argc > 5 && most > strtod(argv[5], NULL);
}
