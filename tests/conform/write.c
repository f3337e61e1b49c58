/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

TEST(sizes)
{
	static const size_t sizes[] = { 0,    1,       4095,       4096,
					4097, 65535,   65536,      131073,
					MIB,  MIB + 1, 3 * MIB + 7 };
	char *data = malloc(4 * MIB);
	char name[32];
	int fd;

	NEED(data ? 0 : -1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(name, sizeof(name), "f%zu", sizes[i]);
		fill_bytes(data, sizes[i], (unsigned)i);
		fd = TRY_FD(open(name, O_RDWR | O_CREAT | O_EXCL, 0644));
		TRY(write(fd, data, sizes[i]));
		TRY(lseek(fd, 0, SEEK_CUR));
		TRY(pread(fd, data, 4 * MIB, 0));
		TRY(close(fd));
		show_content(name);
		show_stat(name);
	}
	free(data);
}

TEST(offsets)
{
	char data[16] = "";
	int fd = TRY_FD(open("f", O_RDWR | O_CREAT, 0644));

	TRY(pwrite(fd, "tail", 4, 10000));
	TRY(pwrite(fd, "over", 4, 4094));
	TRY(pwrite(fd, "start", 5, 0));
	TRY(pwrite(fd, "x", 1, -1));
	TRY(pread(fd, data, 8, 9998));
	TRY(pread(fd, data, 8, 10004));
	TRY(pread(fd, data, 8, 20000));
	TRY(pread(fd, data, 8, -1));
	TRY(lseek(fd, 3, SEEK_SET));
	TRY(read(fd, data, 4));
	TRY(write(fd, "ABC", 3));
	TRY(lseek(fd, 0, SEEK_CUR));
	TRY(lseek(fd, -1, SEEK_SET));
	TRY(lseek(fd, -4, SEEK_END));
	TRY(write(fd, "", 0));
	TRY(write(fd, "longer than the tail", 20));
	TRY(lseek(fd, 5, SEEK_END));
	TRY(write(fd, "gap", 3));
	show_fd(fd);
	show_content("f");
	TRY(pwrite(fd, "x", 1, 0x7fffffffffffffff));
	TRY(lseek(fd, 0x7fffffffffffffff, SEEK_SET));
}

TEST(vectors)
{
	char a[8] = "";
	char b[8] = "";
	struct iovec out[] = {
		{ .iov_base = "one", .iov_len = 3 },
		{ .iov_base = "", .iov_len = 0 },
		{ .iov_base = "three", .iov_len = 5 },
	};
	struct iovec in[] = {
		{ .iov_base = a, .iov_len = 2 },
		{ .iov_base = b, .iov_len = 7 },
	};
	int fd = TRY_FD(open("f", O_RDWR | O_CREAT, 0644));

	TRY(writev(fd, out, 3));
	TRY(pwritev(fd, out, 3, 4));
	TRY(preadv(fd, in, 2, 3));
	say("data = %.2s %.7s", a, b);
	TRY(pwritev2(fd, out, 3, -1, RWF_APPEND));
	TRY(pwritev2(fd, out, 3, 0, RWF_APPEND));
	TRY(pwritev2(fd, out, 1, 0, RWF_DSYNC));
	TRY(preadv2(fd, in, 2, 0, 0));
	show_content("f");
}

TEST(times)
{
	char data[8];
	int fd;

	make_file("f", "content", 0644);
	fd = open("f", O_RDWR);
	TIMES("f", write(fd, "x", 1));
	TIMES("f", write(fd, "", 0));
	TIMES("f", read(fd, data, 0));
	TIMES("f", lseek(fd, 0, SEEK_SET));
	TIMES("f", fsync(fd));
	TIMES("f", close(fd));
	TIMES(".", (fd = open("g", O_WRONLY | O_CREAT, 0644)) < 0 ? -1 : 0);
	TIMES(".", (fd = open("g", O_WRONLY | O_CREAT, 0644)) < 0 ? -1 : 0);
	TIMES("g", pwrite(fd, "x", 1, 5000));
}

