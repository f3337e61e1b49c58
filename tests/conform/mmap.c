/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define RW (PROT_READ | PROT_WRITE)

static void *map(int fd, int protection, int flags)
{
	return mmap(NULL, 4 * PAGE, protection, flags, fd, 0);
}

TEST(shared_write)
{
	char data[16] = "";
	char *at;
	int fd;

	make_bytes("f", 4 * PAGE, 1);
	fd = TRY_FD(open("f", O_RDWR));
	at = TRY_PTR(map(fd, RW, MAP_SHARED));
	if (!at)
		return;
	memcpy(at + 100, "mapped", 6);
	TRY(pread(fd, data, 6, 100));
	say("data = %.6s", data);
	TRY(pwrite(fd, "WRITTEN", 7, 200));
	say("memory = %.7s", at + 200);
	memcpy(at + 3 * PAGE, "last page", 9);
	TRY(msync(at, 4 * PAGE, MS_SYNC));
	show_content("f");
	memcpy(at + PAGE, "after msync", 11);
	TRY(munmap(at, 4 * PAGE));
	TRY(fsync(fd));
	show_content("f");
	TRY(close(fd));
	show_content("f");
	fd = open(behind("f"), O_RDONLY);
	TRY(pread(fd, data, 11, PAGE));
	say("data = %.11s", data);
}

/* The map lives on after the descriptor. */
TEST(closed)
{
	char *at;
	int fd;

	make_bytes("f", 4 * PAGE, 2);
	fd = TRY_FD(open("f", O_RDWR));
	at = TRY_PTR(map(fd, RW, MAP_SHARED));
	TRY(close(fd));
	if (!at)
		return;
	memcpy(at, "after close", 11);
	show_content("f");
	TRY(unlink("f"));
	memcpy(at + 11, " and unlink", 11);
	TRY(msync(at, 4 * PAGE, MS_SYNC));
	say("memory = %.22s", at);
	TRY(munmap(at, 4 * PAGE));
	show_names(".");
}

TEST(private)
{
	char *at;
	int fd;

	make_bytes("f", 4 * PAGE, 3);
	fd = TRY_FD(open("f", O_RDONLY));
	at = TRY_PTR(map(fd, RW, MAP_PRIVATE));
	if (!at)
		return;
	memcpy(at, "mine alone", 10);
	say("memory = %.10s", at);
	show_content("f");
	TRY(msync(at, 4 * PAGE, MS_SYNC));
	TRY(munmap(at, 4 * PAGE));
	show_content("f");
}

TEST(protection)
{
	int fd;

	make_bytes("f", 4 * PAGE, 4);
	NEED(mkdir("d", 0755));
	fd = TRY_FD(open("f", O_RDONLY));
	TRY_PTR(map(fd, PROT_READ, MAP_SHARED));
	TRY_PTR(map(fd, RW, MAP_SHARED));
	TRY_PTR(map(fd, PROT_READ | PROT_EXEC, MAP_PRIVATE));
	fd = TRY_FD(open("f", O_WRONLY));
	TRY_PTR(map(fd, PROT_READ, MAP_SHARED));
	TRY_PTR(map(fd, PROT_WRITE, MAP_SHARED));
	fd = TRY_FD(open("f", O_PATH));
	TRY_PTR(map(fd, PROT_READ, MAP_SHARED));
	fd = TRY_FD(open("d", O_RDONLY));
	TRY_PTR(map(fd, PROT_READ, MAP_SHARED));
	fd = TRY_FD(open("f", O_RDWR | O_APPEND));
	TRY_PTR(map(fd, RW, MAP_SHARED));
	TRY_PTR(mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, 0));
	TRY_PTR(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 100));
}

