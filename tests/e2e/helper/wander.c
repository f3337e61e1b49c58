/* SPDX-License-Identifier: Apache-2.0 */

/*
 * wander MOUNT COUNT FILE...: uses each file of the mount, and the whole mount,
 * COUNT times in all ways that take a path: reads digests, content and
 * listings, opens for writing, makes a file beside it and removes that, and
 * has SOURCE scanned.  Prints the digests, contents and names that it got to
 * see.  Errors are as good as anything: somebody else changes the tree
 * meanwhile, and only the owner of the mount has it scanned.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static void show(const char *bytes, ssize_t len)
{
	if (len > 0)
		printf("%.*s\n", (int)len, bytes);
}

static void read_file(const char *path)
{
	char bytes[16384];
	int fd = open(path, O_RDONLY);

	show(bytes, getxattr(path, "user.xxh128", bytes, sizeof(bytes)));
	if (fd < 0)
		return;
	show(bytes, read(fd, bytes, sizeof(bytes)));
	close(fd);
}

static void list(const char *mount, const char *file)
{
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/.similar/%s", mount, file);
	d = opendir(path);
	while (d && (e = readdir(d)))
		puts(e->d_name);
	if (d)
		closedir(d);
}

static void write_file(const char *path)
{
	char beside[PATH_MAX];
	int fd = open(path, O_WRONLY | O_APPEND);

	if (fd >= 0)
		close(fd);
	snprintf(beside, sizeof(beside), "%.*snew",
		 (int)(strrchr(path, '/') + 1 - path), path);
	fd = open(beside, O_WRONLY | O_CREAT, 0666);
	if (fd >= 0)
		close(fd);
	unlink(beside);
}

static int show_name(const char *path, const struct stat *st, int type,
		     struct FTW *at)
{
	(void)st, (void)type, (void)at;
	puts(path);
	return 0;
}

int main(int argc, char **argv)
{
	long count = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	char path[PATH_MAX];
	int i;

	while (count-- > 0) {
		for (i = 3; i < argc; i++) {
			snprintf(path, sizeof(path), "%s/%s", argv[1], argv[i]);
			read_file(path);
			list(argv[1], argv[i]);
			write_file(path);
		}
		setxattr(argv[1], "user.kinfs.control", "rescan", 6, 0);
		snprintf(path, sizeof(path), "%s/.similar", argv[1]);
		nftw(path, show_name, 16, FTW_PHYS);
		nftw(argv[1], show_name, 16, FTW_PHYS);
	}
	return 0;
}