TEST(access_time)
{
	char data[8];
	int fd;

	make_file("f", "content", 0644);
	NEED(utimensat(
		AT_FDCWD, "f",
		(struct timespec[]){ { .tv_sec = 1000 }, { .tv_sec = 2000 } },
		0));
	fd = open("f", O_RDONLY);
	TIMES("f", read(fd, data, sizeof(data)));
	TIMES("f", pread(fd, data, sizeof(data), 0));
	NEED(mkdir("d", 0755));
	NEED(utimensat(
		AT_FDCWD, "d",
		(struct timespec[]){ { .tv_sec = 1000 }, { .tv_sec = 2000 } },
		0));
	TIMES("d", fd = open("d", O_RDONLY) < 0 ? -1 : 0);
	show_names("d");
	TIMES("f", (fd = open("f", O_RDONLY | O_NOATIME)) < 0 ? -1 : 0);
	TIMES("f", read(fd, data, sizeof(data)));
}

/* A write by somebody without the capability takes the set-ID bits. */
TEST_AS_ROOT(set_id)
{
	static const mode_t modes[] = {
		04777, 02777, 06777, 06767, 02767, 06666
	};
	char name[32];
	int fd;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		snprintf(name, sizeof(name), "f%o", (unsigned)modes[i]);
		make_file(name, "content", 0644);
		NEED(chown(name, alice.uid, SHARED_GROUP));
		NEED(chmod(name, modes[i]));
		fd = TRY_FD(open(name, O_WRONLY));
		TRY(write(fd, "x", 1));
		close(fd);
		show_stat(name);
		be(&bob);
		fd = TRY_FD(open(name, O_WRONLY));
		show_stat(name);
		TRY(write(fd, "y", 1));
		show_stat(name);
		close(fd);
		be(&root);
		NEED(chmod(name, modes[i]));
		be(&alice);
		fd = TRY_FD(open(name, O_WRONLY | O_APPEND));
		TRY(write(fd, "z", 1));
		show_stat(name);
		close(fd);
		be(&root);
		NEED(chmod(name, modes[i]));
		be(&bob);
		fd = TRY_FD(open(name, O_WRONLY | O_TRUNC));
		show_stat(name);
		close(fd);
		be(&root);
		NEED(chmod(name, modes[i]));
		be(&bob);
		TRY(truncate(name, 3));
		show_stat(name);
		be(&root);
	}
}

/* Where the group may not execute, its members keep the set-group-ID bit. */
TEST_AS_ROOT(set_gid_of_group)
{
	static const mode_t modes[] = { 02666, 02777, 02767, 06666 };
	static const gid_t owners[] = { SHARED_GROUP, 54321, 0 };
	const size_t each = sizeof(modes) / sizeof(modes[0]);
	char name[32];
	int fd;

	make_file("from", "content", 0644);
	for (size_t i = 0; i < 3 * each; i++) {
		mode_t mode = modes[i % each];

		snprintf(name, sizeof(name), "f%o-%u", (unsigned)mode,
			 (unsigned)owners[i / each]);
		make_bytes(name, 100000, 1);
		NEED(chown(name, alice.uid, owners[i / each]));
#define AS_BOB(flags, call)              \
	do {                             \
		NEED(chmod(name, mode)); \
		be(&bob);                \
		fd = open(name, flags);  \
		TRY(call);               \
		show_stat(name);         \
		close(fd);               \
		be(&root);               \
	} while (0)
		AS_BOB(O_WRONLY, write(fd, "x", 1));
		AS_BOB(O_RDWR, pwrite(fd, "x", 1, 5000));
		AS_BOB(O_WRONLY | O_APPEND, write(fd, "x", 1));
		AS_BOB(O_WRONLY, ftruncate(fd, 50000));
		AS_BOB(O_WRONLY, fallocate(fd, 0, 0, 200000));
		AS_BOB(O_WRONLY, copy_file_range(open("from", O_RDONLY), NULL,
						 fd, NULL, 4, 0));
		AS_BOB(O_WRONLY | O_TRUNC, fd < 0);
		AS_BOB(O_RDONLY, truncate(name, 10));
#undef AS_BOB
	}
}