/* What a map wrote goes where it was, whatever the descriptor was for. */
static void test_written_through(int flags)
{
	char *at;
	int fd;

	make_bytes("f", 3 * PAGE + 100, 5);
	fd = TRY_FD(open("f", O_RDWR | flags));
	at = TRY_PTR(map(fd, RW, MAP_SHARED));
	if (!at)
		return;
	memcpy(at + 50, "in the middle", 13);
	memcpy(at + 3 * PAGE + 90, "at the end", 10);
	TRY(msync(at, 4 * PAGE, MS_SYNC));
	show_fd(fd);
	show_content("f");
	memcpy(at + 50, "IN THE MIDDLE", 13);
	TRY(munmap(at, 4 * PAGE));
	TRY(close(fd));
	show_content("f");
}

TEST(append)
{
	test_written_through(O_APPEND);
}

TEST(direct)
{
	test_written_through(O_DIRECT);
}

static void touch_beyond(void)
{
	volatile char *at;
	int fd = open("f", O_RDWR);

	at = map(fd, RW, MAP_SHARED);
	if (at == MAP_FAILED)
		return;
	at[PAGE + 1] = 'x';
	say("memory behind the end = writable");
}

TEST(end)
{
	char *at;
	int fd;

	make_file("f", "short", 0644);
	in_child(touch_beyond);
	fd = TRY_FD(open("f", O_RDWR));
	at = TRY_PTR(map(fd, RW, MAP_SHARED));
	if (!at)
		return;
	say("memory behind the end = %d", at[5]);
	memcpy(at, "longer than that", 16);
	TRY(msync(at, PAGE, MS_SYNC));
	show_fd(fd);
	show_content("f");
	TRY(ftruncate(fd, 2 * PAGE));
	memcpy(at + PAGE, "second page", 11);
	TRY(munmap(at, 4 * PAGE));
	show_content("f");
}

TEST(times)
{
	char *at;
	int fd;

	make_bytes("f", 4 * PAGE, 6);
	fd = TRY_FD(open("f", O_RDWR));
	at = map(fd, RW, MAP_SHARED);
	if (at == MAP_FAILED)
		return;
	TIMES("f", (at[0] = 'x', msync(at, PAGE, MS_SYNC)));
	TIMES("f", (at[PAGE] = 'x', munmap(at, 4 * PAGE) | fsync(fd)));
}

static void child_writes(void)
{
	char *at = map(open("f", O_RDWR), RW, MAP_SHARED);

	if (at != MAP_FAILED)
		memcpy(at + 10, "child", 5);
}

TEST(two_processes)
{
	char *at;
	int fd;

	make_bytes("f", 4 * PAGE, 7);
	fd = TRY_FD(open("f", O_RDWR));
	at = TRY_PTR(map(fd, RW, MAP_SHARED));
	in_child(child_writes);
	if (at)
		say("memory = %.5s", at + 10);
	show_content("f");
}

/* A program that runs cannot be written, and the reverse. */
static void copy_program(const char *to)
{
	char data[65536];
	int in = open("/bin/sleep", O_RDONLY);
	int out = open(to, O_WRONLY | O_CREAT, 0755);
	ssize_t len;

	while ((len = read(in, data, sizeof(data))) > 0)
		NEED(write(out, data, (size_t)len) == len ? 0 : -1);
	close(in);
	close(out);
}

TEST(busy_text)
{
	int status = 0;
	int fd;
	pid_t pid;

	copy_program("program");
	fd = open("program", O_WRONLY);
	pid = fork();
	if (!pid) {
		TRY(execl("program", "program", "0", (char *)NULL));
		_exit(99);
	}
	(void)waitpid(pid, &status, 0);
	TRY(WEXITSTATUS(status));
	close(fd);
	pid = fork();
	if (!pid) {
		(void)execl("program", "program", "0", (char *)NULL);
		_exit(99);
	}
	(void)waitpid(pid, &status, 0);
	TRY(WEXITSTATUS(status));
	TRY(chmod("program", 0644));
	TRY(access("program", X_OK));
	TRY(execl("program", "program", "0", (char *)NULL));
}
