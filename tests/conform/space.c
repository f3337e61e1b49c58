/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * On a filesystem of a few megabytes, which conform.t has made: what happens
 * when it is full.  Not after how many bytes.
 */
#define PIECE 65536

static void fill_up(int fd)
{
	static char data[PIECE];
	ssize_t len = 0;

	memset(data, 'x', PIECE);
	for (int i = 0; i < 10000 && len >= 0; i++)
		len = write(fd, data, PIECE);
	say("the last write = %s", len < 0 ? error_name(errno) : "written");
}

TEST(full)
{
	struct stat st = { .st_size = 0 };
	int fd = TRY_FD(open("f", O_RDWR | O_CREAT, 0644));
	int other = TRY_FD(open("g", O_RDWR | O_CREAT, 0644));
	char byte = 0;

	fill_up(fd);
	(void)fstat(fd, &st);
	TRY(st.st_size > 1000000);
	TRY(fsync(fd));
	TRY(pread(fd, &byte, 1, st.st_size - 1));
	say("the last byte = %c", byte);
	TRY(fallocate(other, 0, 0, 1000000));
	TRY(ftruncate(other, 100000000));
	TRY(pwrite(fd, "over", 4, 0));
	TRY(close(fd));
	TRY(unlink("f"));
	wait_for_room(".");
	TRY(pwrite(other, "x", 1, 0));
	show_stat("g");
	TRY(unlink("g"));
}

TEST(allocate)
{
	int fd = TRY_FD(open("f", O_RDWR | O_CREAT, 0644));

	TRY(fallocate(fd, 0, 0, 1L << 30));
	TRY(posix_fallocate(fd, 0, 1L << 30));
	TRY(ftruncate(fd, 0));
	TRY(write(fd, "room", 4));
	show_content("f");
	TRY(unlink("f"));
}

TEST(no_numbers)
{
	char name[32];
	int made = 0;

	make_file("f", "content", 0644);
	do
		snprintf(name, sizeof(name), "file-%d", made++);
	while (mknod(name, S_IFREG | 0644, 0) == 0);
	say("the last file = %s", error_name(errno));
	TRY_FD(open("new", O_RDWR | O_CREAT, 0644));
	TRY(mkdir("new", 0755));
	TRY(symlink("x", "new"));
	TRY(mkfifo("new", 0644));
	TRY(link("f", "new"));
	TRY(rename("f", "other"));
	TRY(unlink("file-0"));
	wait_for_room(".");
	TRY(mkdir("dir", 0755));
	for (int i = 1; i < made; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		(void)unlink(name);
	}
	show_names(".");
}
