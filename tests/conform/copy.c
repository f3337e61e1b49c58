/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

static long copy(int from, off_t at, int to, off_t to_at, size_t size)
{
	return copy_file_range(from, &at, to, &to_at, size, 0);
}

TEST(ranges)
{
	int from;
	int to;

	make_bytes("f", 300000, 1);
	from = TRY_FD(open("f", O_RDONLY));
	to = TRY_FD(open("g", O_RDWR | O_CREAT, 0644));
	TRY(copy(from, 0, to, 0, 300000));
	show_content("g");
	TRY(copy(from, 1000, to, 5, 4000));
	show_content("g");
	TRY(copy(from, 299000, to, 310000, 5000));
	show_content("g");
	TRY(copy(from, 300000, to, 0, 10));
	TRY(copy(from, 400000, to, 0, 10));
	TRY(copy(from, 0, to, 0, 0));
	TRY(copy(from, -1, to, 0, 10));
	TRY(copy(from, 0, to, -1, 10));
	TRY(copy_file_range(from, NULL, to, NULL, 100, 0));
	TRY(lseek(from, 0, SEEK_CUR));
	TRY(lseek(to, 0, SEEK_CUR));
	TRY(copy_file_range(from, NULL, to, NULL, 100, 1));
	show_content("g");
}

TEST(same_file)
{
	int fd;

	make_bytes("f", 100000, 1);
	fd = TRY_FD(open("f", O_RDWR));
	TRY(copy(fd, 0, fd, 200000, 50000));
	show_content("f");
	TRY(copy(fd, 0, fd, 10, 50));
	TRY(copy(fd, 0, fd, 0, 50));
	TRY(copy(fd, 0, fd, 50, 50));
	show_content("f");
}

TEST(errors)
{
	int from;
	int fd;

	make_bytes("f", 1000, 1);
	make_file("g", "", 0644);
	NEED(mkdir("d", 0755));
	NEED(mkfifo("p", 0644));
	from = TRY_FD(open("f", O_RDONLY));
	TRY(copy(from, 0, from, 0, 10));
	fd = TRY_FD(open("g", O_WRONLY | O_APPEND));
	TRY(copy(from, 0, fd, 0, 10));
	fd = TRY_FD(open("g", O_WRONLY));
	TRY(copy(fd, 0, fd, 100, 10));
	TRY(copy(open("d", O_RDONLY), 0, fd, 0, 10));
	TRY(copy(open("p", O_RDWR), 0, fd, 0, 10));
	TRY(copy(from, 0, open("p", O_RDWR), 0, 10));
	TRY(copy(from, 0, -1, 0, 10));
	TRY(ioctl(fd, FICLONE, from) < 0 ? -1 : 0);
	show_content("g");
}

TEST(times)
{
	int from;
	int to;

	make_bytes("f", 1000, 1);
	make_bytes("g", 1000, 2);
	from = TRY_FD(open("f", O_RDONLY));
	to = TRY_FD(open("g", O_RDWR));
	TIMES("g", copy(from, 0, to, 0, 10));
	TIMES("g", copy(from, 1000, to, 0, 10));
}

/* To and from the directory past the mount. */
TEST(behind)
{
	int from;
	int to;

	make_bytes("f", 100000, 1);
	from = TRY_FD(open("f", O_RDONLY));
	to = open(behind("g"), O_RDWR | O_CREAT, 0644);
	TRY(copy(from, 0, to, 0, 50000));
	show_content("g");
	close(to);
	to = TRY_FD(open("h", O_RDWR | O_CREAT, 0644));
	from = open(behind("f"), O_RDONLY);
	TRY(copy(from, 50, to, 0, 50000));
	show_content("h");
}

TEST_AS_ROOT(set_id)
{
	int from;
	int to;

	make_bytes("f", 1000, 1);
	make_bytes("g", 1000, 2);
	NEED(chown("g", alice.uid, alice.gid));
	NEED(chmod("g", 06777));
	from = TRY_FD(open("f", O_RDONLY));
	be(&alice);
	to = TRY_FD(open("g", O_RDWR));
	TRY(copy(from, 0, to, 0, 10));
	show_stat("g");
	be(&root);
	NEED(chmod("g", 06777));
	TRY(copy(from, 0, to, 0, 10));
	show_stat("g");
}
