/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

TEST(create)
{
	int fd;

	TRY_FD(open("f", O_RDWR));
	fd = TRY_FD(open("f", O_RDWR | O_CREAT, 0640));
	show_fd(fd);
	TRY(write(fd, "hello", 5));
	TRY(close(fd));
	TRY(close(fd));
	TRY_FD(open("f", O_RDWR | O_CREAT | O_EXCL, 0640));
	fd = TRY_FD(open("g", O_WRONLY | O_CREAT | O_EXCL, 0));
	TRY(write(fd, "written through a mode of 0", 27));
	TRY(read(fd, &fd, 0));
	show_stat("g");
	fd = TRY_FD(open("h", O_RDONLY | O_CREAT, 0444));
	TRY(write(fd, "x", 1));
	show_stat("h");
	TRY_FD(open("i", O_WRONLY | O_CREAT, 07777));
	show_stat("i");
	TRY_FD(creat("f", 0600));
	show_stat("f");
	TRY_FD(open("nosuch/f", O_CREAT | O_WRONLY, 0600));
	TRY_FD(open("f/f", O_CREAT | O_WRONLY, 0600));
	TRY_FD(open("", O_CREAT | O_WRONLY, 0600));
	TRY_FD(open("d/", O_CREAT | O_WRONLY, 0600));
	show_names(".");
}

TEST(access_modes)
{
	char byte = 0;
	int fd;

	make_file("f", "abc", 0644);
	fd = TRY_FD(open("f", O_RDONLY));
	TRY(write(fd, "x", 1));
	TRY(read(fd, &byte, 1));
	TRY(ftruncate(fd, 1));
	fd = TRY_FD(open("f", O_WRONLY));
	TRY(read(fd, &byte, 1));
	TRY(write(fd, "x", 1));
	TRY(ftruncate(fd, 2));
	fd = TRY_FD(open("f", O_RDWR));
	TRY(read(fd, &byte, 1));
	TRY(write(fd, "y", 1));
	TRY(fcntl(fd, F_GETFL) & O_ACCMODE);
	fd = TRY_FD(open("f", O_ACCMODE));
	TRY(read(fd, &byte, 1));
	TRY(write(fd, "z", 1));
	show_content("f");
}

TEST(truncate)
{
	int other;
	int fd;

	make_file("f", "some content", 0644);
	other = TRY_FD(open("f", O_RDONLY));
	TIMES("f", (fd = open("f", O_WRONLY | O_TRUNC)) < 0 ? -1 : 0);
	show_stat("f");
	show_fd(other);
	make_file("f", "some content", 0644);
	TRY_FD(open("f", O_RDONLY | O_TRUNC));
	show_stat("f");
	make_file("g", "some content", 0444);
	fd = TRY_FD(open("g", O_RDONLY));
	TRY_FD(open("g", O_RDONLY | O_TRUNC));
	show_fd(fd);
	TIMES("f", (fd = open("f", O_WRONLY | O_TRUNC)) < 0 ? -1 : 0);
	TRY_FD(open(".", O_RDONLY | O_TRUNC));
	TRY_FD(open("f", O_PATH | O_TRUNC));
	make_file("h", "some content", 0644);
	TRY_FD(open("h", O_WRONLY | O_CREAT | O_EXCL | O_TRUNC, 0644));
	show_content("h");
	TRY_FD(open("h", O_WRONLY | O_CREAT | O_TRUNC, 0600));
	show_stat("h");
}

TEST(append)
{
	char data[8] = "";
	int fd;
	int other;

	make_file("f", "0123", 0644);
	fd = TRY_FD(open("f", O_RDWR | O_APPEND));
	other = TRY_FD(open("f", O_RDWR));
	TRY(write(fd, "ab", 2));
	TRY(lseek(fd, 0, SEEK_CUR));
	TRY(lseek(fd, 0, SEEK_SET));
	TRY(write(fd, "cd", 2));
	TRY(pwrite(fd, "ef", 2, 1));
	TRY(lseek(other, 0, SEEK_END));
	TRY(write(other, "gh", 2));
	TRY(write(fd, "ij", 2));
	TRY(ftruncate(other, 3));
	TRY(write(fd, "kl", 2));
	show_content("f");
	TRY(fcntl(fd, F_SETFL, 0));
	TRY(lseek(fd, 0, SEEK_SET));
	TRY(write(fd, "M", 1));
	TRY(fcntl(other, F_SETFL, O_APPEND));
	TRY(lseek(other, 0, SEEK_SET));
	TRY(write(other, "N", 1));
	TRY(pread(other, data, sizeof(data), 0));
	say("data = %.8s", data);
	show_content("f");
}

