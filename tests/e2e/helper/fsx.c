/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fsx FILE PLAIN OPERATIONS SEED: the same random operations on a file of the
 * mount and on a plain one; stops at the first difference.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT (256 * 1024)

struct pair {
	const char *path[2];
	int fd[2];
};

static uint64_t seed;
static char data[LIMIT];
static char have[2][LIMIT];

static size_t below(size_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (size_t)(seed % n);
}

static int reopen(struct pair *p)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (p->fd[i] >= 0 && close(p->fd[i]) < 0)
			return -1;
		p->fd[i] = open(p->path[i], O_RDWR | O_CREAT, 0644);
		if (p->fd[i] < 0)
			return -1;
	}
	return 0;
}

static int write_both(struct pair *p, size_t at, size_t len)
{
	size_t k;
	int i;

	for (k = 0; k < len; k++)
		data[k] = (char)below(256);
	for (i = 0; i < 2; i++)
		if (pwrite(p->fd[i], data, len, (off_t)at) != (ssize_t)len)
			return -1;
	return 0;
}

static int map_write_both(struct pair *p, size_t at, size_t len)
{
	struct stat st;
	char *map;
	int i;

	if (fstat(p->fd[1], &st) < 0)
		return -1;
	if (at + len > (size_t)st.st_size)
		return 0;
	memset(data, (int)below(256), len);
	for (i = 0; i < 2; i++) {
		map = mmap(NULL, at + len, PROT_READ | PROT_WRITE, MAP_SHARED,
			   p->fd[i], 0);
		if (map == MAP_FAILED)
			return -1;
		memcpy(map + at, data, len);
		if (munmap(map, at + len) < 0)
			return -1;
	}
	return 0;
}

static int truncate_both(struct pair *p, size_t len)
{
	int i;

	for (i = 0; i < 2; i++)
		if (ftruncate(p->fd[i], (off_t)len) < 0)
			return -1;
	return 0;
}

static int allocate_both(struct pair *p, int mode, size_t at, size_t len)
{
	int i;

	for (i = 0; i < 2; i++)
		if (fallocate(p->fd[i], mode, (off_t)at, (off_t)len) < 0)
			return -1;
	return 0;
}

static int sync_both(struct pair *p)
{
	return fsync(p->fd[0]) < 0 || fsync(p->fd[1]) < 0 ? -1 : 0;
}

static int compare(struct pair *p, size_t at, size_t len)
{
	struct stat st[2];
	ssize_t n[2];
	int i;

	for (i = 0; i < 2; i++) {
		n[i] = pread(p->fd[i], have[i], len, (off_t)at);
		if (n[i] < 0 || fstat(p->fd[i], &st[i]) < 0)
			return -1;
	}
	errno = 0;
	if (n[0] != n[1] || st[0].st_size != st[1].st_size)
		return -1;
	return memcmp(have[0], have[1], (size_t)n[0]) == 0 ? 0 : -1;
}

static int step(struct pair *p, size_t *kind_out)
{
	size_t at = below(LIMIT - 1);
	size_t len =
		1 + below(below(4) == 0 ? LIMIT - at : (LIMIT - at) / 16 + 1);

	*kind_out = below(10);
	switch (*kind_out) {
	case 0:
	case 1:
	case 2:
		return write_both(p, at, len);
	case 3:
		return map_write_both(p, at, len);
	case 4:
		return truncate_both(p, at);
	case 5:
		return allocate_both(
			p, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, len);
	case 6:
		return below(8) == 0 ? allocate_both(p, 0, at, len) : 0;
	case 7:
		return below(4) == 0 ? reopen(p) : sync_both(p);
	default:
		return compare(p, at, len);
	}
}

int main(int argc, char **argv)
{
	struct pair p = { .fd = { -1, -1 } };
	size_t kind = 99;
	long i, n;

	if (argc != 5)
		return 2;
	p.path[0] = argv[1];
	p.path[1] = argv[2];
	n = strtol(argv[3], NULL, 10);
	seed = strtoull(argv[4], NULL, 10) * 2654435761u + 88172645463325252u;
	if (reopen(&p) < 0) {
		perror("fsx: open");
		return 1;
	}
	for (i = 0; i <= n; i++) {
		int result = i < n ? step(&p, &kind) : compare(&p, 0, LIMIT);

		if (result == 0)
			continue;
		fprintf(stderr, "fsx: seed %s, step %ld, kind %zu: %s\n",
			argv[4], i, kind,
			errno ? strerror(errno) : "contents differ");
		return 1;
	}
	return 0;
}
