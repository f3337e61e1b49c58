/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define GIB ((off_t)1 << 30)

TEST(sizes)
{
	static const off_t sizes[] = { 0, 1, 4095, 4096, 4097, 100000, 0, 5 };
	int fd;

	make_bytes("f", 10000, 1);
	make_bytes("g", 10000, 1);
	fd = TRY_FD(open("g", O_RDWR));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		TRY(truncate("f", sizes[i]));
		show_content("f");
		TRY(ftruncate(fd, sizes[i]));
		show_content("g");
	}
	TRY(truncate("f", -1));
	TRY(ftruncate(fd, -1));
}

TEST(large)
{
	struct stat st = { .st_size = 0 };
	char data[8] = "";
	int fd;

	make_file("f", "start", 0644);
	fd = TRY_FD(open("f", O_RDWR));
	TRY(truncate("f", 5 * GIB));
	show_stat("f");
	TRY(pwrite(fd, "far", 3, 5 * GIB - 3));
	TRY(pwrite(fd, "beyond", 6, 6 * GIB));
	TRY(pread(fd, data, 3, 5 * GIB - 3));
	say("data = %.3s", data);
	TRY(pread(fd, data, 3, 5 * GIB - 2));
	show_fd(fd);
	NEED(fstat(fd, &st));
	TRY(st.st_blocks < 1000);
	TRY(ftruncate(fd, 4 * GIB + 1));
	show_fd(fd);
	TRY(ftruncate(fd, 3 * GIB));
	TRY(ftruncate(fd, 7 * GIB));
	TRY(pread(fd, data, 4, 5 * GIB - 3));
	say("data = %02x %02x", (unsigned)data[0], (unsigned)data[3]);
	TRY(ftruncate(fd, 16 * 1024 * GIB));
	TRY(ftruncate(fd, 1024 * 1024 * GIB));
	TRY(pwrite(fd, "x", 1, 16 * 1024 * GIB));
	TRY(truncate("f", 0x7fffffffffffffff));
	show_fd(fd);
	TRY(ftruncate(fd, 5));
	show_content("f");
}

TEST(kinds)
{
	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	NEED(symlink("f", "l"));
	NEED(symlink("nosuch", "dangling"));
	NEED(mkfifo("p", 0644));
	TRY(truncate("d", 0));
	TRY(truncate("p", 0));
	TRY(truncate("dangling", 0));
	TRY(truncate("nosuch", 0));
	TRY(truncate("f/x", 0));
	TRY(truncate("", 0));
	TRY(truncate("l", 3));
	show_content("f");
	TRY(ftruncate(open("d", O_RDONLY), 0));
	TRY(ftruncate(open("f", O_RDONLY), 0));
	TRY(ftruncate(open("p", O_RDWR), 0));
}

TEST(times)
{
	int fd;

	make_file("f", "content", 0644);
	fd = open("f", O_WRONLY);
	TIMES("f", truncate("f", 3));
	TIMES("f", truncate("f", 3));
	TIMES("f", truncate("f", 100));
	TIMES("f", ftruncate(fd, 100));
	TIMES("f", ftruncate(fd, 50));
	TIMES("f", truncate("f", -1));
	show_content("f");
}

TEST_AS_ROOT(permission)
{
	static const mode_t modes[] = { 0644, 0444, 0222, 0, 06777, 02767 };
	int fd;

	make_file("f", "content", 0644);
	NEED(chown("f", alice.uid, SHARED_GROUP));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		NEED(chmod("f", modes[i]));
		be(&alice);
		TRY(truncate("f", 6));
		show_stat("f");
		be(&root);
		NEED(chmod("f", modes[i]));
		be(&bob);
		TRY(truncate("f", 5));
		show_stat("f");
		be(&root);
		NEED(chmod("f", modes[i]));
		fd = open("f", O_RDWR);
		be(&bob);
		TRY(ftruncate(fd, 4));
		show_stat("f");
		be(&root);
		close(fd);
	}
}

TEST(open_elsewhere)
{
	char data[16];
	int a;
	int b;

	make_bytes("f", 10000, 2);
	a = open("f", O_RDONLY);
	b = open("f", O_RDWR);
	TRY(pread(a, data, 16, 5000));
	TRY(ftruncate(b, 4000));
	TRY(pread(a, data, 16, 5000));
	TRY(pread(a, data, 16, 3992));
	TRY(ftruncate(b, 10000));
	TRY(pread(a, data, 16, 3992));
	say("data = %02x %02x", (unsigned char)data[0],
	    (unsigned char)data[15]);
	TRY(truncate("f", 0));
	TRY(pread(a, data, 16, 0));
	TRY(lseek(a, 0, SEEK_END));
	show_fd(a);
}