TEST(outlives_rights)
{
	char data[4];
	int fd;
	int dir;

	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	make_file("d/x", "x", 0644);
	fd = open("f", O_RDWR);
	dir = open("d", O_RDONLY | O_DIRECTORY);
	TRY(chmod("f", 0));
	TRY(chmod("d", 0));
	TRY(write(fd, "new", 3));
	TRY(pread(fd, data, 3, 0));
	TRY(ftruncate(fd, 3));
	TRY(fchmod(fd, 0400));
	TRY_FD(openat(dir, "x", O_RDONLY));
	TRY(fchmod(dir, 0755));
	TRY_FD(openat(dir, "x", O_RDONLY));
	show_content("f");
}

TEST(limit)
{
	struct rlimit limit = { .rlim_cur = 10000, .rlim_max = 10000 };
	char data[8192] = "";
	int fd;

	NEED(setrlimit(RLIMIT_FSIZE, &limit));
	fd = TRY_FD(open("f", O_RDWR | O_CREAT, 0644));
	TRY(write(fd, data, 8192));
	TRY(write(fd, data, 8192));
	TRY(write(fd, data, 1));
	TRY(pwrite(fd, data, 1, 10000));
	TRY(ftruncate(fd, 10001));
	TRY(ftruncate(fd, 10000));
	TRY(truncate("f", 20000));
	TRY(fallocate(fd, 0, 0, 20000));
	show_fd(fd);
}

TEST(sendfile)
{
	off_t at = 100;
	int pipes[2];
	int from;
	int to;

	make_bytes("f", 300000, 1);
	from = TRY_FD(open("f", O_RDONLY));
	to = TRY_FD(open("g", O_RDWR | O_CREAT, 0644));
	TRY(sendfile(to, from, NULL, 200000));
	TRY(sendfile(to, from, &at, 5000));
	TRY(at);
	TRY(lseek(from, 0, SEEK_CUR));
	NEED(pipe(pipes));
	TRY(splice(from, NULL, pipes[1], NULL, 10000, 0));
	TRY(splice(pipes[0], NULL, to, NULL, 10000, 0));
	TRY(lseek(to, 0, SEEK_CUR));
	show_content("g");
}

/* What is written through one descriptor is read through all. */
TEST(two_descriptors)
{
	char data[16] = "";
	int a = TRY_FD(open("f", O_RDWR | O_CREAT, 0644));
	int b = TRY_FD(open("f", O_RDWR));

	TRY(write(a, "from a", 6));
	TRY(read(b, data, 16));
	TRY(write(b, " and b", 6));
	TRY(pread(a, data, 16, 0));
	say("data = %.16s", data);
	TRY(ftruncate(b, 4));
	TRY(pread(a, data, 16, 0));
	show_fd(a);
	TRY(close(b));
	TRY(fsync(a));
	TRY(fdatasync(a));
	TRY(syncfs(a));
	TRY(sync_file_range(a, 0, 4, SYNC_FILE_RANGE_WRITE));
	TRY(posix_fadvise(a, 0, 0, POSIX_FADV_DONTNEED));
	TRY(readahead(a, 0, 4));
	b = TRY_FD(dup(a));
	TRY(lseek(b, 0, SEEK_CUR));
	show_content("f");
}

TEST(sync)
{
	int fd;

	NEED(mkdir("d", 0755));
	NEED(mkfifo("p", 0644));
	fd = TRY_FD(open("d", O_RDONLY));
	TRY(fsync(fd));
	TRY(fdatasync(fd));
	TRY(syncfs(fd));
	TRY(write(fd, "x", 1));
	TRY(read(fd, &fd, 1));
	fd = TRY_FD(open("p", O_RDWR));
	TRY(fsync(fd));
	TRY(syncfs(fd));
}
