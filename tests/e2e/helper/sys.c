/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One system call on a file; prints "ok" or the name of the error, for tests
 * that care which one it is.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int get(char **arg)
{
	static char value[65536];

	return (int)getxattr(arg[0], arg[1], value, sizeof(value));
}

static int size(char **arg)
{
	return (int)getxattr(arg[0], arg[1], NULL, 0);
}

/* A buffer one byte too small. */
static int get_short(char **arg)
{
	char value[1];

	return (int)getxattr(arg[0], arg[1], value, sizeof(value));
}

static int set(char **arg)
{
	return setxattr(arg[0], arg[1], "value", 5, 0);
}

static int remove_attribute(char **arg)
{
	return removexattr(arg[0], arg[1]);
}

static int write_lock(char **arg)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(arg[0], O_RDWR);

	if (fd < 0)
		return -1;
	return fcntl(fd, F_SETLK, &lock);
}

/* Until standard input ends. */
static int hold_lock(char **arg)
{
	if (write_lock(arg) < 0)
		return -1;
	puts("held");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}

/* A file without a name, which link_tmpfile() gives it. */
static int make_tmpfile(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR, 0644);

	return fd < 0 || write(fd, "temporary\n", 10) != 10 ? -1 : fd;
}

static int link_tmpfile(int fd, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static int tmpfile_linked(char **arg)
{
	int fd = make_tmpfile(arg[0]);

	return fd < 0 ? -1 : link_tmpfile(fd, arg[1]);
}

/* Linked when standard input ends, long after the writer has closed it. */
static int tmpfile_closed(char **arg)
{
	char path[64];
	int fd = make_tmpfile(arg[0]);
	int reader;

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	reader = open(path, O_RDONLY);
	close(fd);
	puts("closed");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return link_tmpfile(reader, arg[1]);
}

static int exchange(char **arg)
{
	return renameat2(AT_FDCWD, arg[0], AT_FDCWD, arg[1], RENAME_EXCHANGE);
}

static int no_replace(char **arg)
{
	return renameat2(AT_FDCWD, arg[0], AT_FDCWD, arg[1], RENAME_NOREPLACE);
}

static int copy_range(char **arg)
{
	int in = open(arg[0], O_RDONLY);
	int out = open(arg[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ssize_t n;

	if (in < 0 || out < 0)
		return -1;
	do
		n = copy_file_range(in, NULL, out, NULL, 1 << 20, 0);
	while (n > 0);
	return (int)n;
}

/* First hole of a file, on standard output. */
static int hole(char **arg)
{
	int fd = open(arg[0], O_RDONLY);
	off_t at = fd < 0 ? -1 : lseek(fd, 0, SEEK_HOLE);

	if (at < 0)
		return -1;
	printf("%lld ", (long long)at);
	return 0;
}

static int find(char **arg)
{
	struct stat st;

	return lstat(arg[0], &st);
}

static int list(char **arg)
{
	return opendir(arg[0]) ? 0 : -1;
}

static int sync_file(char **arg)
{
	int fd = open(arg[0], O_RDONLY);

	return fd < 0 ? -1 : fsync(fd);
}

/* As most programs do it: asks for the size, here until standard input ends,
 * and gives that much room. */
static int list_attributes(char **arg)
{
	ssize_t len = listxattr(arg[0], NULL, 0);
	char *names = len > 0 ? malloc((size_t)len) : NULL;
	int result;

	if (!names)
		return (int)len;
	puts("asked");
	fflush(stdout);
	while (getchar() != EOF)
		;
	result = (int)listxattr(arg[0], names, (size_t)len);
	free(names);
	return result;
}

static void on_alarm(int number)
{
	(void)number;
}

/* A signal comes while the list is waited for. */
static int list_interrupted(char **arg)
{
	static char names[65536];
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	alarm(1);
	return (int)listxattr(arg[0], names, sizeof(names));
}

static const struct {
	const char *name;
	int arguments;
	int (*call)(char **arg);
} calls[] = {
	{ "getx", 2, get },
	{ "getx-size", 2, size },
	{ "getx-short", 2, get_short },
	{ "listx", 1, list_attributes },
	{ "listx-alarm", 1, list_interrupted },
	{ "setx", 2, set },
	{ "removex", 2, remove_attribute },
	{ "lock", 1, write_lock },
	{ "hold-lock", 1, hold_lock },
	{ "tmpfile", 2, tmpfile_linked },
	{ "tmpfile-closed", 2, tmpfile_closed },
	{ "exchange", 2, exchange },
	{ "no-replace", 2, no_replace },
	{ "copy-range", 2, copy_range },
	{ "hole", 1, hole },
	{ "fsync", 1, sync_file },
	{ "find", 1, find },
	{ "list", 1, list },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, argv[1]) != 0 ||
		    calls[i].arguments != argc - 2)
			continue;
		if (calls[i].call(argv + 2) < 0)
			puts(strerrorname_np(errno));
		else
			puts("ok");
		return 0;
	}
	fprintf(stderr, "usage: sys CALL FILE...\n");
	return 2;
}
