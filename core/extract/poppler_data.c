/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/poppler_data.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/array.h"

static const char data_directory[] = "/usr/share/poppler";

struct data_file {
	char *path;
	void *data;
	size_t len;
};

bool poppler_data_missed;

static struct data_file *files;
static size_t file_count;
static bool is_loaded;

enum { FOLDERS_OPEN = 4 };

/* A package's files, which are replaced and not cut. */
static int map_file(const char *path, const struct stat *st, int type,
		    struct FTW *where)
{
	struct data_file *all;
	void *data;
	int fd;

	(void)where;
	if (type != FTW_F || !st->st_size)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	data = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	(void)close(fd);
	if (data == MAP_FAILED)
		return -1;
	all = array_with_room(files, file_count, sizeof(*all));
	if (!all)
		return -1;
	files = all;
	files[file_count] =
		(struct data_file){ strdup(path), data, (size_t)st->st_size };
	return files[file_count++].path ? 0 : -1;
}

/* That the package is missing is not an error: files are missed then. */
int poppler_data_load(void)
{
	int err = nftw(data_directory, map_file, FOLDERS_OPEN, FTW_PHYS);

	is_loaded = true;
	return err && errno != ENOENT ? -1 : 0;
}

static FILE *open_data(const char *path)
{
	size_t i;

	for (i = 0; i < file_count; i++)
		if (!strcmp(files[i].path, path))
			return fmemopen(files[i].data, files[i].len, "r");
	poppler_data_missed = true;
	errno = ENOENT;
	return NULL;
}

/* These take the place of the C library's. */
static FILE *open_file(const char *path, const char *mode, const char *name)
{
	FILE *(*original)(const char *, const char *);

	if (is_loaded)
		return open_data(path);
	*(void **)&original = dlsym(RTLD_NEXT, name);
	return original ? original(path, mode) : NULL;
}

__attribute__((visibility("default"))) FILE *fopen(const char *path,
						   const char *mode)
{
	return open_file(path, mode, "fopen");
}

__attribute__((visibility("default"))) FILE *fopen64(const char *path,
						     const char *mode)
{
	return open_file(path, mode, "fopen64");
}