TEST(append_behind)
{
	int fd;
	int other;

	make_file("f", "0123", 0644);
	fd = TRY_FD(open("f", O_WRONLY | O_APPEND));
	other = open(behind("f"), O_WRONLY | O_APPEND);
	TRY(write(fd, "ab", 2));
	TRY(write(other, "cd", 2));
	TRY(write(fd, "ef", 2));
	TRY(write(other, "gh", 2));
	TRY(write(fd, "ij", 2));
	TRY(close(fd));
	TRY_FD(fd = open("f", O_RDONLY));
	show_content("f");
}

#define BLOCK 4096

TEST(direct)
{
	char *data;
	int fd;

	if (posix_memalign((void **)&data, BLOCK, (size_t)2 * BLOCK) != 0)
		return;
	fill_bytes(data, (size_t)2 * BLOCK, 1);
	fd = TRY_FD(open("f", O_RDWR | O_CREAT | O_DIRECT, 0644));
	TRY(write(fd, data, (size_t)2 * BLOCK));
	TRY(fcntl(fd, F_GETFL) & O_DIRECT ? 1 : 0);
	memset(data, 0, (size_t)2 * BLOCK);
	TRY(pread(fd, data, BLOCK, BLOCK));
	TRY(pread(fd, data, (size_t)2 * BLOCK, BLOCK));
	TRY(pread(fd, data, BLOCK, 5L * BLOCK));
	TRY(pwrite(fd, data, BLOCK, 3L * BLOCK));
	show_content("f");
	TRY(fcntl(fd, F_SETFL, 0));
	TRY(pwrite(fd, "unaligned", 9, 5));
	TRY(close(fd));
	show_content("f");
	fd = TRY_FD(open("f", O_WRONLY));
	TRY(fcntl(fd, F_SETFL, O_DIRECT));
	TRY(pwrite(fd, data, BLOCK, 0));
	show_content("f");
	free(data);
}

TEST(direct_unaligned)
{
	char *data;
	int fd;

	if (posix_memalign((void **)&data, BLOCK, (size_t)2 * BLOCK) != 0)
		return;
	make_bytes("f", (size_t)3 * BLOCK, 2);
	fd = TRY_FD(open("f", O_RDWR | O_DIRECT));
	TRY(pread(fd, data + 1, BLOCK, 0));
	TRY(pread(fd, data, 100, 0));
	TRY(pread(fd, data, BLOCK, 100));
	TRY(pwrite(fd, data + 1, BLOCK, 0));
	TRY(pwrite(fd, data, 100, 0));
	TRY(pwrite(fd, data, BLOCK, 100));
	free(data);
}

TEST(path)
{
	char byte;
	int dir;
	int fd;

	make_file("f", "abc", 0644);
	NEED(symlink("f", "l"));
	NEED(mkdir("d", 0755));
	make_file("d/g", "def", 0);
	fd = TRY_FD(open("f", O_PATH));
	TRY(read(fd, &byte, 1));
	TRY(write(fd, "x", 1));
	TRY(fchmod(fd, 0600));
	TRY(fchown(fd, (uid_t)-1, (gid_t)-1));
	TRY(ftruncate(fd, 0));
	TRY(fsync(fd));
	TRY(lseek(fd, 0, SEEK_SET));
	TRY(fcntl(fd, F_GETFL) & O_PATH ? 1 : 0);
	show_fd(fd);
	fd = TRY_FD(open("l", O_PATH | O_NOFOLLOW));
	show_fd(fd);
	fd = TRY_FD(open("d/g", O_PATH));
	show_fd(fd);
	dir = TRY_FD(open("d", O_PATH));
	TRY_FD(openat(dir, "g", O_PATH));
	TRY(faccessat(dir, "g", F_OK, 0));
	TRY(fstatat(dir, "nosuch", &(struct stat){ 0 }, 0));
	TRY(fchdir(dir));
	show_names(".");
}

