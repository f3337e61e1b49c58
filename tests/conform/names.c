/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static char longest[NAME_MAX + 1];  /* that a name may be */
static char too_long[NAME_MAX + 2]; /* by one */
static char path_longest[PATH_MAX]; /* "./././...f" */
static char path_too_long[PATH_MAX + 1];

static void prepare(void)
{
	memset(longest, 'n', NAME_MAX);
	memset(too_long, 'n', NAME_MAX + 1);
	for (size_t i = 0; i < PATH_MAX; i++)
		path_too_long[i] = i % 2 ? '/' : '.';
	memcpy(path_longest, path_too_long, PATH_MAX - 1);
	path_longest[PATH_MAX - 2] = 'f';
	path_longest[PATH_MAX - 3] = '/';
	path_longest[PATH_MAX - 4] = '/';
	path_too_long[PATH_MAX - 1] = 'f';
}

TEST(longest)
{
	struct stat st;

	prepare();
	make_file("f", "content", 0644);
	TRY_FD(open(longest, O_WRONLY | O_CREAT, 0644));
	TRY(stat(longest, &st));
	TRY(rename(longest, "g"));
	TRY(rename("g", longest));
	TRY(link(longest, "h"));
	TRY(unlink(longest));
	TRY(mkdir(longest, 0755));
	TRY(rmdir(longest));
	TRY(symlink(longest, "l"));
	TRY(symlink("f", longest));
	TRY(unlink(longest));
	TRY(mkfifo(longest, 0644));
	TRY(link(longest, "p"));
	TRY(unlink(longest));
	show_names(".");
}

TEST(too_long)
{
	struct stat st;

	prepare();
	make_file("f", "content", 0644);
	TRY_FD(open(too_long, O_RDONLY));
	TRY_FD(open(too_long, O_WRONLY | O_CREAT, 0644));
	TRY(stat(too_long, &st));
	TRY(mkdir(too_long, 0755));
	TRY(rmdir(too_long));
	TRY(unlink(too_long));
	TRY(rename("f", too_long));
	TRY(rename(too_long, "f"));
	TRY(link("f", too_long));
	TRY(link(too_long, "f"));
	TRY(symlink("f", too_long));
	TRY(symlink(too_long, "l"));
	TRY(stat("l", &st));
	TRY(mkfifo(too_long, 0644));
	TRY(chmod(too_long, 0644));
	TRY(chown(too_long, 0, 0));
	TRY(truncate(too_long, 0));
	TRY(access(too_long, F_OK));
	TRY(readlink(too_long, (char[8]){ "" }, 8));
	TRY(utimensat(AT_FDCWD, too_long, NULL, 0));
	TRY(setxattr(too_long, "user.x", "1", 1, 0));
	TRY(getxattr(too_long, "user.x", NULL, 0));
	TRY(chdir(too_long));
	show_names(".");
}

TEST(paths)
{
	struct stat st;

	prepare();
	make_file("f", "content", 0644);
	TRY(stat(path_longest, &st));
	TRY(stat(path_too_long, &st));
	TRY_FD(open(path_longest, O_RDWR));
	TRY_FD(open(path_too_long, O_RDWR));
	TRY(rename(path_longest, "g"));
	TRY(rename("g", path_too_long));
	TRY(mkdir(path_too_long, 0755));
	TRY(symlink(path_too_long, "l"));
	show_names(".");
}

/* Every byte but two may be in a name. */
TEST(bytes)
{
	char name[4] = "x?y";
	unsigned made = 0;
	unsigned found = 0;
	unsigned gone = 0;
	struct stat st;

	for (int c = 1; c < 256; c++) {
		name[1] = (char)c;
		if (c == '/')
			continue;
		made += mknod(name, S_IFREG | 0644, 0) == 0;
	}
	for (int c = 1; c < 256; c++) {
		name[1] = (char)c;
		found += stat(name, &st) == 0;
	}
	say("made and found = %u %u", made, found);
	for (int c = 1; c < 256; c++) {
		name[1] = (char)c;
		gone += unlink(name) == 0;
	}
	say("removed = %u", gone);
	TRY(mkdir("...", 0755));
	TRY(mkdir(" ", 0755));
	TRY(mkdir("-rf", 0755));
	TRY(mkdir("Case", 0755));
	TRY(mkdir("case", 0755));
	TRY(mkdir("\xc3\xa9", 0755));
	TRY(mkdir("e\xcc\x81", 0755));
	TRY(mkdir(".fuse_hidden0000000100000001", 0755));
	show_names(".");
}

TEST(deep)
{
	struct stat st;
	int depth;

	for (depth = 0; depth < 300; depth++)
		if (mkdir("a-directory", 0755) != 0 ||
		    chdir("a-directory") != 0)
			break;
	TRY(depth);
	make_file("f", "at the bottom", 0644);
	show_content("f");
	TRY(unlink("f"));
	for (depth = 0; depth < 300; depth++)
		if (chdir("..") != 0 || rmdir("a-directory") != 0)
			break;
	TRY(depth);
	TRY(stat("a-directory", &st));
	show_names(".");
}

TEST(slashes)
{
	struct stat st;

	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	NEED(symlink("d", "l"));
	TRY(stat("d//", &st));
	TRY(stat("d/./..//f", &st));
	TRY(stat("f/.", &st));
	TRY(stat("f/..", &st));
	TRY(stat("nosuch/..", &st));
	TRY(mkdir("d/e/", 0755));
	TRY(rename("d/e/", "d/g/"));
	TRY(rename("f", "h/"));
	TRY(rename("d/", "k"));
	TRY(rmdir("k/g/"));
	TRY(lstat("l", &st));
	TRY(unlink("l"));
	TRY_FD(open("f/", O_RDONLY));
	TRY_FD(open("k/.", O_RDONLY));
	TRY_FD(open("k/..", O_RDONLY));
	show_names(".");
}
