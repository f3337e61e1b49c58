/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <unistd.h>

#define MIB ((off_t)1 << 20)

/* Where data and holes begin, from one end to the other. */
static void show_map(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	off_t at = 0;

	while (at < end) {
		off_t data = TRY(lseek(fd, at, SEEK_DATA));
		off_t hole;

		if (data < 0)
			return;
		hole = TRY(lseek(fd, data, SEEK_HOLE));
		if (hole < 0)
			return;
		at = hole;
	}
}

TEST(sparse)
{
	int fd = TRY_FD(open("f", O_RDWR | O_CREAT, 0644));

	TRY(ftruncate(fd, 10 * MIB));
	show_map(fd);
	TRY(pwrite(fd, "a", 1, 0));
	TRY(pwrite(fd, "b", 1, 3 * MIB + 5));
	TRY(pwrite(fd, "c", 1, 10 * MIB - 1));
	show_map(fd);
	TRY(fsync(fd));
	show_map(fd);
	TRY(fallocate(fd, 1 | 2, 3 * MIB, 8192));
	show_map(fd);
	TRY(fallocate(fd, 0, 5 * MIB, 8192));
	show_map(fd);
	TRY(lseek(fd, 10 * MIB, SEEK_DATA));
	TRY(lseek(fd, 10 * MIB, SEEK_HOLE));
	TRY(lseek(fd, 11 * MIB, SEEK_HOLE));
	TRY(lseek(fd, 10 * MIB - 1, SEEK_DATA));
	TRY(lseek(fd, 10 * MIB - 1, SEEK_HOLE));
	TRY(lseek(fd, -1, SEEK_DATA));
	TRY(lseek(fd, -1, SEEK_HOLE));
	TRY(lseek(fd, 0, SEEK_CUR));
	TRY(lseek(fd, 0, 99));
	show_content("f");
}

TEST(full_and_empty)
{
	int fd;

	make_bytes("f", 100000, 1);
	fd = TRY_FD(open("f", O_RDONLY));
	show_map(fd);
	TRY(lseek(fd, 50, SEEK_HOLE));
	TRY(lseek(fd, 50, SEEK_DATA));
	TRY(lseek(fd, 100000, SEEK_HOLE));
	make_file("g", "", 0644);
	fd = TRY_FD(open("g", O_RDONLY));
	TRY(lseek(fd, 0, SEEK_DATA));
	TRY(lseek(fd, 0, SEEK_HOLE));
}

TEST(kinds)
{
	int fd;

	NEED(mkdir("d", 0755));
	NEED(mkfifo("p", 0644));
	fd = TRY_FD(open("d", O_RDONLY));
	TRY(lseek(fd, 0, SEEK_SET));
	TRY(lseek(fd, 0, SEEK_CUR));
	TRY(lseek(fd, -1, SEEK_SET));
	TRY(lseek(fd, 0, SEEK_DATA) < 0 ? -1 : 0);
	fd = TRY_FD(open("p", O_RDWR));
	TRY(lseek(fd, 0, SEEK_SET));
	TRY(lseek(-1, 0, SEEK_SET));
}
