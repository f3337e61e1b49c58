/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

TEST(open_file)
{
	char data[32] = "";
	int other;
	int fd;

	make_file("f", "content", 0644);
	fd = open("f", O_RDWR);
	other = open("f", O_RDONLY);
	TRY(unlink("f"));
	show_names(".");
	show_fd(fd);
	TRY(pwrite(fd, "new content", 11, 0));
	TRY(read(other, data, sizeof(data)));
	say("data = %.11s", data);
	TRY(ftruncate(fd, 100000));
	TRY(fchmod(fd, 0600));
	TRY(fchown(fd, (uid_t)-1, (gid_t)-1));
	TRY(futimens(fd,
		     (struct timespec[]){ { .tv_sec = 1 }, { .tv_sec = 2 } }));
	TRY(fallocate(fd, 0, 0, 200000));
	TRY(fsync(fd));
	TRY(fsetxattr(fd, "user.x", "1", 1, 0));
	TRY(fgetxattr(fd, "user.x", data, sizeof(data)));
	show_fd(fd);
	make_file("f", "another", 0644);
	show_content("f");
	show_fd(fd);
	TRY(close(other));
	TRY(pread(fd, data, 3, 0));
	TRY(close(fd));
	show_names(".");
}

TEST(reopen)
{
	char path[64];
	char data[16];
	int fd;

	make_file("f", "content", 0644);
	fd = open("f", O_RDWR);
	TRY(unlink("f"));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	TRY_FD(fd = open(path, O_RDWR));
	TRY(read(fd, data, sizeof(data)));
	TRY(linkat(AT_FDCWD, path, AT_FDCWD, "g", AT_SYMLINK_FOLLOW));
	show_names(".");
}

TEST(renamed_over)
{
	char data[16] = "";
	int fd;

	make_file("f", "old", 0644);
	make_file("g", "new", 0644);
	fd = open("f", O_RDWR);
	TRY(rename("g", "f"));
	show_fd(fd);
	TRY(pwrite(fd, "OLD", 3, 0));
	TRY(pread(fd, data, sizeof(data), 0));
	show_content("f");
	TRY(rename("f", "h"));
	TRY(unlink("h"));
	show_fd(fd);
	show_names(".");
}

static void make_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	TRY(bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

TEST(kinds)
{
	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	NEED(mkdir("full", 0755));
	make_file("full/x", "x", 0644);
	NEED(symlink("f", "l"));
	NEED(symlink("d", "ld"));
	NEED(mkfifo("p", 0644));
	make_socket("s");
	TRY(unlink("d"));
	TRY(rmdir("f"));
	TRY(rmdir("l"));
	TRY(rmdir("ld"));
	TRY(rmdir("ld/"));
	TRY(unlink("ld/"));
	TRY(unlink("f/"));
	TRY(rmdir("full"));
	TRY(rmdir("d/."));
	TRY(rmdir("d/.."));
	TRY(rmdir("."));
	TRY(rmdir(".."));
	TRY(rmdir(""));
	TRY(unlink(""));
	TRY(unlink("nosuch"));
	TRY(unlink("nosuch/x"));
	TRY(unlink("f/x"));
	TRY(rmdir("nosuch"));
	TRY(unlinkat(AT_FDCWD, "d", 0x4000));
	TRY(unlink("l"));
	TRY(unlink("ld"));
	TRY(unlink("p"));
	TRY(unlink("s"));
	TRY(unlink("f"));
	TRY(rmdir("d"));
	TRY(unlink("full/x"));
	TRY(rmdir("full"));
	show_names(".");
}

TEST(links)
{
	make_file("f", "content", 0644);
	NEED(link("f", "g"));
	NEED(link("f", "h"));
	show_stat("f");
	TIMES("f", unlink("g"));
	show_stat("f");
	show_stat("h");
	TRY(unlink("f"));
	show_stat("h");
	show_content("h");
}

/* A directory that is gone and still somebody's. */
TEST(removed_directory)
{
	int fd;

	NEED(mkdir("d", 0755));
	fd = open("d", O_RDONLY | O_DIRECTORY);
	TRY(rmdir("d"));
	show_fd(fd);
	TRY_FD(openat(fd, "x", O_WRONLY | O_CREAT, 0644));
	TRY(mkdirat(fd, "x", 0755));
	TRY(symlinkat("x", fd, "y"));
	TRY(faccessat(fd, "x", F_OK, 0));
	TRY(fchdir(fd));
	show_names(".");
	TRY_FD(open("x", O_WRONLY | O_CREAT, 0644));
	TRY(mkdir("x", 0755));
	TRY_PTR(getcwd((char[4096]){ "" }, 4096));
	TRY(chmod(".", 0700));
	TRY_FD(open("..", O_RDONLY));
}

TEST(times)
{
	NEED(mkdir("d", 0755));
	NEED(mkdir("d/e", 0755));
	make_file("d/f", "f", 0644);
	TIMES("d", unlink("d/f"));
	TIMES("d", rmdir("d/e"));
	TIMES("d", unlink("d/nosuch"));
	TIMES("d", rmdir("d/nosuch"));
	show_stat("d");
}

TEST_AS_ROOT(permission)
{
	NEED(chmod(".", 0777));
	NEED(mkdir("closed", 0755));
	make_file("closed/f", "f", 0666);
	NEED(mkdir("closed/d", 0777));
	NEED(mkdir("open", 0777));
	NEED(chmod("open", 0777));
	make_file("open/f", "f", 0);
	NEED(mkdir("open/d", 0));
	NEED(mkdir("blind", 0777));
	NEED(chmod("blind", 0666));
	make_file("blind/f", "f", 0666);
	be(&alice);
	TRY(unlink("closed/f"));
	TRY(unlink("closed/nosuch"));
	TRY(rmdir("closed/d"));
	TRY(unlink("open/f"));
	TRY(rmdir("open/d"));
	TRY(unlink("blind/f"));
	TRY(unlink("blind/nosuch"));
	show_names("blind");
	show_names("open");
}