TEST(nofollow_directory)
{
	make_file("f", "abc", 0644);
	NEED(mkdir("d", 0755));
	NEED(symlink("f", "lf"));
	NEED(symlink("d", "ld"));
	NEED(symlink("nosuch", "dangling"));
	TRY_FD(open("lf", O_RDONLY));
	TRY_FD(open("lf", O_RDONLY | O_NOFOLLOW));
	TRY_FD(open("ld", O_RDONLY | O_NOFOLLOW));
	TRY_FD(open("ld", O_RDONLY | O_DIRECTORY));
	TRY_FD(open("ld", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
	TRY_FD(open("ld/", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
	TRY_FD(open("f", O_RDONLY | O_DIRECTORY));
	TRY_FD(open("f", O_RDONLY | O_NOFOLLOW));
	TRY_FD(open("f/", O_RDONLY));
	TRY_FD(open("d", O_RDONLY));
	TRY_FD(open("d", O_WRONLY));
	TRY_FD(open("d", O_RDWR));
	TRY_FD(open("d", O_RDONLY | O_CREAT, 0644));
	TRY_FD(open("d", O_RDONLY | O_CREAT | O_EXCL, 0644));
	TRY_FD(open("new", O_RDONLY | O_CREAT | O_DIRECTORY, 0644));
	show_names(".");
	TRY_FD(open("dangling", O_RDONLY));
	TRY_FD(open("dangling", O_WRONLY | O_CREAT | O_EXCL, 0644));
	TRY_FD(open("dangling", O_WRONLY | O_CREAT | O_NOFOLLOW, 0644));
	TRY_FD(open("dangling", O_WRONLY | O_CREAT, 0644));
	show_names(".");
}

TEST(tmpfile)
{
	char path[64];
	int fd;

	NEED(mkdir("d", 0755));
	fd = TRY_FD(open("d", O_TMPFILE | O_RDWR, 0640));
	if (fd < 0)
		return;
	show_fd(fd);
	TRY(write(fd, "temporary", 9));
	show_names("d");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	TRY(linkat(AT_FDCWD, path, AT_FDCWD, "d/f", AT_SYMLINK_FOLLOW));
	show_stat("d/f");
	show_content("d/f");
	fd = TRY_FD(open("d", O_TMPFILE | O_RDWR | O_EXCL, 0640));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	TRY(linkat(AT_FDCWD, path, AT_FDCWD, "d/g", AT_SYMLINK_FOLLOW));
	TRY_FD(open("d", O_TMPFILE | O_RDONLY, 0640));
	TRY_FD(open("d/f", O_TMPFILE | O_RDWR, 0640));
	TRY_FD(open("d/nosuch", O_TMPFILE | O_RDWR, 0640));
}

TEST(tmpfile_errors)
{
	make_file("f", "", 0644);
	TRY_FD(open(".", O_TMPFILE | O_RDONLY, 0640));
	TRY_FD(open("f", O_TMPFILE | O_RDWR, 0640));
	TRY_FD(open("nosuch", O_TMPFILE | O_RDWR, 0640));
}

TEST(odd_flags)
{
	int n;
	int fd;

	make_file("f", "abc", 0644);
	fd = TRY_FD(open("f", O_RDWR | O_SYNC));
	TRY(write(fd, "s", 1));
	TRY(fcntl(fd, F_GETFL) & O_SYNC ? 1 : 0);
	fd = TRY_FD(open("f", O_RDWR | O_DSYNC));
	TRY(write(fd, "d", 1));
	fd = TRY_FD(open("f", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	TRY(fcntl(fd, F_GETFD));
	TRY(write(fd, "n", 1));
	fd = TRY_FD(open("f", O_RDONLY | O_NOATIME));
	TRY(read(fd, &n, 1));
	fd = TRY_FD(open("f", O_RDWR | O_ASYNC));
	TRY(write(fd, "a", 1));
	TRY(ioctl(fd, FIONREAD, &n));
	TRY(ioctl(fd, TCGETS, &n));
	TRY(fcntl(fd, F_GETPIPE_SZ));
	TRY(fcntl(fd, F_SETFL, O_NOATIME));
	show_content("f");
}

TEST_AS_ROOT(of_another_user)
{
	make_file("f", "abc", 0666);
	make_file("mine", "abc", 0600);
	NEED(chmod(".", 0777));
	be(&alice);
	TRY_FD(open("f", O_RDONLY | O_NOATIME));
	TRY_FD(open("mine", O_RDONLY));
	TRY_FD(open("mine", O_PATH));
	TRY_FD(open("new", O_RDWR | O_CREAT, 0600));
	show_stat("new");
	be(&bob);
	TRY_FD(open("new", O_RDONLY));
	TRY_FD(open("new", O_RDWR | O_CREAT, 0600));
	TRY_FD(open("new", O_WRONLY | O_TRUNC));
	be(&root);
	TRY_FD(open("new", O_RDWR));
}
